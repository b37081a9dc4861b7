//! Cuts text into pieces, as the pattern of `o200k_base` does:
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
//! Where a piece begins, nothing before it matters. So ASCII is cut many pieces at once by
//! [`ascii`], and each piece that has or touches other characters by [`unicode`].

mod ascii;
mod sets;
mod unicode;

/// How many bytes [`ascii`] is given: those it looks at, and some more, so that each of its pieces
/// can be read as sixteen bytes.
pub(crate) const WINDOW: usize = sets::BYTES as usize + 16;

/// What is done with pieces.
pub(crate) trait Pieces {
    /// Takes the pieces of a window: where each begins, and where the last one ends.
    fn window(&mut self, window: &[u8; WINDOW], starts: u64, end: u32);

    /// Takes a piece.
    fn piece(&mut self, piece: &[u8]);
}

/// Cuts a text.
#[inline]
pub(crate) fn split(text: &str, to: &mut impl Pieces) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (taken, more) = match rest.first_chunk() {
            Some(window) => take(window, sets::BYTES, false, to),
            None => {
                let mut window = [0; WINDOW];
                window[..rest.len()].copy_from_slice(rest);
                let known = rest.len().min(sets::BYTES as usize);
                take(&window, known as u32, known == rest.len(), to)
            }
        };
        at += taken;
        if !more {
            at = take_others(bytes, at, to);
        }
    }
}

/// Hands over the pieces of a window but for one that is not known to end. Returns how many bytes
/// they have, and whether there may be more like them at once.
#[inline(always)]
fn take(window: &[u8; WINDOW], known: u32, ends: bool, to: &mut impl Pieces) -> (usize, bool) {
    let cut = ascii::cut(window, known, ends);
    if cut.whole {
        to.window(window, cut.starts, cut.end);
        return (cut.end as usize, true);
    }
    let last = cut.starts.ilog2();
    to.window(window, cut.starts & sets::below(last), last);
    (last as usize, last > 0 && cut.end == sets::BYTES)
}

/// Hands over a piece, and those behind it as long as characters are not ASCII. Returns where the
/// last one ends.
fn take_others(bytes: &[u8], mut at: usize, to: &mut impl Pieces) -> usize {
    while at < bytes.len() {
        let end = unicode::piece_end(bytes, at);
        to.piece(&bytes[at..end]);
        at = end;
        if bytes[at..].iter().take(2).all(u8::is_ascii) {
            break;
        }
    }
    at
}

/// The pieces of a text, each as the encoding of `o200k_base` encodes it for itself.
///
/// ```
/// assert_eq!(openchatml_o200k::pieces("It's 2,000 lines."), ["It's", " ", "2", ",", "000", " lines", "."]);
/// ```
pub fn pieces(text: &str) -> Vec<&str> {
    let mut lengths = Lengths(Vec::new());
    split(text, &mut lengths);
    let mut rest = text;
    let pieces = lengths.0.into_iter().map(|length| {
        let (piece, behind) = rest.split_at(length);
        rest = behind;
        piece
    });
    pieces.collect()
}

/// How long pieces are.
struct Lengths(Vec<usize>);

impl Pieces for Lengths {
    fn window(&mut self, _: &[u8; WINDOW], mut starts: u64, end: u32) {
        while starts != 0 {
            let start = starts.trailing_zeros();
            starts &= starts - 1;
            let next = if starts == 0 { end } else { starts.trailing_zeros() };
            self.0.push((next - start) as usize);
        }
    }

    fn piece(&mut self, piece: &[u8]) {
        self.0.push(piece.len());
    }
}
