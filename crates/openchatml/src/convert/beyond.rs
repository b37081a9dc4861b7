//! What a document says in the JSON that it was read from, and in no other format.

use crate::dialect::Format;
use crate::dialects;
use crate::json::Value;
use crate::model::{Beyond, Conversation, DocumentLayout, FormId, Message};
use crate::rules::{Loss, Lost, lost, lost_field, medium};
use crate::{Carrier, Span};

/// What the document loses on the way to `target`, or to no format that has a name.
pub(crate) fn losses(conversation: &Conversation<'_>, target: Option<Format>) -> Vec<Loss> {
    let mut losses = Vec::new();
    let target = target.filter(|target| target.carrier == Carrier::Json);
    let is_own = |form: FormId| target.is_some_and(|target| target.dialect.form() == form);
    if let Some(layout) = conversation.layout.as_deref().filter(|it| !is_own(it.form)) {
        of_document(layout, &mut losses);
    }
    let still_says = still_says(conversation, target);
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(layout) = message.layout.as_deref() else { continue };
        let first = losses.len();
        if !is_own(layout.form) {
            of_fields(layout.beyond.as_deref(), message.span, &mut losses);
        }
        if let Some(content) = &layout.content
            && still_says.binary_search(&index).is_err()
        {
            let json = dialects::of_layout(layout.form).and_then(|it| it.json.as_ref());
            if let Some(rules) = json.and_then(|json| json.contents) {
                (rules.lost)(content, &mut losses);
            }
        }
        for loss in &mut losses[first..] {
            loss.message = Some(index);
        }
    }
    losses
}

/// The messages that are written again with the content that they were read from.
fn still_says(conversation: &Conversation<'_>, target: Option<Format>) -> Vec<usize> {
    let Some(target) = target else { return Vec::new() };
    let Some(rules) = target.dialect.json.as_ref().and_then(|json| json.contents) else {
        return Vec::new();
    };
    let form = target.dialect.form();
    let has_own = |message: &Message<'_>| {
        message.layout.as_deref().is_some_and(|it| it.form == form && it.content.is_some())
    };
    let all = conversation.messages.iter().enumerate();
    let own: Vec<usize> = all.filter(|(_, it)| has_own(it)).map(|(index, _)| index).collect();
    if own.is_empty() {
        return own;
    }
    let says = (rules.still_says)(conversation, &own);
    own.into_iter().zip(says).filter(|(_, says)| *says).map(|(index, _)| index).collect()
}

fn of_document(layout: &DocumentLayout<'_>, losses: &mut Vec<Loss>) {
    let Some(beyond) = layout.beyond.as_deref() else { return };
    for (key, value) in &beyond.fields {
        match key.as_ref() {
            "tools" => {
                let tools = value.as_list().unwrap_or_default();
                losses.extend(tools.iter().map(|tool| lost(Lost::HostedTool, tool.span)));
            }
            "images" | "videos" | "audios" if value.as_list().is_some_and(|it| !it.is_empty()) => {
                losses.push(lost(medium(key), value.span));
            }
            _ => losses.extend(lost_field(key, value)),
        }
    }
    of_items(&beyond.items, losses);
}

fn of_fields(beyond: Option<&Beyond<'_>>, place: Span, losses: &mut Vec<Loss>) {
    let Some(beyond) = beyond else { return };
    if beyond.key == "refusal" {
        losses.push(lost(Lost::Refusal, place));
    }
    losses.extend(beyond.fields.iter().filter_map(|(key, value)| lost_field(key, value)));
    of_items(&beyond.items, losses);
}

/// Items that are no messages.
fn of_items(items: &[Value<'_>], losses: &mut Vec<Loss>) {
    for item in items {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        losses.push(match kind {
            "item_reference" => lost(Lost::Reference, item.span),
            "reasoning" => {
                let fields = item.as_map().unwrap_or_default().iter();
                let fields = fields.filter_map(|(key, value)| lost_field(key, value));
                let mut known = fields.filter(|loss| loss.lost != Lost::Field).peekable();
                if known.peek().is_some() {
                    losses.extend(known);
                    continue;
                }
                lost(Lost::Item, item.span)
            }
            kind if kind.contains("_call") || kind.starts_with("mcp_") => {
                lost(Lost::Hosted, item.span)
            }
            _ => lost(Lost::Item, item.span),
        });
    }
}
