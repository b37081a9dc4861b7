//! The properties of conversions.

use openchatml::convert::Channels;
use openchatml::{
    Data, Document, End, Format, Limits, Message, ReadOptions, RenderOptions, Value, parse,
};

use crate::property::assert_structure;
use crate::secrets;
use crate::sections::{has_elements, has_parameters};

/// A converted document is read without diagnostics about structure, shows a user nothing that was
/// hidden, contains no new calls, and is converted again without loss.
///
/// # Panics
///
/// The property does not hold.
pub fn conversion(document: &Document<'_>, to: Format) {
    let options = RenderOptions::default();
    let Ok(converted) = openchatml::convert::convert(document, to, &options) else { return };
    let mut read = ReadOptions::default();
    read.open_prompt = true;
    let parsed = parse(&converted.output, to, &read);
    assert_structure(&parsed, to, &converted.output);
    if let (Document::Conversation(before), Document::Conversation(after)) =
        (document, &parsed.document)
    {
        let mut made = before.messages.iter().filter(|message| is_made(message));
        for call in after.messages.iter().filter(|message| is_made(message)) {
            // Between the parts of JSON, a line break is the same as a space.
            let line = |it: &Message<'_>| it.body.text().replace(['\n', '\r'], " ");
            let was_made = made.any(|before| {
                line(before) == line(call)
                    || has_parameters(to) && is_same_json(before, call, |it| it)
                    || has_elements(to) && is_same_json(before, call, without_nothing)
            });
            assert!(was_made, "{to}: {call:?} was not made before: {}", converted.output);
        }
        let joins = to.carries().channels == Channels::Sections;
        let [shown, shows] = [document, &parsed.document].map(secrets::seen);
        assert!(
            secrets::is_some_of(&shows, &shown, joins),
            "{to}: {shows:?} was not shown before: {shown:?}, {}",
            converted.output
        );
    }
    let again = openchatml::convert::convert(&parsed.document, to, &options);
    let again = again.expect("what was converted can be written");
    assert_eq!(again.losses, [], "{to}: {}", converted.output);
    assert_eq!(again.output, converted.output, "{to}");
}

/// Whether the bodies of two messages are the same JSON, after a change of both.
fn is_same_json(one: &Message<'_>, two: &Message<'_>, change: fn(Value<'_>) -> Value<'_>) -> bool {
    let limits = Limits::default();
    let [one, two] = [one, two].map(|it| it.body.text());
    matches!(
        (Value::from_json(&one, &limits), Value::from_json(&two, &limits)),
        (Ok(one), Ok(two)) if change(sorted(one.clone())) == change(sorted(two.clone()))
    )
}

/// Removes members that are `null`. Without declared tools, elements do not tell what is empty.
fn without_nothing(mut value: Value<'_>) -> Value<'_> {
    let is_empty = match &mut value.data {
        Data::List(items) => {
            for item in items.iter_mut() {
                *item = without_nothing(std::mem::take(item));
            }
            items.is_empty()
        }
        Data::Map(entries) => {
            entries.retain(|(_, value)| value.data != Data::Null);
            for (_, value) in entries.iter_mut() {
                *value = without_nothing(std::mem::take(value));
            }
            entries.is_empty()
        }
        _ => false,
    };
    if is_empty { "".into() } else { value }
}

/// Sorts the keys of objects, whose order can change.
fn sorted(mut value: Value<'_>) -> Value<'_> {
    match &mut value.data {
        Data::List(items) => {
            for item in items {
                *item = sorted(std::mem::take(item));
            }
        }
        Data::Map(entries) => {
            for (_, value) in entries.iter_mut() {
                *value = sorted(std::mem::take(value));
            }
            entries.sort_by(|(one, _), (two, _)| one.cmp(two));
        }
        _ => {}
    }
    value
}

/// Whether a message is a certain call.
pub fn is_made(message: &Message<'_>) -> bool {
    message.is_call() && message.end == End::Call && !message.recovered && !message.foreign
}
