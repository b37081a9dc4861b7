//! Identifies the form of a dialect that something was read in.

/// The form of a dialect that something was read in or made for: text or JSON, of this dialect or
/// an older version. A layout is used again only in the form that it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FormId(&'static str);

impl FormId {
    /// No form: a program made the conversation.
    pub(crate) const NONE: Self = Self("");

    /// Creates the id of the form with this name. Each form has a unique name.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }
}
