//! Which form of a dialect something was read in.

/// The form of a dialect that something was read in, or was made for: text or JSON, of this dialect or of
/// an older version. Layout is used again in the form that it came from, and in no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FormId(&'static str);

impl FormId {
    /// The form of no dialect: a conversation was made by a program.
    pub(crate) const NONE: Self = Self("");

    /// The form of this name. Each form has a name of its own.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }
}
