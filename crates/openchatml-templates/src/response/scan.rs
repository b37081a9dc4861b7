//! Searches for one anchor in text that arrives in chunks.
//!
//! All attempts to match advance together, byte by byte, and each knows where it began. So the
//! search knows what text an anchor could still begin in, and reads no byte twice.

use regex_automata::nfa::thompson::State;
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use super::anchor::{Anchor, Empty, next};

/// How many bytes after a match its anchor can match more text. Without this bound, a pattern such as
/// `a(.*b)?` would read much text after each match.
pub(super) const MOST_GROWTH: usize = 256;

/// A match, in bytes since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// An attempt to match.
#[derive(Clone, Copy, Debug)]
struct Thread {
    state: StateID,
    start: usize,
}

/// The search for an anchor.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    anchor: Anchor,
    /// The attempts that can still become a match that is preferred to `found`, the preferred one
    /// first. Those that begin earlier are preferred.
    threads: Vec<Thread>,
    found: Option<Match>,
    /// No match begins before this byte.
    clean: usize,
    is_empty_at_end: bool,
    after: Vec<Thread>,
    seen: Seen,
    stack: Vec<StateID>,
}

impl Scan {
    pub(super) fn new(anchor: &Anchor) -> Self {
        Self {
            anchor: anchor.clone(),
            threads: Vec::new(),
            found: None,
            clean: 0,
            is_empty_at_end: anchor.empty() == Empty::AtEnd,
            after: Vec::new(),
            seen: Seen::new(anchor.nfa().states().len()),
            stack: Vec::new(),
        }
    }

    pub(super) fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// Excludes matches that begin before a place.
    pub(super) fn exclude(&mut self, before: usize) {
        self.clean = self.clean.max(before);
    }

    /// Begins a new search.
    pub(super) fn restart(&mut self) {
        self.threads.clear();
        self.found = None;
    }

    /// Whether the next byte matters only if a match can begin with it.
    pub(super) fn is_idle(&self) -> bool {
        self.threads.is_empty() && self.found.is_none()
    }

    /// The match, if nothing can be preferred to it any more.
    pub(super) fn resolved(&self) -> Option<Match> {
        self.found.filter(|_| self.threads.is_empty())
    }

    /// Where the earliest possible match begins.
    pub(super) fn pending(&self) -> Option<usize> {
        let thread = self.threads.first().map(|thread| thread.start);
        thread.or(self.found.map(|found| found.start))
    }

    /// Reads the byte at a place.
    pub(super) fn step(&mut self, byte: u8, at: usize) {
        let can_begin = at == 0 || self.anchor.begins_with(byte);
        let begins = self.found.is_none() && at >= self.clean && can_begin;
        if self.threads.is_empty() && !begins {
            return;
        }
        let nfa = self.anchor.nfa().clone();
        if begins {
            // Closed first, so that it is the last of the attempts at this place.
            let mut threads = std::mem::take(&mut self.threads);
            self.seen.clear();
            for thread in &threads {
                self.seen.insert(thread.state);
            }
            let start = Thread { state: nfa.start_anchored(), start: at };
            if self.close(start, at, &mut threads, false) {
                self.found = Some(Match { start: at, end: at });
            }
            self.threads = threads;
        }
        self.seen.clear();
        let mut after = std::mem::take(&mut self.after);
        for at_thread in 0..self.threads.len() {
            let thread = self.threads[at_thread];
            let Some(state) = next(nfa.state(thread.state), byte) else { continue };
            if self.close(Thread { state, ..thread }, at + 1, &mut after, false) {
                self.found = Some(Match { start: thread.start, end: at + 1 });
                break;
            }
        }
        self.after = std::mem::replace(&mut self.threads, after);
        self.after.clear();
        if self.is_idle() {
            self.clean = at + 1;
        }
    }

    /// Ends the text at a place.
    pub(super) fn finish(&mut self, at: usize) {
        let mut threads = std::mem::take(&mut self.threads);
        if self.found.is_none() && at >= self.clean && self.is_empty_at_end {
            threads.push(Thread { state: self.anchor.nfa().start_anchored(), start: at });
        }
        let mut after = Vec::new();
        self.seen.clear();
        for thread in threads {
            if self.close(thread, at, &mut after, true) {
                self.found = Some(Match { start: thread.start, end: at });
                break;
            }
        }
        if self.found.is_none() {
            self.clean = usize::MAX;
        }
    }

    /// Gives up attempts that are too long. Returns where the first one began.
    pub(super) fn bound(&mut self, at: usize, most: usize) -> Option<usize> {
        if self.found.is_some_and(|found| at - found.end > MOST_GROWTH) {
            self.threads.clear();
            return None;
        }
        let start = self.threads.first()?.start;
        if at - start <= most {
            return None;
        }
        self.threads.clear();
        if self.found.is_none() {
            self.clean = at;
        }
        Some(start)
    }

    /// Adds the states that are reached without text. Returns whether one of them is a match: no
    /// state after it is added.
    fn close(&mut self, from: Thread, at: usize, out: &mut Vec<Thread>, is_end: bool) -> bool {
        let Self { anchor, seen, stack, .. } = self;
        let nfa = anchor.nfa();
        stack.clear();
        stack.push(from.state);
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match nfa.state(id) {
                State::Match { .. } => return true,
                State::Capture { next, .. } => stack.push(*next),
                State::Union { alternates } => stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => stack.extend([*alt2, *alt1]),
                State::Look { look: Look::Start, next } if at == 0 => stack.push(*next),
                State::Look { look: Look::Start, .. } | State::Fail => {}
                State::Look { next, .. } if is_end => stack.push(*next),
                State::Look { .. }
                | State::ByteRange { .. }
                | State::Sparse(_)
                | State::Dense(_) => out.push(Thread { state: id, ..from }),
            }
        }
        false
    }
}

/// A set of states that is quick to clear.
#[derive(Clone, Debug)]
struct Seen {
    marks: Vec<u32>,
    now: u32,
}

impl Seen {
    fn new(states: usize) -> Self {
        Self { marks: vec![0; states], now: 1 }
    }

    fn clear(&mut self) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.marks.fill(0);
            self.now = 1;
        }
    }

    fn insert(&mut self, state: StateID) -> bool {
        std::mem::replace(&mut self.marks[state.as_usize()], self.now) != self.now
    }
}

/// Returns the end of the last match in a text.
pub(super) fn last_end(anchor: &Anchor, text: &str) -> Option<usize> {
    let mut scan = Scan::new(anchor);
    let (mut at, mut last) = (0, None);
    while at < text.len() {
        scan.step(text.as_bytes()[at], at);
        at += 1;
        if at == text.len() {
            scan.finish(at);
        }
        if let Some(found) = scan.resolved() {
            last = Some(found.end);
            at = found.end.max(found.start + 1);
            scan.restart();
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::super::anchor::Anchor;
    use super::{Match, Scan, last_end};

    fn first(source: &str, text: &str) -> Option<(usize, usize)> {
        let mut scan = Scan::new(&Anchor::pattern(source).unwrap());
        for (at, byte) in text.bytes().enumerate() {
            scan.step(byte, at);
        }
        scan.finish(text.len());
        scan.resolved().map(|Match { start, end }| (start, end))
    }

    #[test]
    fn the_preferred_match_is_found() {
        let cases = [
            ("ab|a", "xab", Some((1, 3))),
            ("a|ab", "xab", Some((1, 2))),
            ("a.*?b", "xaxxbb", Some((1, 5))),
            ("a.*b", "xaxxbb", Some((1, 6))),
            ("a.*b", "xaxx", None),
            ("aab", "aaab", Some((1, 4))),
            (r"b\Z", "abcb", Some((3, 4))),
            (r"x|\Z", "ab", Some((2, 2))),
            ("^b", "ab", None),
            ("^a", "ab", Some((0, 1))),
            ("(?:^|a)", "ab", Some((0, 0))),
            ("(?:a|^)", "ab", Some((0, 1))),
            ("(?:b|^)", "ab", Some((0, 0))),
            (r"<\w+>", "<é<ü>", Some((3, 7))),
            ("a+", "baaac", Some((1, 4))),
            ("(?:a|b|ab)(?:c|bcd)", "abcd", Some((0, 4))),
        ];
        for (source, text, expected) in cases {
            assert_eq!(first(source, text), expected, "{source} in {text}");
        }
    }

    #[test]
    fn the_last_match_ends_a_prompt() {
        let anchor = Anchor::pattern("<a>\n?").unwrap();
        assert_eq!(last_end(&anchor, "<a>\nb<a>"), Some(8));
        assert_eq!(last_end(&anchor, "<a>\n<a"), Some(4));
        assert_eq!(last_end(&anchor, ""), None);
    }
}
