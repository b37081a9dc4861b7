//! A borrowed value, or an owned one in a box.

use std::fmt;
use std::ops::Deref;

/// A value that is borrowed, or owned in a box.
///
/// Like [`Cow`](std::borrow::Cow), but as small as a reference, so that events stay small. Use it as
/// the value itself: it dereferences to it.
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
    /// The value of somebody else.
    Borrowed(&'e T),
    /// A value of its own.
    Owned(Box<T>),
}

impl<T: Clone> CowBox<'_, T> {
    /// The value, cloned if it is borrowed.
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
