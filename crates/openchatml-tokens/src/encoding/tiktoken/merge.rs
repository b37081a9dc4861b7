//! Byte pair encoding with ranks. Two adjacent tokens can merge if their bytes together are a
//! token. The pair with the lowest rank merges first, and of several pairs with this rank, the
//! leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::file::Ranks;

/// The buffers for merging, which are reused for each piece.
#[derive(Debug, Default)]
pub(super) struct Merger {
    parts: Vec<Part>,
    /// The possible merges, ordered by rank and position. Some entries are outdated.
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

/// A token, stored at the position of its first byte.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The token that it forms with the next token.
    merged: Option<u32>,
    before: usize,
    end: usize,
}

impl Merger {
    /// Adds the ids of a piece. `longest` is the length of the longest token.
    pub(super) fn encode(
        &mut self,
        ranks: &Ranks,
        longest: usize,
        piece: &[u8],
        ids: &mut Vec<u32>,
    ) {
        if let Some(id) = rank(ranks, longest, piece) {
            return ids.push(id);
        }
        self.begin(ranks, longest, piece);
        while let Some(Reverse((merged, at))) = self.queue.pop() {
            if self.parts[at].merged == Some(merged) {
                self.join(ranks, longest, piece, at);
            }
        }
        let mut at = 0;
        while let Some(part) = self.parts.get(at) {
            ids.extend(ranks.get(&piece[at..part.end]));
            at = part.end;
        }
    }

    /// Starts with one token for each byte.
    fn begin(&mut self, ranks: &Ranks, longest: usize, piece: &[u8]) {
        self.queue.clear();
        self.parts.clear();
        for at in 0..piece.len() {
            let merged = piece.get(at..at + 2).and_then(|pair| rank(ranks, longest, pair));
            self.parts.push(Part { merged, before: at.saturating_sub(1), end: at + 1 });
            self.queue.extend(merged.map(|merged| Reverse((merged, at))));
        }
    }

    /// Merges the token at `at` with the next one.
    fn join(&mut self, ranks: &Ranks, longest: usize, piece: &[u8], at: usize) {
        let gone = self.parts[at].end;
        self.parts[gone].merged = None;
        let end = self.parts[gone].end;
        self.parts[at].end = end;
        if let Some(after) = self.parts.get_mut(end) {
            after.before = at;
        }
        self.look(ranks, longest, piece, at);
        if at > 0 {
            self.look(ranks, longest, piece, self.parts[at].before);
        }
    }

    /// Finds the token that a token forms with the next one.
    fn look(&mut self, ranks: &Ranks, longest: usize, piece: &[u8], at: usize) {
        let after = self.parts.get(self.parts[at].end);
        let merged = after.and_then(|after| rank(ranks, longest, &piece[at..after.end]));
        self.parts[at].merged = merged;
        self.queue.extend(merged.map(|merged| Reverse((merged, at))));
    }
}

/// Returns the rank of these bytes, if they are a token.
fn rank(ranks: &Ranks, longest: usize, bytes: &[u8]) -> Option<u32> {
    if bytes.len() > longest { None } else { ranks.get(bytes).copied() }
}
