//! Splits text into regions by their anchors.
//!
//! Outside of explicit regions, all anchors that open one are searched for, and inside only the one
//! that closes it. The earliest match counts, and of those the longest. All searches advance
//! together and stop as soon as a match is certain, so chunks do not change the result.

use std::sync::Arc;

use super::scan::{Match, Scan};
use super::spec::Spec;

/// How a region ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// With its anchor.
    Anchor,
    /// Where the next region opens.
    Boundary,
    /// At the end of the text.
    EndOfText,
}

/// Named groups of anchors.
pub(super) type Captures = Vec<(String, String)>;

/// Receives regions. Places are bytes since the beginning.
pub(super) trait Receiver {
    /// An explicit region opens. Before, and after each close, the implicit region is open.
    fn open(&mut self, field: usize, captures: Captures, found: Match);
    /// Text of the current region.
    fn text(&mut self, text: &str, at: usize);
    /// The current region ends.
    fn close(&mut self, captures: Captures, end: usize, how: Close);
    /// Text that could become an anchor is too long for one.
    fn too_long(&mut self, start: usize, end: usize);
}

/// The anchors that are searched for in one place.
#[derive(Clone, Debug)]
struct Watch {
    scans: Vec<Watched>,
    /// The bytes that one of them can begin with.
    first: [bool; 256],
}

#[derive(Clone, Debug)]
struct Watched {
    /// The field that opens; `None` closes the current region.
    opens: Option<usize>,
    scan: Scan,
}

impl Watch {
    fn new(scans: Vec<Watched>) -> Self {
        let begins = |byte: u8| scans.iter().any(|it| it.scan.anchor().begins_with(byte));
        let first = std::array::from_fn(|byte| begins(byte as u8));
        Self { scans, first }
    }

    /// Returns the match that is certain to be the next one.
    fn decided(&self) -> Option<Step> {
        let resolved = self.scans.iter().filter_map(|it| Some((it.scan.resolved()?, it.opens)));
        // Of several equal ones, the first counts: they are in the order of the names of fields.
        let best = resolved.min_by_key(|(found, opens)| {
            (found.start, std::cmp::Reverse(found.end), opens.is_none())
        })?;
        let is_first = |it: &Watched| {
            it.scan.resolved().is_some() || it.scan.pending().is_none_or(|at| at > best.0.start)
        };
        self.scans.iter().all(is_first).then_some(Step::Commit(best.0, best.1))
    }

    fn hold(&self, at: usize) -> usize {
        self.scans.iter().filter_map(|it| it.scan.pending()).fold(at, usize::min)
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An anchor, and the field that it opens.
    Commit(Match, Option<usize>),
    /// Text that is too long to be an anchor begins here.
    TooLong(usize),
}

/// The machine.
#[derive(Clone, Debug)]
pub(super) struct Regions {
    spec: Arc<Spec>,
    outside: Watch,
    inside: Vec<Watch>,
    /// The explicit region that is open.
    current: Option<usize>,
    /// Text that contains what is not passed on yet.
    buffer: String,
    /// How much of the buffer is passed on. It is removed once per chunk, so that many regions in a
    /// large chunk cost no more than its length.
    passed: usize,
    /// Where the rest of the buffer begins.
    base: usize,
    /// Where the search is.
    at: usize,
    /// The maximum length of an anchor.
    most: usize,
    #[cfg(test)]
    bytes_read: usize,
}

impl Regions {
    pub(super) fn new(spec: &Arc<Spec>, most: usize) -> Self {
        let mut outside = Vec::new();
        let mut order: Vec<usize> = (0..spec.fields.len()).collect();
        order.sort_by_key(|at| &spec.fields[*at].name);
        for at in order {
            if let Some(open) = &spec.fields[at].open {
                outside.push(Watched { opens: Some(at), scan: Scan::new(open) });
            }
        }
        let closing = |close| Watched { opens: None, scan: Scan::new(close) };
        if let Some(close) = spec.implicit.and_then(|at| spec.fields[at].close.as_ref()) {
            outside.push(closing(close));
        }
        let inside = spec.fields.iter().map(|field| {
            let close = field.close.iter().filter(|_| field.open.is_some());
            Watch::new(close.map(closing).collect())
        });
        Self {
            spec: Arc::clone(spec),
            outside: Watch::new(outside),
            inside: inside.collect(),
            current: None,
            buffer: String::new(),
            passed: 0,
            base: 0,
            at: 0,
            most,
            #[cfg(test)]
            bytes_read: 0,
        }
    }

    /// Opens a region without an anchor.
    pub(super) fn enter(&mut self, field: usize) {
        self.current = Some(field);
    }

    /// Reads text.
    pub(super) fn feed(&mut self, text: &str, receiver: &mut impl Receiver) {
        self.buffer.push_str(text);
        while let Some(step) = self.search() {
            self.take(step, receiver);
        }
        let at = self.at;
        let hold = self.watch().hold(at);
        self.pass(hold, receiver);
        self.buffer.drain(..std::mem::take(&mut self.passed));
    }

    /// The text that is not passed on yet.
    fn rest(&self) -> &str {
        &self.buffer[self.passed..]
    }

    /// Removes the text before a place.
    fn remove(&mut self, to: usize) {
        self.passed += to - self.base;
        self.base = to;
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, receiver: &mut impl Receiver) {
        let end = self.base + self.rest().len();
        loop {
            let step = self.search().or_else(|| {
                self.watch().scans.iter_mut().for_each(|it| it.scan.finish(end));
                self.watch().decided()
            });
            let Some(step) = step else { break };
            let was_outside = self.current.is_none();
            self.take(step, receiver);
            // The close of the implicit region matches at the end of the text as often as it is
            // searched for.
            if let Step::Commit(found, None) = step
                && was_outside
                && found.start == found.end
            {
                return;
            }
        }
        self.pass(end, receiver);
        receiver.close(Vec::new(), end, Close::EndOfText);
    }

    fn take(&mut self, step: Step, receiver: &mut impl Receiver) {
        match step {
            Step::Commit(found, opens) => self.commit(found, opens, receiver),
            Step::TooLong(start) => {
                self.pass(start, receiver);
                receiver.too_long(start, self.at);
            }
        }
    }

    fn watch(&mut self) -> &mut Watch {
        match self.current {
            Some(field) => &mut self.inside[field],
            None => &mut self.outside,
        }
    }

    /// Searches until a match is certain, or to the end of the buffer.
    fn search(&mut self) -> Option<Step> {
        let Self { outside, inside, current, buffer, passed, base, at, most, .. } = self;
        let watch = match current {
            Some(field) => &mut inside[*field],
            None => outside,
        };
        let bytes = &buffer.as_bytes()[*passed..];
        while let Some(byte) = bytes.get(*at - *base) {
            // At the beginning, an anchor can match without text.
            if *at > 0 && watch.scans.iter().all(|it| it.scan.is_idle()) {
                let rest = &bytes[*at - *base..];
                match rest.iter().position(|byte| watch.first[usize::from(*byte)]) {
                    Some(0) => {}
                    Some(skipped) => {
                        *at += skipped;
                        continue;
                    }
                    None => {
                        *at += rest.len();
                        break;
                    }
                }
            }
            watch.scans.iter_mut().for_each(|it| it.scan.step(*byte, *at));
            #[cfg(test)]
            {
                self.bytes_read += 1;
            }
            *at += 1;
            let bound = |it: &mut Watched| it.scan.bound(*at, *most);
            if let Some(start) = watch.scans.iter_mut().filter_map(bound).min() {
                return Some(Step::TooLong(start));
            }
            if let Some(step) = watch.decided() {
                return Some(step);
            }
        }
        None
    }

    /// Passes on the text before a place.
    fn pass(&mut self, to: usize, receiver: &mut impl Receiver) {
        let text = &self.rest()[..to - self.base];
        if !text.is_empty() {
            receiver.text(text, self.base);
            self.remove(to);
        }
    }

    /// Applies a match.
    fn commit(&mut self, found: Match, opens: Option<usize>, receiver: &mut impl Receiver) {
        self.pass(found.start, receiver);
        let spelled = &self.rest()[found.start - self.base..found.end - self.base];
        let field = opens.or(self.current).or(self.spec.implicit);
        let field = field.map(|at| &self.spec.fields[at]);
        let anchor =
            field.and_then(|it| if opens.is_some() { it.open.as_ref() } else { it.close.as_ref() });
        let captures = anchor.map(|anchor| anchor.captures(spelled)).unwrap_or_default();
        match opens {
            Some(opens) => {
                receiver.close(Vec::new(), found.start, Close::Boundary);
                receiver.open(opens, captures, found);
            }
            None => receiver.close(captures, found.end, Close::Anchor),
        }
        if found.start == found.end {
            // An anchor without text matches once.
            let same = self.outside.scans.iter_mut().filter(|it| it.opens == opens);
            same.for_each(|it| it.scan.exclude(found.end + 1));
        }
        self.current = opens;
        self.remove(found.end);
        self.at = found.end;
        self.watch().scans.iter_mut().for_each(|it| it.scan.restart());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::load::load;
    use super::super::scan::MOST_GROWTH;
    use super::{Captures, Close, Match, Receiver, Regions};

    struct Ignore;

    impl Receiver for Ignore {
        fn open(&mut self, _field: usize, _captures: Captures, _found: Match) {}
        fn text(&mut self, _text: &str, _at: usize) {}
        fn close(&mut self, _captures: Captures, _end: usize, _how: Close) {}
        fn too_long(&mut self, _start: usize, _end: usize) {}
    }

    /// How many bytes a search reads, in a text that comes in chunks.
    fn bytes_read(open: &str, close: &str, text: &str, chunk: usize) -> usize {
        let json = format!(
            r#"{{"fields": {{"thinking": {{"open_pattern": "{open}", "close": "{close}"}}, "content": {{}}}}}}"#
        );
        let mut regions = Regions::new(&Arc::new(load(&json).unwrap()), 1 << 10);
        for start in (0..text.len()).step_by(chunk) {
            regions.feed(&text[start..text.len().min(start + chunk)], &mut Ignore);
        }
        regions.finish(&mut Ignore);
        regions.bytes_read
    }

    #[test]
    fn each_byte_is_read_a_bounded_number_of_times() {
        let cases = [
            ("<think>", "</think>", "<think"),
            ("<think>", "</think>", "<think>a</think>"),
            ("<(?:<a)*>", "b", "<<a"),
            ("x[a-z]+y", "b", "xa"),
            ("a(?:.*b)?", "c", "ac"),
            ("a(?:.*b)?", "c", "a"),
        ];
        for (open, close, unit) in cases {
            let text = unit.repeat((1 << 15) / unit.len());
            // Only a match that could still grow makes the search read bytes again.
            let most = if open.ends_with(")?") { MOST_GROWTH + 2 } else { 1 };
            for chunk in [7, usize::MAX - text.len()] {
                let read = bytes_read(open, close, &text, chunk);
                assert!(read <= text.len() * most, "{open} in {unit}: {read}");
            }
        }
    }
}
