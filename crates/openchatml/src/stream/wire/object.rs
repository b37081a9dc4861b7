//! Writes JSON objects field by field.

use crate::json::write_string;

/// An object that is being written.
#[must_use = "an object has an end"]
pub(super) struct Object<'o> {
    out: &'o mut String,
    /// The character before the next field.
    before: char,
}

impl<'o> Object<'o> {
    pub(super) fn new(out: &'o mut String) -> Self {
        Self { out, before: '{' }
    }

    /// Adds a field whose value `write` writes.
    pub(super) fn with(self, key: &str, write: impl FnOnce(&mut String)) -> Self {
        self.out.push(self.before);
        write_string(self.out, key);
        self.out.push(':');
        write(self.out);
        Self { before: ',', ..self }
    }

    /// Adds a field with a string.
    pub(super) fn text(self, key: &str, text: &str) -> Self {
        self.with(key, |out| write_string(out, text))
    }

    /// Adds a field with a value that is already JSON.
    pub(super) fn json(self, key: &str, json: &str) -> Self {
        self.with(key, |out| out.push_str(json))
    }

    /// Adds a field with a number.
    pub(super) fn number(self, key: &str, number: u64) -> Self {
        self.json(key, &number.to_string())
    }

    /// Adds a field with a position in a list.
    pub(super) fn place(self, key: &str, place: usize) -> Self {
        self.json(key, &place.to_string())
    }

    /// Adds a field with an object.
    pub(super) fn object(
        self,
        key: &str,
        fields: impl for<'f> FnOnce(Object<'f>) -> Object<'f>,
    ) -> Self {
        self.with(key, |out| fields(Object::new(out)).end())
    }

    pub(super) fn end(self) {
        if self.before == '{' {
            self.out.push('{');
        }
        self.out.push('}');
    }
}
