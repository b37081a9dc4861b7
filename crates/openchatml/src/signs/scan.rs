//! Scans marked-up text: its version, its beginning, and its framing. The text of messages is
//! skipped.

use crate::lex::{ESCAPE, TokenTable};
use crate::{Control, Span};

/// The maximum number of messages to inspect.
const MOST_MESSAGES: usize = 256;

/// The framing of a text by the tokens of one dialect.
#[derive(Debug)]
pub(crate) struct Scan<'t> {
    pub(crate) text: &'t str,
    controls: &'static TokenTable,
    /// The tokens of all dialects.
    all: &'t [&'static TokenTable],
    /// The version in the header.
    pub(crate) version: Option<(&'t str, Span)>,
    /// The token at the beginning of the text, after a header and white space.
    pub(crate) first: Option<(Control, Span)>,
    /// The first token, if the text is a raw completion.
    pub(crate) completion: Option<(Control, Span)>,
    /// The token that opens a message at the beginning of a later line, if the text does not begin
    /// with a token of any format.
    pub(crate) line: Option<(Control, Span)>,
    /// The tokens of the framing: those that open and end messages, and those in headers.
    pub(crate) tokens: Vec<(Control, Span)>,
    /// The headers of messages, without the token that opens them.
    pub(crate) headers: Vec<Span>,
    /// Whether there is a literal block, in a dialect with literal blocks.
    pub(crate) has_block: bool,
    /// Whether a literal block begins without an end.
    pub(crate) has_open_block: bool,
    /// The text between two messages, and after the last one if it is not empty.
    pub(crate) gaps: Vec<Span>,
    /// Whether a frame ends and another one begins inside a literal block. One format quotes there
    /// what another format reads as messages, and both readings are valid. Only a version decides
    /// which one is right.
    pub(crate) quotes_frames: bool,
}

/// What is known about a text before the scan for the framing of a dialect.
#[derive(Debug)]
pub(crate) struct Around<'t> {
    /// The version in the header.
    version: Option<(&'t str, Span)>,
    /// The end of the header.
    start: usize,
    /// Whether the text begins with a token of any dialect, after a header and white space.
    begins_with_token: bool,
    has_block: bool,
    quotes_frames: bool,
    /// The tokens of all dialects.
    all: Vec<&'static TokenTable>,
}

impl<'t> Around<'t> {
    /// Inspects a text, with the tokens of all dialects.
    pub(crate) fn new(text: &'t str, all: impl Iterator<Item = &'static TokenTable>) -> Self {
        let all: Vec<_> = all.collect();
        // No line of a YAML header begins with `<`.
        let begins = |line: &str| {
            line.starts_with('<') || all.iter().any(|controls| controls.front(line).is_some())
        };
        let version = version(text, begins);
        let start = version.map_or(0, |(_, span)| header_end(text, span.end, begins));
        let rest = text[start..].trim_start();
        let begins_with_token = all.iter().any(|controls| controls.front(rest).is_some());
        let blocks = all.iter().find(|controls| controls.spelling(Control::Literal).is_some());
        let has_block = blocks.is_some_and(|controls| has_block(text, controls));
        let quotes_frames = blocks.is_some_and(|controls| has_block_of_frames(text, controls));
        Self { version, start, begins_with_token, has_block, quotes_frames, all }
    }
}

/// The state of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between messages, since this byte.
    Outside(usize),
    /// In a header, since this byte.
    Header(usize),
    Body,
}

/// How messages are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `START header MESSAGE body END`.
    Frames,
    /// `START header` up to a line break, and `body END`.
    Turns,
    /// `OPEN body CLOSE`, one pair for each role.
    Pairs,
}

impl<'t> Scan<'t> {
    /// Scans a text for the framing of a dialect.
    pub(crate) fn new(
        text: &'t str,
        controls: &'static TokenTable,
        framing: Framing,
        around: &'t Around<'t>,
    ) -> Self {
        let mut scan = Scan {
            text,
            controls,
            all: &around.all,
            version: around.version,
            first: None,
            completion: controls.completion(text).filter(|_| around.version.is_none()),
            line: None,
            tokens: Vec::new(),
            headers: Vec::new(),
            has_block: around.has_block,
            has_open_block: false,
            gaps: Vec::new(),
            quotes_frames: around.quotes_frames,
        };
        scan.begin(around, controls);
        scan.read(around.start, controls, framing);
        scan
    }

    /// Whether the text begins with a token that opens a message only in other dialects. Its
    /// messages can then quote the tokens of this dialect.
    pub(crate) fn opens_elsewhere(&self) -> bool {
        let text = self.text.trim_start();
        let bos = self.controls.spelling(Control::Bos).unwrap_or_default();
        let text = text.strip_prefix(bos).unwrap_or(text).trim_start();
        let is_opened =
            |controls: &TokenTable| controls.front(text).is_some_and(|(control, _)| opens(control));
        self.version.is_none()
            && !is_opened(self.controls)
            && self.all.iter().any(|controls| is_opened(controls))
    }

    /// Returns the spellings of a token in other dialects that open messages in the same way, if
    /// this dialect does not have them.
    pub(crate) fn spelled_elsewhere(&self, control: Control) -> impl Iterator<Item = &'static str> {
        let controls = self.controls;
        let opening = controls.spelling(Control::Start);
        let alike = self.all.iter().filter(move |it| it.spelling(Control::Start) == opening);
        let spellings = alike.filter_map(move |it| it.spelling(control));
        spellings.filter(move |it| controls.spelling(control) != Some(it))
    }

    /// Returns the place of the token at the beginning of the text, if it is this one.
    pub(crate) fn begins_with(&self, control: Control) -> Option<Span> {
        self.first.filter(|(token, _)| *token == control).map(|(_, span)| span)
    }

    /// Returns the place where a later line begins with this token, if no other such token comes
    /// first.
    pub(crate) fn line_begins_with(&self, control: Control) -> Option<Span> {
        self.line.filter(|(token, _)| *token == control).map(|(_, span)| span)
    }

    /// Returns the place of the first token, if the text is a raw completion.
    pub(crate) fn begins_inside(&self) -> Option<Span> {
        self.completion.map(|(_, span)| span)
    }

    /// Returns the text at a place.
    pub(crate) fn at(&self, span: Span) -> &'t str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// Returns the first place of a token of the framing.
    pub(crate) fn token(&self, control: Control) -> Option<Span> {
        self.tokens.iter().find(|(token, _)| *token == control).map(|(_, span)| *span)
    }

    /// Returns the first place where one of these tokens ends a frame: another frame or nothing
    /// follows.
    pub(crate) fn frame_end(&self, spellings: &[&str], start: &str) -> Option<Span> {
        let ends = |span: &Span| {
            let rest = self.text[span.end..].trim_ascii_start();
            rest.is_empty() || rest.starts_with(start)
        };
        let first = |spelling: &&str| {
            let found = memchr::memmem::find_iter(self.text.as_bytes(), spelling.as_bytes());
            found.map(|at| Span::new(at, at + spelling.len())).find(ends)
        };
        spellings.iter().filter_map(first).min_by_key(|span| span.start)
    }

    /// Returns the first header that satisfies the condition.
    pub(crate) fn header(&self, has: impl Fn(&str) -> bool) -> Option<Span> {
        self.headers.iter().find(|span| has(self.at(**span))).copied()
    }

    fn begin(&mut self, around: &Around<'_>, controls: &TokenTable) {
        let (text, start) = (self.text, around.start);
        let at = text.len() - text[start..].trim_start().len();
        // Checked in place: a search would scan the rest of the text for each line.
        let token = |at: usize| {
            let (control, len) = controls.front(&text[at..])?;
            Some((control, Span::new(at, at + len)))
        };
        self.first = token(at);
        let mut lines = text[start..].match_indices('\n').map(|(line, _)| start + line + 1);
        if self.first.is_none() && !around.begins_with_token {
            self.line = lines.find_map(|line| token(line).filter(|(it, _)| opens(*it)));
        }
    }

    fn read(&mut self, start: usize, controls: &TokenTable, framing: Framing) {
        let mut state = match self.first.or(self.completion) {
            Some((control, _)) if !opens(control) && framing == Framing::Frames => {
                State::Header(start)
            }
            _ => State::Outside(start),
        };
        let mut at = start;
        while let Some((found, control, len)) = controls.find(&self.text[at..]) {
            let span = Span::new(at + found, at + found + len);
            at = span.end;
            // One more `<` makes it text, in a format with this escape.
            let is_escaped = self.text.as_bytes()[..span.start].ends_with(&[ESCAPE]);
            // A block without an end is not a block. Then no later block has an end, so the search
            // runs only once.
            let begins_block = state == State::Body && control == Control::Literal && !is_escaped;
            let close = controls.spelling(Control::EndLiteral).unwrap_or_default();
            let block_end = match begins_block && !self.has_open_block {
                true => self.text[at..].find(close).map(|end| at + end + close.len()),
                false => None,
            };
            self.has_open_block |= begins_block && block_end.is_none();
            let is_escaped = is_escaped || begins_block && block_end.is_none();
            state = self.step(state, (control, span), is_escaped, framing);
            at = match (state, control) {
                // The text of a literal block is skipped.
                (State::Body, Control::Literal) if !is_escaped => block_end.unwrap_or(at),
                (State::Body, control) if opens(control) && framing == Framing::Turns => {
                    self.headers.last().map_or(at, |header| header.end.max(at))
                }
                _ => at,
            };
            if self.headers.len() > MOST_MESSAGES || self.tokens.len() > 8 * MOST_MESSAGES {
                return;
            }
        }
        // Tools end what a model has written with a line break.
        let is_of_tool =
            |gap: usize| self.completion.is_some() && self.text[gap..].trim_end().is_empty();
        if let State::Outside(gap) = state
            && gap > start
            && gap < self.text.len()
            && !is_of_tool(gap)
        {
            self.gaps.push(Span::new(gap, self.text.len()));
        }
    }

    /// Handles a token and returns the next state.
    fn step(
        &mut self,
        state: State,
        (control, span): (Control, Span),
        is_escaped: bool,
        framing: Framing,
    ) -> State {
        let is_body = state == State::Body;
        // In a body, only tokens that end it and tokens of sections are relevant.
        let is_framing = !is_escaped
            && (closes(control)
                || is_section(control)
                || control == Control::Literal
                || framing == Framing::Pairs);
        if !is_body || is_framing {
            self.tokens.push((control, span));
        }
        match state {
            State::Outside(gap) if opens(control) => {
                if gap > 0 && self.tokens.len() > 1 {
                    self.gaps.push(Span::new(gap, span.start));
                }
                match framing {
                    Framing::Frames => State::Header(span.end),
                    Framing::Pairs => State::Body,
                    Framing::Turns => {
                        let line = self.text[span.end..].find('\n').map_or(0, |line| line + 1);
                        self.headers.push(Span::new(span.end, span.end + line));
                        State::Body
                    }
                }
            }
            State::Header(header) if control == Control::Message => {
                self.headers.push(Span::new(header, span.end));
                State::Body
            }
            State::Body if closes(control) && !is_escaped => State::Outside(span.end),
            state => state,
        }
    }
}

fn opens(control: Control) -> bool {
    matches!(control, Control::Start | Control::Open(_))
}

fn closes(control: Control) -> bool {
    control.ends_message() || matches!(control, Control::Close(_))
}

fn is_section(control: Control) -> bool {
    matches!(control, Control::OpenSection(_) | Control::CloseSection(_))
}

/// Returns the version in the header and its place. A line that `begins` with a token ends the
/// header.
fn version(text: &str, begins: impl Fn(&str) -> bool) -> Option<(&str, Span)> {
    let mut at = 0;
    for line in text.split_inclusive('\n').take(64) {
        if begins(line) {
            return None;
        }
        if let Some(rest) = line.strip_prefix("version:") {
            let value = rest.split('#').next().unwrap_or_default().trim();
            let value = value.trim_matches(['"', '\'']);
            return Some((value, Span::new(at, at + line.trim_end().len())));
        }
        at += line.len();
    }
    None
}

/// Returns the end of the header whose version ends at byte `from`: where a line `begins` with a
/// token.
fn header_end(text: &str, from: usize, begins: impl Fn(&str) -> bool) -> usize {
    let mut lines = text[from..].match_indices('\n').map(|(line, _)| from + line + 1);
    lines.find(|line| begins(&text[*line..])).unwrap_or(text.len())
}

/// Whether there is a literal block.
fn has_block(text: &str, controls: &TokenTable) -> bool {
    let [open, close] = [Control::Literal, Control::EndLiteral]
        .map(|control| controls.spelling(control).unwrap_or_default());
    text.split_once(open).is_some_and(|(_, rest)| rest.contains(close))
}

/// Whether a literal block contains frames.
fn has_block_of_frames(text: &str, controls: &TokenTable) -> bool {
    let spelled = |control| controls.spelling(control).unwrap_or_default();
    let mut rest = text;
    while let Some((_, block)) = rest.split_once(spelled(Control::Literal)) {
        let Some((mut block, after)) = block.split_once(spelled(Control::EndLiteral)) else {
            break;
        };
        let (mut first, mut last) = (None, None);
        while let Some((at, control, len)) = controls.find(block) {
            first = first.or(Some(control));
            last = Some(control);
            block = &block[at + len..];
        }
        if first.is_some_and(Control::ends_message) && last == Some(Control::Message) {
            return true;
        }
        rest = after;
    }
    false
}
