//! What the JSON of a format says of a message beyond the model: further fields, and the parts of its content.

use super::parts;
use crate::json::Value;
use crate::model::{Beyond, Conversation, FormId, Message, Role};

/// What the format says of a message beyond the model.
pub(crate) fn beyond<'m, 'a>(message: &'m mut Message<'a>, form: FormId) -> &'m mut Beyond<'a> {
    let layout = message.layout.get_or_insert_default();
    layout.form = form;
    layout.beyond.get_or_insert_default()
}

/// What the JSON of the dialect said of a message beyond the model.
pub(crate) fn beyond_of<'m, 'a>(message: &'m Message<'a>, form: FormId) -> Option<&'m Beyond<'a>> {
    let layout = message.layout.as_deref().filter(|layout| layout.form == form)?;
    layout.beyond.as_deref()
}

/// The parts that a message was read from, if they still say what it says.
pub(crate) fn content_of<'m, 'a>(
    message: &'m Message<'a>,
    form: FormId,
    between: &str,
) -> Option<&'m Value<'a>> {
    let layout = message.layout.as_deref().filter(|layout| layout.form == form)?;
    let content = layout.content.as_ref()?;
    let said = parts::joined(content.as_list()?, between);
    (message.body.text() == said).then_some(content)
}

/// Whether the parts that messages at these places were read from still say what they say. `between` is
/// what stands between two parts of a message.
pub(crate) fn still_say(
    conversation: &Conversation<'_>,
    places: &[usize],
    form: FormId,
    between: fn(&Message<'_>) -> &'static str,
) -> Vec<bool> {
    let messages = &conversation.messages;
    let says = |at: &usize| content_of(&messages[*at], form, between(&messages[*at])).is_some();
    places.iter().map(says).collect()
}

/// Whether a message can be in the object that begins with `first`. What is said of an object holds
/// for the messages that were in it, and for no others.
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
