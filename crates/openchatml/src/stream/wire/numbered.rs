//! Events of the Responses API, which are numbered.

use super::Framing;
use super::item::{Item, MESSAGE, What};
use super::object::Object;

/// Writes events, with their numbers.
#[derive(Default)]
pub(super) struct Events {
    pub(super) framing: Framing,
    /// How many there are so far.
    count: u64,
}

impl Events {
    /// Writes an event with these fields.
    pub(super) fn write(
        &mut self,
        name: &'static str,
        out: &mut String,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        let number = self.count;
        self.count += 1;
        self.framing.write(out, Some(name), |out| {
            let object = Object::new(out).text("type", name).number("sequence_number", number);
            fields(object).end();
        });
    }

    /// Writes an event of the text of an item.
    pub(super) fn part(
        &mut self,
        name: &'static str,
        item: &Item,
        out: &mut String,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.item(name, item, out, |object| {
            // Arguments have no place among parts.
            let object = match item.what {
                What::Call { .. } => object,
                _ => object.place("content_index", 0),
            };
            let object = fields(object);
            let has_logprobs = [MESSAGE.delta, MESSAGE.done].contains(&name);
            if has_logprobs { object.json("logprobs", "[]") } else { object }
        });
    }

    /// Writes an event of a summary of an item.
    pub(super) fn summary(
        &mut self,
        name: &'static str,
        item: &Item,
        out: &mut String,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.item(name, item, out, |object| fields(object.place("summary_index", item.count)));
    }

    /// Writes an event of an item.
    fn item(
        &mut self,
        name: &'static str,
        item: &Item,
        out: &mut String,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) {
        self.write(name, out, |object| {
            fields(object.text("item_id", &item.id).place("output_index", item.place))
        });
    }
}
