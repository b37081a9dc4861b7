//! Calls whose arguments are written in a syntax of their own, as data.

use crate::control::Control;

/// The syntax of arguments that are written like JSON, with bare keys, and with strings between
/// tokens: `city:<|"|>Paris<|"|>,days:3}`.
///
/// Numbers, `true`, `false`, `null`, lists and objects are written as in JSON, without spaces. Strings
/// have no escapes.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::dialects::{CallPiece, Completion};
///
/// for format in TextFormat::all() {
///     let Ok(Completion::Sections(sections)) = format.completion() else { continue };
///     for piece in sections.calls.pieces {
///         if let CallPiece::Tree(tree) = piece {
///             assert!(format.dialect().controls.spelling(tree.quote).is_some());
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// The token before and after a string.
    pub quote: Control,
}
