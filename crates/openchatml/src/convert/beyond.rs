//! Data that only the JSON form of the input can express.

use std::borrow::Cow;

use crate::dialect::Format;
use crate::dialects;
use crate::json::{Data, Value};
use crate::model::{Conversation, Document, DocumentLayout, FormId, Layout, Message, Role};
use crate::rules::{ContentRules, Loss, Lost, Unaccepted, lost, lost_field, medium};
use crate::services::parts;
use crate::{Carrier, Span};

/// Adds the losses of a conversion to `target`, or to an unnamed format, in the order of the
/// messages. Returns whether there is data that the target cannot have as it is.
pub(super) fn lose(
    document: &Document<'_>,
    target: Option<Format>,
    losses: &mut Vec<Loss>,
) -> bool {
    let more = document.as_conversation().map_or_else(Vec::new, |it| self::losses(it, target));
    if more.is_empty() {
        return target.is_some_and(|target| has_foreign_parts(document, target));
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
            of_fields(layout, message.span, &mut losses);
        }
        if let Some(content) = &layout.content
            && still_says.binary_search(&index).is_err()
            && let Some(rules) = contents_of(layout.form)
        {
            (rules.lost)(content, &mut losses);
            // Prompts join the parts too: their models never see where one ends.
            if let Some(target) = target
                && has_text_parts(message, content)
                && text_part(target, message.role, "".into()).is_none()
            {
                losses.push(lost(Lost::TextParts, message.span));
            }
        }
        for loss in &mut losses[first..] {
            loss.message = Some(index);
        }
    }
    losses
}

/// Whether the text of a message is that of several parts, without anything between them. What the
/// assistant says is one text: services cut it anywhere, for example around citations.
fn has_text_parts(message: &Message<'_>, content: &Value<'_>) -> bool {
    let parts = content.as_list().unwrap_or_default();
    let texts = parts.iter().filter_map(parts::text).filter(|text| !text.is_empty());
    message.role != Role::Assistant
        && texts.count() > 1
        && parts::joined(parts, "") == message.body.text()
}

/// Returns a part of the target with this text, if messages of this role can have parts there.
fn text_part<'a>(target: Format, role: Role, text: Cow<'a, str>) -> Option<Value<'a>> {
    let json = target.dialect.json.as_ref().filter(|_| target.carrier == Carrier::Json);
    let contents = json.and_then(|json| json.contents)?;
    (contents.text_part)(role, text)
}

/// Whether a message has text parts that the target can have as parts of its own.
fn has_foreign_parts(document: &Document<'_>, target: Format) -> bool {
    let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
    messages.iter().any(|message| {
        let layout = message.layout.as_deref().filter(|it| it.form != target.dialect.form());
        let content = layout.and_then(|layout| layout.content.as_ref());
        content.is_some_and(|content| has_text_parts(message, content))
            && text_part(target, message.role, "".into()).is_some()
    })
}

/// Returns what is written for `target` although the service does not accept it. A conversation of
/// the same form is written as it was read.
pub(super) fn unaccepted(conversation: &Conversation<'_>, target: Format) -> Vec<Loss> {
    let form = target.dialect.form();
    let json = target.dialect.json.as_ref().filter(|_| target.carrier == Carrier::Json);
    let rules = json.filter(|_| !conversation.is_of(form)).and_then(|json| json.contents);
    let found = rules.map_or_else(Vec::new, |rules| (rules.unaccepted)(conversation));
    let loss = |Unaccepted { at, reason }: Unaccepted| {
        let span = at.map_or(Span::default(), |at| conversation.messages[at].span);
        Loss::new(at, span, Lost::Unaccepted).of(&reason)
    };
    found.into_iter().map(loss).collect()
}

/// Drops data that only another JSON form than `target` can express, except for text parts, which
/// become those of the target; the losses are already
/// reported. The original content of messages of this form stays, even if the output is text,
/// because a template can use it.
pub(super) fn forget(document: &mut Document<'_>, target: Format) {
    let Document::Conversation(conversation) = document else { return };
    if let Some(layout) = conversation.layout.as_deref_mut()
        && !keeps(target, layout.form)
    {
        layout.beyond = None;
    }
    for message in &mut conversation.messages {
        let form = target.dialect.form();
        let Some(mut layout) = message.layout.take() else { continue };
        if !keeps(target, layout.form) {
            layout.beyond = None;
        }
        if layout.form != form {
            let content = layout.content.take();
            let parts = content.filter(|content| has_text_parts(message, content));
            layout.content = parts.and_then(|parts| respelled(parts, target, message.role));
            if layout.content.is_some() {
                *layout = Layout { form, content: layout.content.take(), ..Layout::default() };
            }
        }
        message.layout = Some(layout);
    }
}

/// Returns the texts of these parts as parts of the target.
fn respelled<'a>(content: Value<'a>, target: Format, role: Role) -> Option<Value<'a>> {
    let Data::List(parts) = content.data else { return None };
    let texts = parts.into_iter().filter_map(parts::into_text).filter(|text| !text.is_empty());
    let parts: Option<_> = texts.map(|text| text_part(target, role, text)).collect();
    Some(Data::List(parts?).into())
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
            // The fields of the choice beside its message.
            "choices" => {
                let choices = value.as_list().unwrap_or_default();
                let fields = choices.iter().flat_map(|it| it.as_map().unwrap_or_default());
                let fields = fields
                    .filter(|(key, value)| key != "index" || value.as_spelling() != Some("0"));
                losses.extend(fields.filter_map(|(key, value)| lost_field(key, value)));
            }
            _ => losses.extend(lost_field(key, value)),
        }
    }
    of_items(&beyond.items, layout.form, losses);
}

fn of_fields(layout: &Layout<'_>, place: Span, losses: &mut Vec<Loss>) {
    let Some(beyond) = layout.beyond.as_deref() else { return };
    if beyond.key == "refusal" {
        losses.push(lost(Lost::Refusal, place));
    }
    losses.extend(beyond.fields.iter().filter_map(|(key, value)| lost_field(key, value)));
    of_items(&beyond.items, layout.form, losses);
    of_items(&beyond.after, layout.form, losses);
}

/// The losses of items that are not messages, by the rules of the form that they were read in.
fn of_items(items: &[Value<'_>], form: FormId, losses: &mut Vec<Loss>) {
    let lost = contents_of(form).map_or(ContentRules::PLAIN.lost_item, |rules| rules.lost_item);
    items.iter().for_each(|item| lost(item, losses));
}

/// Returns the rules for the JSON content of a form.
fn contents_of(form: FormId) -> Option<ContentRules> {
    dialects::of_layout(form)?.json.as_ref()?.contents
}
