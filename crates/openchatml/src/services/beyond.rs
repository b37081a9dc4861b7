//! Data about a message that only the JSON of a format can express: more fields, and the parts of
//! its content.

use super::parts;
use crate::json::Value;
use crate::model::{Beyond, Conversation, FormId, Message, Role};

/// Returns the data about a message that only this format can express, to change it.
pub(crate) fn beyond<'m, 'a>(message: &'m mut Message<'a>, form: FormId) -> &'m mut Beyond<'a> {
    let layout = message.layout.get_or_insert_default();
    layout.form = form;
    layout.beyond.get_or_insert_default()
}

/// Returns the data about a message that only the JSON of this form can express.
pub(crate) fn beyond_of<'m, 'a>(message: &'m Message<'a>, form: FormId) -> Option<&'m Beyond<'a>> {
    let layout = message.layout.as_deref().filter(|layout| layout.form == form)?;
    layout.beyond.as_deref()
}

/// Returns the original parts of a message, if they still match it.
pub(crate) fn content_of<'m, 'a>(
    message: &'m Message<'a>,
    form: FormId,
    between: &str,
) -> Option<&'m Value<'a>> {
    let layout = message.layout.as_deref().filter(|layout| layout.form == form)?;
    let content = layout.content.as_ref()?;
    let joined_text = parts::joined(content.as_list()?, between);
    (message.body.text() == joined_text).then_some(content)
}

/// Whether the original parts of the messages at these positions still match them and are written.
/// `between` is the text between two parts, or `None` if the form does not write them as parts.
pub(crate) fn still_say(
    conversation: &Conversation<'_>,
    places: &[usize],
    form: FormId,
    between: fn(&Message<'_>) -> Option<&'static str>,
) -> Vec<bool> {
    let says = |at: &usize| {
        let message = &conversation.messages[*at];
        between(message).is_some_and(|between| content_of(message, form, between).is_some())
    };
    places.iter().map(says).collect()
}

/// Parts without text between them, in a form whose reasoning has no parts.
pub(crate) fn unless_reasoning(message: &Message<'_>) -> Option<&'static str> {
    (!message.is_reasoning()).then_some("")
}

/// Whether a message can be in the same object as `first`. Data about an object belongs to the
/// messages that were in it, and to no others.
pub(crate) fn joins(message: &Message<'_>, first: &Message<'_>, form: FormId) -> bool {
    let has_fields = |message| beyond_of(message, form).is_some_and(|it| !it.fields.is_empty());
    let was_in = first.span.start <= message.span.start && message.span.end <= first.span.end;
    std::ptr::eq(message, first)
        || message.role == Role::Assistant
            && message.name == first.name
            && message.weight == first.weight
            && !has_fields(message)
            && (was_in || !has_fields(first))
}
