//! Data that only the JSON form of the input can express.

use crate::dialect::Format;
use crate::dialects;
use crate::json::Value;
use crate::model::{Beyond, Conversation, Document, DocumentLayout, FormId, Message};
use crate::rules::{Loss, Lost, lost, lost_field, medium};
use crate::{Carrier, Span};

/// Adds the losses of a conversion to `target`, or to an unnamed format, in the order of the
/// messages. Returns whether there are any.
pub(super) fn lose(
    document: &Document<'_>,
    target: Option<Format>,
    losses: &mut Vec<Loss>,
) -> bool {
    let more = document.as_conversation().map_or_else(Vec::new, |it| self::losses(it, target));
    if more.is_empty() {
        return false;
    }
    losses.extend(more);
    losses.sort_by_key(|loss| loss.message);
    true
}

/// Returns the losses of a conversion of this conversation to `target`.
pub(crate) fn losses(conversation: &Conversation<'_>, target: Option<Format>) -> Vec<Loss> {
    let mut losses = Vec::new();
    let target = target.filter(|target| target.carrier == Carrier::Json);
    let keeps = |form| target.is_some_and(|target| keeps(target, form));
    if let Some(layout) = conversation.layout.as_deref().filter(|it| !keeps(it.form)) {
        of_document(layout, &mut losses);
    }
    let still_says = still_says(conversation, target);
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(layout) = message.layout.as_deref() else { continue };
        let first = losses.len();
        if !keeps(layout.form) {
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

/// Drops data that only another JSON form than `target` can express; the losses are already
/// reported. The original content of messages of this form stays, even if the output is text,
/// because a template can use it.
pub(super) fn forget(document: &mut Document<'_>, target: Format) {
    let Document::Conversation(conversation) = document else { return };
    if let Some(layout) = conversation.layout.as_deref_mut()
        && !keeps(target, layout.form)
    {
        layout.beyond = None;
    }
    for layout in conversation.messages.iter_mut().filter_map(|it| it.layout.as_deref_mut()) {
        if !keeps(target, layout.form) {
            layout.beyond = None;
        }
        if layout.form != target.dialect.form() {
            layout.content = None;
        }
    }
}

/// Whether a format can write the data that only this JSON form can express.
fn keeps(target: Format, form: FormId) -> bool {
    target.carrier == Carrier::Json && target.dialect.form() == form
}

/// The messages that are written with their original JSON content.
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

/// The losses of items that are not messages.
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
