//! Writes text in its original layout.

use super::{Sink, SinkError};
use crate::model::{Raw, RawPiece};

/// Writes a piece of layout. Its control tokens are written as control tokens.
pub(crate) fn write_raw(raw: &Raw<'_>, sink: &mut dyn Sink) -> Result<(), SinkError> {
    write_pieces(raw.pieces(), sink)
}

/// Writes pieces of a layout.
pub(crate) fn write_pieces<'r>(
    mut pieces: impl Iterator<Item = RawPiece<'r>>,
    sink: &mut dyn Sink,
) -> Result<(), SinkError> {
    pieces.try_for_each(|piece| match piece {
        RawPiece::Control(control) => sink.control(control),
        RawPiece::Text(text) => sink.text(text),
    })
}
