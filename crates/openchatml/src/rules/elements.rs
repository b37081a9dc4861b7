//! Calls whose arguments are nested elements, as data.

use crate::control::Control;

/// The syntax of arguments that are nested elements, with tags that begin with tokens:
/// `<days>3</days><cities><item>Bern</item></cities>`.
///
/// The members of an object are elements with the names of its keys. The elements of a list have one
/// name. Strings, numbers, `true` and `false` are written as they are, so a tag does not say the type.
/// A member that is `null` is not written, and an item that is `null` is the word.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::dialects::{CallPiece, Completion};
///
/// for format in TextFormat::all() {
///     let Ok(Completion::Sections(sections)) = format.completion() else { continue };
///     for piece in sections.calls.pieces {
///         if let CallPiece::Elements(elements) = piece {
///             assert!(format.dialect().controls.spelling(elements.open).is_some());
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Elements {
    /// The token that begins an opening tag. The name of the element follows.
    pub open: Control,
    /// The token that begins a closing tag. The name of the element follows.
    pub close: Control,
    /// The character that ends a tag.
    pub end: &'static str,
    /// The name of the elements of a list.
    pub item: &'static str,
}
