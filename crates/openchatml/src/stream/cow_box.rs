//! A borrowed value, or an owned value in a box.

use std::fmt;
use std::ops::Deref;

/// A value that is borrowed, or owned in a box.
///
/// Like [`Cow`](std::borrow::Cow), but with the size of a reference, so that events stay small. It
/// dereferences to the value.
///
/// ```
/// use openchatml::{CowBox, Message};
///
/// let message = Message::user("Hi!");
/// let borrowed: CowBox<'_, Message<'_>> = (&message).into();
/// assert_eq!(borrowed.body.text(), "Hi!");
/// let owned: CowBox<'_, Message<'_>> = message.clone().into();
/// assert_eq!(owned.into_value(), message);
/// ```
#[derive(Clone)]
pub enum CowBox<'e, T> {
    /// A borrowed value.
    Borrowed(&'e T),
    /// An owned value.
    Owned(Box<T>),
}

impl<T: Clone> CowBox<'_, T> {
    /// Returns the value. A borrowed value is cloned.
    pub fn into_value(self) -> T {
        match self {
            Self::Borrowed(value) => value.clone(),
            Self::Owned(value) => *value,
        }
    }
}

impl<T> Deref for CowBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(value) => value,
            Self::Owned(value) => value,
        }
    }
}

impl<'e, T> From<&'e T> for CowBox<'e, T> {
    fn from(value: &'e T) -> Self {
        Self::Borrowed(value)
    }
}

impl<T> From<T> for CowBox<'_, T> {
    fn from(value: T) -> Self {
        Self::Owned(Box::new(value))
    }
}

impl<T: fmt::Display> fmt::Display for CowBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for CowBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
