//! Byte pair encoding of one piece: of the pairs of tokens that merge, the one that merges to the
//! lowest rank is merged first, and of several of these the first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::{NONE, Vocabulary};

/// The most bytes for which every merge looks at all that is left.
const FEW: usize = 64;
/// How many bytes of a longer piece are merged at once, at first.
const WINDOW: usize = 512;

/// Adds the ids of a piece.
pub(crate) fn merge(vocabulary: &Vocabulary, piece: &[u8], ids: &mut Vec<u32>) {
    if piece.len() <= FEW {
        merge_few(vocabulary, piece, ids);
        return;
    }
    let start = ids.len();
    let mut window = WINDOW;
    while !merge_by_windows(vocabulary, piece, window, ids) {
        ids.truncate(start);
        window *= 8;
    }
}

/// Adds the ids of at most [`FEW`] bytes.
fn merge_few(vocabulary: &Vocabulary, piece: &[u8], ids: &mut Vec<u32>) {
    let mut tokens = [0; FEW];
    // What each token merges to with the one after it.
    let mut merged = [NONE; FEW];
    let mut count = piece.len().min(FEW);
    for (token, byte) in tokens.iter_mut().zip(piece) {
        *token = vocabulary.single(*byte);
    }
    for (merged, pair) in merged.iter_mut().zip(piece.windows(2)) {
        *merged = vocabulary.two(pair[0], pair[1]);
    }
    while count > 1 {
        let (mut lowest, mut at) = (NONE, 0);
        for (place, rank) in merged[..count - 1].iter().enumerate() {
            if *rank < lowest {
                (lowest, at) = (*rank, place);
            }
        }
        if lowest == NONE {
            break;
        }
        tokens[at] = lowest;
        tokens.copy_within(at + 2..count, at + 1);
        merged.copy_within(at + 2..count, at + 1);
        count -= 1;
        let after = if at + 1 < count { vocabulary.merged(lowest, tokens[at + 1]) } else { NONE };
        merged[at] = after;
        if at > 0 {
            merged[at - 1] = vocabulary.merged(tokens[at - 1], lowest);
        }
    }
    ids.extend_from_slice(&tokens[..count]);
}

/// A token, and where it begins.
type Placed = (u32, usize);

/// Adds the ids of a piece, of which at most `window` bytes are merged at once. Returns whether it
/// could be done so.
///
/// Tokens are the encoding of their bytes if and only if each two of them that stand side by side
/// are the encoding of theirs: a merge across the border of two tokens, the first there is, would
/// be made by these two alone as well. So where two windows overlap and have one token in common,
/// in the same place, what the first has up to it and the second has from it on is the encoding.
fn merge_by_windows(
    vocabulary: &Vocabulary,
    piece: &[u8],
    window: usize,
    ids: &mut Vec<u32>,
) -> bool {
    let mut scratch = Scratch::default();
    let (mut tokens, mut next) = (Vec::new(), Vec::new());
    scratch.merge(vocabulary, piece, 0..window.min(piece.len()), &mut tokens);
    // The first of the tokens that is not written yet.
    let mut from = 0;
    let mut end = window;
    while end < piece.len() {
        let overlap = tokens.partition_point(|(_, start)| *start < end - window / 4);
        let begin = tokens.get(overlap.min(tokens.len() - 1)).map_or(0, |(_, start)| *start);
        end = begin + window;
        next.clear();
        scratch.merge(vocabulary, piece, begin..end.min(piece.len()), &mut next);
        let Some((last, first)) = common(&tokens[overlap.max(from).min(tokens.len())..], &next)
        else {
            return false;
        };
        let last = overlap.max(from) + last;
        ids.extend(tokens[from..last].iter().map(|(id, _)| *id));
        from = first;
        std::mem::swap(&mut tokens, &mut next);
    }
    ids.extend(tokens[from..].iter().map(|(id, _)| *id));
    true
}

/// The places of the first token that both have, in the same place of the text.
fn common(one: &[Placed], other: &[Placed]) -> Option<(usize, usize)> {
    one.iter().enumerate().find_map(|(at, token)| {
        let place = other.binary_search_by_key(&token.1, |(_, start)| *start).ok()?;
        (other[place] == *token).then_some((at, place))
    })
}

/// What merging many bytes needs.
#[derive(Default)]
struct Scratch {
    /// For each byte that begins a token, the token, and how far it is to the one before and the
    /// one after.
    parts: Vec<Part>,
    /// What can be merged: the lowest rank, then the first place, first.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

#[derive(Clone, Copy)]
struct Part {
    token: u32,
    /// What it merges to with the token after it.
    merged: u32,
    before: u32,
    after: u32,
}

impl Scratch {
    /// Adds the tokens of a range of bytes.
    fn merge(
        &mut self,
        vocabulary: &Vocabulary,
        piece: &[u8],
        range: std::ops::Range<usize>,
        tokens: &mut Vec<Placed>,
    ) {
        let (begin, bytes) = (range.start, &piece[range]);
        self.parts.clear();
        self.queue.clear();
        for (at, byte) in (0_u32..).zip(bytes) {
            let merged = match bytes.get(at as usize + 1) {
                Some(next) => vocabulary.two(*byte, *next),
                None => NONE,
            };
            let token = vocabulary.single(*byte);
            self.parts.push(Part { token, merged, before: at.wrapping_sub(1), after: at + 1 });
            if merged != NONE {
                self.queue.push(Reverse((merged, at)));
            }
        }
        while let Some(Reverse((rank, at))) = self.queue.pop() {
            let part = self.parts[at as usize];
            if part.merged == rank {
                self.join(vocabulary, at, part);
            }
        }
        let mut at = 0;
        while let Some(part) = self.parts.get(at) {
            tokens.push((part.token, begin + at));
            at = part.after as usize;
        }
    }

    /// Joins a part with the one after it.
    fn join(&mut self, vocabulary: &Vocabulary, at: u32, part: Part) {
        let gone = self.parts[part.after as usize];
        self.parts[part.after as usize].merged = NONE;
        let token = part.merged;
        let merged = match self.parts.get_mut(gone.after as usize) {
            Some(next) => {
                next.before = at;
                vocabulary.merged(token, next.token)
            }
            None => NONE,
        };
        self.parts[at as usize] = Part { token, merged, before: part.before, after: gone.after };
        if merged != NONE {
            self.queue.push(Reverse((merged, at)));
        }
        if let Some(before) = self.parts.get_mut(part.before as usize) {
            before.merged = vocabulary.merged(before.token, token);
            if before.merged != NONE {
                self.queue.push(Reverse((before.merged, part.before)));
            }
        }
    }
}
