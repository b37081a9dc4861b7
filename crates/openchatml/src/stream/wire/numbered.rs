//! Numbered events of the Responses API.

use super::item::{Item, MESSAGE, What};
use super::object::Object;
use super::writer::Output;

/// Writes events with their sequence numbers.
#[derive(Default)]
pub(super) struct Events {
    /// The number of events so far.
    count: u64,
}

impl Events {
    /// Writes an event with these fields.
    pub(super) fn write(
        &mut self,
        name: &'static str,
        output: &mut Output<'_>,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        let number = self.count;
        self.count += 1;
        output.settings.framing.write(output.out, Some(name), |out| {
            let object = Object::new(out).text("type", name).number("sequence_number", number);
            fields(object).end();
        });
    }

    /// Writes an event for text of an item.
    pub(super) fn part(
        &mut self,
        name: &'static str,
        item: &Item,
        output: &mut Output<'_>,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.item(name, item, output, |object| {
            // Arguments are not parts.
            let object = match item.what {
                What::Call { .. } => object,
                _ => object.place("content_index", 0),
            };
            let object = fields(object);
            let has_logprobs = [MESSAGE.delta, MESSAGE.done].contains(&name);
            if has_logprobs { object.json("logprobs", "[]") } else { object }
        });
    }

    /// Writes an event for a summary of an item.
    pub(super) fn summary(
        &mut self,
        name: &'static str,
        item: &Item,
        output: &mut Output<'_>,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.item(name, item, output, |object| fields(object.place("summary_index", item.count)));
    }

    /// Writes an event for an item.
    fn item(
        &mut self,
        name: &'static str,
        item: &Item,
        output: &mut Output<'_>,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.write(name, output, |object| {
            fields(object.text("item_id", &item.id).place("output_index", item.place))
        });
    }
}
