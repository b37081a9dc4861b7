//! What a document says in the JSON that it was read from, and in no other format.

use crate::dialect::Format;
use crate::dialects::{Contents, lost_of_content, parts, says_the_same};
use crate::json::Value;
use crate::model::{Beyond, Conversation, DocumentLayout};
use crate::rules::{Loss, Lost, lost, lost_field};
use crate::{Carrier, Span};

/// What the document loses on the way to `target`, or to no format that has a name.
pub(crate) fn losses(conversation: &Conversation<'_>, target: Option<Format>) -> Vec<Loss> {
    let mut losses = Vec::new();
    let target = target.filter(|target| target.carrier == Carrier::Json);
    let is_own = |dialect: &str| target.is_some_and(|target| target.dialect.id == dialect);
    if let Some(layout) = conversation.layout.as_deref().filter(|it| !is_own(it.dialect)) {
        of_document(layout, &mut losses);
    }
    let mut contents = None;
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(layout) = message.layout.as_deref() else { continue };
        let first = losses.len();
        if !is_own(layout.dialect) {
            of_fields(layout.beyond.as_deref(), message.span, &mut losses);
        }
        if let Some(content) = &layout.content
            && !(is_own(layout.dialect)
                && says_the_same(
                    message,
                    contents.get_or_insert_with(|| Contents::of(conversation)),
                ))
        {
            lost_of_content(layout.dialect, content, &mut losses);
        }
        for loss in &mut losses[first..] {
            loss.message = Some(index);
        }
    }
    losses
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
                losses.push(lost(parts::medium(key), value.span));
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
