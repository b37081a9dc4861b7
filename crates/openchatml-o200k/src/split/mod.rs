//! Splits text into pieces, as the pattern of `o200k_base` does:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```
//!
//! The start of a piece does not depend on the text before it. Therefore [`ascii`] splits many
//! pieces of ASCII at once, and [`unicode`] splits each piece that contains or touches other
//! characters.

mod ascii;
mod sets;
mod unicode;

/// The number of bytes that [`ascii`] gets: those it examines and some more, so that each of its
/// pieces can be read as sixteen bytes.
pub(crate) const WINDOW: usize = sets::BYTES as usize + 16;

/// Receives pieces.
pub(crate) trait Pieces {
    /// Receives the pieces of a window at this position of the text. The first piece starts with
    /// the window, and each piece ends at the next of `ends`, where the next piece starts.
    fn window(&mut self, at: usize, window: &[u8; WINDOW], ends: Places);

    /// Receives a piece with its start and end in the text.
    fn piece(&mut self, start: usize, end: usize);
}

/// Positions in a window: a set, and one position after the set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) set: u64,
    pub(crate) last: u32,
}

/// Splits a text.
#[inline]
pub(crate) fn split(text: &str, to: &mut impl Pieces) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (taken, more) = match rest.first_chunk() {
            Some(window) => take(at, window, sets::BYTES, false, to),
            None => {
                let mut window = [0; WINDOW];
                window[..rest.len()].copy_from_slice(rest);
                let known = rest.len().min(sets::BYTES as usize);
                take(at, &window, known as u32, known == rest.len(), to)
            }
        };
        at += taken;
        if !more {
            at = take_others(bytes, at, to);
        }
    }
}

/// Passes on the pieces of a window, except a last one whose end is unknown. Returns the number of
/// their bytes, and whether there may be more such pieces.
#[inline(always)]
fn take(
    at: usize,
    window: &[u8; WINDOW],
    known: u32,
    ends: bool,
    to: &mut impl Pieces,
) -> (usize, bool) {
    let cut = ascii::cut(window, known, ends);
    if cut.whole {
        to.window(at, window, Places { set: cut.starts & !1, last: cut.end });
        return (cut.end as usize, true);
    }
    let last = cut.starts.ilog2();
    if last > 0 {
        to.window(at, window, Places { set: cut.starts & sets::below(last) & !1, last });
    }
    (last as usize, last > 0 && cut.end == sets::BYTES)
}

/// Passes on a piece, and the following ones while they contain characters that are not ASCII.
/// Returns the end of the last one.
fn take_others(bytes: &[u8], mut at: usize, to: &mut impl Pieces) -> usize {
    while at < bytes.len() {
        let end = unicode::piece_end(bytes, at);
        to.piece(at, end);
        at = end;
        if bytes[at..].iter().take(2).all(u8::is_ascii) {
            break;
        }
    }
    at
}

/// Returns the pieces of a text, which `o200k_base` encodes separately.
///
/// ```
/// assert_eq!(openchatml_o200k::pieces("It's 2,000 lines."), ["It's", " ", "2", ",", "000", " lines", "."]);
/// ```
pub fn pieces(text: &str) -> Vec<&str> {
    let mut lengths = Lengths(Vec::new());
    split(text, &mut lengths);
    let mut rest = text;
    let pieces = lengths.0.into_iter().map(|length| {
        let (piece, tail) = rest.split_at(length);
        rest = tail;
        piece
    });
    pieces.collect()
}

/// Collects the lengths of pieces.
struct Lengths(Vec<usize>);

impl Pieces for Lengths {
    fn window(&mut self, _: usize, _: &[u8; WINDOW], Places { mut set, last }: Places) {
        let mut start = 0;
        while set != 0 {
            let end = set.trailing_zeros();
            set &= set - 1;
            self.0.push((end - start) as usize);
            start = end;
        }
        self.0.push((last - start) as usize);
    }

    fn piece(&mut self, start: usize, end: usize) {
        self.0.push(end - start);
    }
}
