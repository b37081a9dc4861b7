//! What a document says in the JSON that it was read from, and in no other format.

use super::{Loss, Lost};
use crate::dialects::{Format, parts, says_the_same};
use crate::model::{Beyond, Conversation, Data, DocumentLayout, Value};
use crate::{Carrier, Span};

/// What the document loses on the way to `target`, or to no format that has a name.
pub(crate) fn losses(conversation: &Conversation<'_>, target: Option<Format>) -> Vec<Loss> {
    let mut losses = Vec::new();
    let target = target.filter(|target| target.carrier == Carrier::Json);
    let is_own = |dialect: &str| target.is_some_and(|target| target.dialect.id == dialect);
    if let Some(layout) = conversation.layout.as_deref().filter(|it| !is_own(it.dialect)) {
        of_document(layout, &mut losses);
    }
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(layout) = message.layout.as_deref() else { continue };
        let mut found = Vec::new();
        if !is_own(layout.dialect) {
            of_fields(layout.beyond.as_deref(), message.span, &mut found);
        }
        if let Some(content) = &layout.content
            && layout.dialect != "harmony"
            && !(is_own(layout.dialect) && says_the_same(message))
        {
            of_parts(content, &mut found);
        }
        let loss = |(lost, span)| Loss { message: Some(index), span, lost };
        losses.extend(found.into_iter().map(loss));
    }
    losses
}

fn of_document(layout: &DocumentLayout<'_>, losses: &mut Vec<Loss>) {
    let Some(beyond) = layout.beyond.as_deref() else { return };
    let mut found = Vec::new();
    for (key, value) in &beyond.fields {
        match key.as_ref() {
            "tools" => {
                let tools = value.as_list().unwrap_or_default();
                found.extend(tools.iter().map(|tool| (Lost::HostedTool, tool.span)));
            }
            "images" | "videos" | "audios" if value.as_list().is_some_and(|it| !it.is_empty()) => {
                found.push((parts::medium(key), value.span));
            }
            _ => {}
        }
    }
    of_items(&beyond.items, &mut found);
    losses.extend(found.into_iter().map(|(lost, span)| Loss { message: None, span, lost }));
}

/// What is lost, and where it stands.
type Found = Vec<(Lost, Span)>;

fn of_fields(beyond: Option<&Beyond<'_>>, place: Span, found: &mut Found) {
    let Some(beyond) = beyond else { return };
    if beyond.key == "refusal" {
        found.push((Lost::Refusal, place));
    }
    let fields = beyond.fields.iter();
    found.extend(fields.filter_map(|(key, value)| Some((field(key, value)?, value.span))));
    of_items(&beyond.items, found);
}

/// What is lost with a key. Nothing with those that only the service has a use for.
fn field(key: &str, value: &Value<'_>) -> Option<Lost> {
    let is_empty = match &value.data {
        Data::Null => true,
        Data::List(items) => items.is_empty(),
        _ => false,
    };
    Some(match key {
        _ if is_empty => return None,
        "weight" | "loss_weight" | "loss" => Lost::Weight,
        "audio" => Lost::Audio,
        "annotations" => Lost::Annotations,
        "summary" => Lost::Summary,
        "encrypted_content" => Lost::Encrypted,
        _ => return None,
    })
}

fn of_parts(content: &Value<'_>, found: &mut Found) {
    for part in content.as_list().unwrap_or_default() {
        match parts::Kind::of(part) {
            parts::Kind::Other(lost) => found.push((lost, part.span)),
            parts::Kind::Refusal => found.push((Lost::Refusal, part.span)),
            _ => {}
        }
        let keys = part.as_map().unwrap_or_default().iter();
        found.extend(keys.filter_map(|(key, value)| Some((field(key, value)?, value.span))));
    }
}

/// Items that are no messages.
fn of_items(items: &[Value<'_>], found: &mut Found) {
    for item in items {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        let fields = item.as_map().unwrap_or_default().iter();
        let before = found.len();
        match kind {
            "item_reference" => found.push((Lost::Reference, item.span)),
            "reasoning" => {
                let keys = fields.filter_map(|(key, value)| Some((field(key, value)?, value.span)));
                found.extend(keys);
            }
            kind if kind.contains("_call") || kind.starts_with("mcp_") => {
                found.push((Lost::Hosted, item.span));
            }
            _ => {}
        }
        if found.len() == before {
            found.push((Lost::Item, item.span));
        }
    }
}
