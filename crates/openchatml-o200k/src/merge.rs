//! Byte pair encoding of one piece: the pair of adjacent tokens that merges to the lowest rank
//! merges first, and of several such pairs, the leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::hash::SHORT;
use crate::index::NONE;
use crate::vocabulary::Vocabulary;

/// The maximum size of a piece for which every merge examines all remaining tokens.
const FEW: usize = 64;
/// The initial number of bytes of a longer piece that are merged at once.
const WINDOW: usize = 512;

/// Encodes pieces. It owns reusable buffers.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    scratch: Scratch,
    tokens: Vec<Placed>,
    next: Vec<Placed>,
}

impl Merger {
    /// Adds the ids of a piece.
    pub(crate) fn merge(&mut self, vocabulary: &Vocabulary, piece: &[u8], ids: &mut Vec<u32>) {
        if piece.len() <= FEW {
            merge_few(vocabulary, piece, ids);
            return;
        }
        let start = ids.len();
        let mut window = WINDOW;
        while !self.merge_by_windows(vocabulary, piece, window, ids) {
            ids.truncate(start);
            window *= 8;
        }
    }
}

/// Adds the ids of at most [`FEW`] bytes.
fn merge_few(vocabulary: &Vocabulary, piece: &[u8], ids: &mut Vec<u32>) {
    let mut tokens = [0; FEW];
    // The token that each token forms with the next one.
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
        let after =
            if at + 1 < count { vocabulary.pairs().get(lowest, tokens[at + 1]) } else { NONE };
        merged[at] = after;
        if at > 0 {
            merged[at - 1] = vocabulary.pairs().get(tokens[at - 1], lowest);
        }
    }
    ids.extend_from_slice(&tokens[..count]);
}

/// Short pieces that are merged in parallel, so that their memory accesses overlap.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// The pieces that are not completely merged.
    open: Vec<usize>,
}

/// A piece of at most [`SHORT`] bytes.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// For each byte, the token that starts there, if any.
    tokens: [u32; SHORT + 1],
    /// For each of these tokens, the token that it forms with the next one, and its position: see
    /// [`ranked`].
    merged: [u64; SHORT + 1],
    /// The bytes at which a token starts.
    starts: u32,
    /// The position of the last merge.
    last: Option<usize>,
}

impl Lanes {
    /// Removes all pieces.
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
    }

    /// Adds a piece.
    pub(crate) fn add(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        let mut lane = Lane {
            tokens: [0; _],
            merged: [u64::MAX; _],
            starts: (1 << piece.len()) - 1,
            last: None,
        };
        for (token, byte) in lane.tokens.iter_mut().zip(piece) {
            *token = vocabulary.single(*byte);
        }
        for ((merged, pair), at) in lane.merged.iter_mut().zip(piece.windows(2)).zip(0..) {
            *merged = ranked(vocabulary.two(pair[0], pair[1]), at);
        }
        self.open.push(self.lanes.len());
        self.lanes.push(lane);
    }

    /// Merges all pieces.
    pub(crate) fn merge(&mut self, vocabulary: &Vocabulary) {
        let Self { lanes, open } = self;
        while !open.is_empty() {
            open.retain(|lane| lanes[*lane].step(vocabulary));
        }
    }

    /// Adds the ids of the piece with this index.
    pub(crate) fn write(&self, piece: usize, ids: &mut Vec<u32>) {
        let Lane { tokens, starts, .. } = &self.lanes[piece];
        ids.extend((0..tokens.len()).filter(|at| starts >> at & 1 != 0).map(|at| tokens[at]));
    }
}

impl Lane {
    /// Returns the position of the next token.
    #[inline(always)]
    fn after(&self, at: usize) -> Option<usize> {
        let after = self.starts & (!1 << at);
        (after != 0).then(|| after.trailing_zeros() as usize % (SHORT + 1))
    }

    /// Returns the position of the previous token.
    #[inline(always)]
    fn before(&self, at: usize) -> Option<usize> {
        (self.starts & ((1 << at) - 1)).checked_ilog2().map(|before| before as usize % (SHORT + 1))
    }

    /// Merges once. Returns `false` if there was nothing to merge.
    #[inline]
    fn step(&mut self, vocabulary: &Vocabulary) -> bool {
        let pairs = vocabulary.pairs();
        if let Some(at) = self.last {
            let token = self.tokens[at];
            let merged = self.after(at).map_or(NONE, |after| pairs.get(token, self.tokens[after]));
            self.merged[at] = ranked(merged, at);
            if let Some(before) = self.before(at) {
                self.merged[before] = ranked(pairs.get(self.tokens[before], token), before);
            }
        }
        let lowest = match self.starts {
            ..0x100 => self.merged[..8].iter().min(),
            _ => self.merged.iter().min(),
        };
        let (rank, at) = of_ranked(*lowest.unwrap_or(&u64::MAX));
        let Some(after) = self.after(at).filter(|_| rank != NONE) else { return false };
        self.tokens[at] = rank;
        self.merged[after] = u64::MAX;
        self.starts &= !(1 << after);
        self.last = Some(at);
        if let Some(before) = self.before(at) {
            pairs.prefetch(self.tokens[before], rank);
        }
        if let Some(after) = self.after(at) {
            pairs.prefetch(rank, self.tokens[after]);
        }
        true
    }
}

/// Combines a rank and a position in one number. The lowest number is the leftmost of the lowest
/// ranks.
#[inline(always)]
fn ranked(rank: u32, at: usize) -> u64 {
    u64::from(rank) << 4 | at as u64
}

/// Splits a number into rank and position.
#[inline(always)]
fn of_ranked(ranked: u64) -> (u32, usize) {
    ((ranked >> 4) as u32, ranked as usize & SHORT)
}

/// A token and its start.
type Placed = (u32, usize);

impl Merger {
    /// Adds the ids of a piece, merging at most `window` bytes at once. Returns `false` if this was
    /// not possible.
    ///
    /// A sequence of tokens is the encoding of its bytes if and only if each two adjacent tokens
    /// are the encoding of theirs: the first merge across a border of two tokens would also happen
    /// with these two alone. If two overlapping windows have a token in common at the same
    /// position, the tokens of the first window up to it and those of the second from it on are
    /// therefore the encoding.
    fn merge_by_windows(
        &mut self,
        vocabulary: &Vocabulary,
        piece: &[u8],
        window: usize,
        ids: &mut Vec<u32>,
    ) -> bool {
        let Self { scratch, tokens, next } = self;
        scratch.merge(vocabulary, piece, 0..window.min(piece.len()), tokens);
        // The first token that is not written yet.
        let mut from = 0;
        let mut end = window;
        while end < piece.len() {
            let overlap = tokens.partition_point(|(_, start)| *start < end - window / 4);
            let begin = tokens[overlap.min(tokens.len() - 1)].1;
            end = begin + window;
            scratch.merge(vocabulary, piece, begin..end.min(piece.len()), next);
            let after = overlap.max(from);
            let Some((last, first)) = common(&tokens[after.min(tokens.len())..], next) else {
                return false;
            };
            ids.extend(tokens[from..after + last].iter().map(|(id, _)| *id));
            from = first;
            std::mem::swap(tokens, next);
        }
        ids.extend(tokens[from..].iter().map(|(id, _)| *id));
        true
    }
}

/// Returns the indexes of the first token that both have at the same position of the text.
fn common(one: &[Placed], other: &[Placed]) -> Option<(usize, usize)> {
    one.iter().enumerate().find_map(|(at, token)| {
        let place = other.binary_search_by_key(&token.1, |(_, start)| *start).ok()?;
        (other[place] == *token).then_some((at, place))
    })
}

/// The buffers for merging many bytes.
#[derive(Debug, Default)]
struct Scratch {
    /// For each byte at which a token starts: the token, and the distances to the previous and the
    /// next token.
    parts: Vec<Part>,
    /// The possible merges, ordered by rank and position.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    token: u32,
    /// The token that it forms with the next one.
    merged: u32,
    before: u32,
    after: u32,
}

impl Scratch {
    /// Encodes a range of bytes.
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
        tokens.clear();
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

    /// Merges a part with the next one.
    fn join(&mut self, vocabulary: &Vocabulary, at: u32, part: Part) {
        let gone = self.parts[part.after as usize];
        self.parts[part.after as usize].merged = NONE;
        let token = part.merged;
        let merged = match self.parts.get_mut(gone.after as usize) {
            Some(next) => {
                next.before = at;
                vocabulary.pairs().get(token, next.token)
            }
            None => NONE,
        };
        self.parts[at as usize] = Part { token, merged, before: part.before, after: gone.after };
        if merged != NONE {
            self.queue.push(Reverse((merged, at)));
        }
        if let Some(before) = self.parts.get_mut(part.before as usize) {
            before.merged = vocabulary.pairs().get(before.token, token);
            if before.merged != NONE {
                self.queue.push(Reverse((before.merged, part.before)));
            }
        }
    }
}
