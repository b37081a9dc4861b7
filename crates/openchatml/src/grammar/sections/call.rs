//! One tool call, read as it arrives.

use super::{Piece, Rules};
use crate::Control;
use crate::Span;
use crate::grammar::brackets::Brackets;
use crate::json::Json;
use crate::limits::Limits;
use crate::reading::{Draft, Keep, Kept};

/// A call that is being read.
pub(super) struct Call<'a> {
    /// Where the token that opens it stands.
    pub(super) from: usize,
    /// The piece that is being read, and how much of it.
    piece: usize,
    matched: usize,
    step: Step,
    /// What arrived of it before its arguments.
    pub(super) head: Kept<'a>,
    name: String,
    /// The call, once its name is known.
    pub(super) draft: Option<Box<Draft<'a>>>,
    /// Whether the space before its arguments was read.
    is_spaced: bool,
    /// The text of it that is no part of a call.
    pub(super) dropped: Option<Span>,
    /// Whether it has such text.
    pub(super) is_odd: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// In what stands before the arguments.
    Head,
    /// In the name, a string of JSON; whether the next byte is escaped.
    Name(bool),
    Arguments(Brackets),
    /// Behind the arguments.
    Tail,
    /// In keys that a call does not have.
    Other(Brackets),
    /// In an object whose keys stand in another order: all of it is needed.
    Object(Brackets),
}

/// What the next bytes of a call are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This many bytes belong to what stands before the arguments.
    Head(usize),
    /// After this many, the arguments begin.
    Begins(usize),
    /// This many bytes are arguments.
    Arguments(usize),
    /// This many bytes stand behind the arguments.
    Tail(usize),
    /// This many bytes are no part of a call, and are dropped.
    Dropped(usize),
    /// After this many, an object whose keys stand in another order is complete.
    Object(usize),
    /// After this many, the call cannot go on like this.
    Wrong(usize),
}

/// The parts of a call whose keys stand in another order.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) arguments: Span,
    /// Whether it has keys that a call does not have.
    pub(super) has_others: bool,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl<'a> Call<'a> {
    pub(super) fn new(from: usize) -> Self {
        Self {
            from,
            piece: 0,
            matched: 0,
            step: Step::Head,
            head: Kept::default(),
            name: String::new(),
            draft: None,
            is_spaced: false,
            dropped: None,
            is_odd: false,
        }
    }

    /// Whether a control token is text here: it stands in a string of JSON.
    pub(super) fn is_in_string(&self) -> bool {
        match self.step {
            Step::Arguments(brackets) | Step::Other(brackets) | Step::Object(brackets) => {
                brackets.is_in_string()
            }
            Step::Name(_) => true,
            Step::Head | Step::Tail => false,
        }
    }

    /// Whether the arguments are being read, or are complete.
    pub(super) fn has_arguments(&self) -> bool {
        matches!(self.step, Step::Arguments(_) | Step::Tail | Step::Other(_))
    }

    /// Whether the call has all its pieces.
    pub(super) fn is_whole(&self, rules: &Rules) -> bool {
        match self.step {
            Step::Tail => self.piece == rules.sections.calls.pieces.len(),
            // Arguments that nothing follows end where the call does.
            Step::Arguments(brackets) => {
                brackets.are_closed() && self.piece + 1 == rules.sections.calls.pieces.len()
            }
            _ => false,
        }
    }

    /// An object whose keys stood in another order was all of it.
    pub(super) fn complete(&mut self, rules: &Rules) {
        self.step = Step::Tail;
        self.piece = rules.sections.calls.pieces.len();
    }

    /// The name of the tool.
    pub(super) fn take_name(&mut self) -> String {
        std::mem::take(&mut self.name)
    }

    /// Keeps what stands before the arguments.
    pub(super) fn keep(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        self.head.push(text, span, keep);
    }

    /// Takes note of text that is no part of a call.
    pub(super) fn drop_text(&mut self, span: Span) {
        self.is_odd = true;
        let dropped = self.dropped.get_or_insert(span);
        dropped.end = span.end;
    }

    /// Reads on: what the bytes at the front of `text` are.
    pub(super) fn next(&mut self, text: &str, rules: &Rules) -> Found {
        match self.step {
            Step::Head | Step::Name(_) => self.read_head(text, rules),
            Step::Arguments(_) => self.arguments(text, rules),
            Step::Tail => self.tail(text, rules),
            Step::Other(_) => self.others(text),
            Step::Object(_) => self.object(text),
        }
    }

    fn read_head(&mut self, text: &str, rules: &Rules) -> Found {
        let pieces = rules.sections.calls.pieces;
        for (at, byte) in text.bytes().enumerate() {
            let Some(piece) = pieces.get(self.piece) else { return Found::Wrong(at) };
            match (piece, self.step) {
                (Piece::Name, Step::Name(escaped)) => {
                    let len = self.name_bytes(&text[at..], escaped);
                    return Found::Head(at + len);
                }
                (Piece::Name, _) if is_space(byte) => {}
                (Piece::Name, _) if byte == b'"' => {
                    self.name.clear();
                    self.name.push('"');
                    self.step = Step::Name(false);
                }
                (Piece::NameUpTo(_), _) => {
                    self.name.push_str(&text[at..]);
                    return Found::Head(text.len());
                }
                (Piece::Json(wanted), _) => {
                    if is_space(byte) {
                        continue;
                    }
                    if !self.matches(wanted, byte) {
                        return self.mismatch(at);
                    }
                }
                // One space belongs to what stands before, more are a part of the arguments.
                (Piece::Arguments, _)
                    if byte == b' ' && !self.is_spaced && self.has_space(rules) =>
                {
                    self.is_spaced = true;
                }
                (Piece::Arguments, _) => {
                    self.step = Step::Arguments(Brackets::default());
                    return Found::Begins(at);
                }
                (Piece::Name, _) => return self.mismatch(at),
            }
        }
        Found::Head(text.len())
    }

    /// Whether a space stands before the arguments.
    fn has_space(&self, rules: &Rules) -> bool {
        let before = self.piece.checked_sub(1).and_then(|at| rules.sections.calls.pieces.get(at));
        matches!(before, Some(Piece::Json(text)) if text.ends_with(' '))
    }

    /// Takes the bytes of a name, up to the quote that ends it: how many.
    fn name_bytes(&mut self, text: &str, escaped: bool) -> usize {
        let mut escaped = escaped;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.name.push_str(&text[..=at]);
                    self.step = Step::Head;
                    self.piece += 1;
                    return at + 1;
                }
                _ => {}
            }
        }
        self.name.push_str(text);
        self.step = Step::Name(escaped);
        text.len()
    }

    /// Whether `byte` is the next one of `wanted` that counts.
    fn matches(&mut self, wanted: &str, byte: u8) -> bool {
        let wanted = wanted.as_bytes();
        let skip = |from: usize| {
            let rest = wanted.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| is_space(**byte)).count()
        };
        let at = skip(self.matched);
        if wanted.get(at) != Some(&byte) {
            return false;
        }
        self.matched = skip(at + 1);
        if self.matched >= wanted.len() {
            self.matched = 0;
            self.piece += 1;
        }
        true
    }

    /// What stands here is not the next piece: the keys may stand in another order.
    fn mismatch(&mut self, at: usize) -> Found {
        let began = self.piece > 0 || self.matched > 0;
        if !began {
            return Found::Wrong(at);
        }
        self.step = Step::Object(Brackets::default());
        Found::Head(at)
    }

    /// How many bytes more the limits allow before the arguments.
    pub(super) fn room(&self, limits: &Limits) -> Option<usize> {
        let most = match self.step {
            Step::Head | Step::Name(_) => limits.header_bytes,
            Step::Object(_) => limits.message_bytes,
            Step::Arguments(_) | Step::Tail | Step::Other(_) => return None,
        };
        Some(most.saturating_sub(self.head.len()))
    }

    /// Looks again at what arrived, where the keys stand in another order.
    pub(super) fn begin_again(&mut self) {
        if self.step == Step::Object(Brackets::default()) {
            let mut brackets = Brackets::default();
            for byte in self.head.as_str().bytes() {
                brackets.step(byte);
            }
            self.step = Step::Object(brackets);
        }
    }

    fn arguments(&mut self, text: &str, rules: &Rules) -> Found {
        let Step::Arguments(brackets) = &mut self.step else { return Found::Wrong(0) };
        let is_last = self.piece + 1 == rules.sections.calls.pieces.len();
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            at += brackets.idle_before_comma(&bytes[at..]);
            let Some(byte) = bytes.get(at) else { return Found::Arguments(at) };
            if !is_last && brackets.are_closed() && matches!(byte, b'}' | b',') {
                if *byte == b',' {
                    self.step = Step::Other(Brackets::default());
                    self.is_odd = true;
                } else {
                    self.step = Step::Tail;
                    self.piece += 1;
                }
                return Found::Arguments(at);
            }
            brackets.step(*byte);
            at += 1;
        }
    }

    fn tail(&mut self, text: &str, rules: &Rules) -> Found {
        for (at, byte) in text.bytes().enumerate() {
            if is_space(byte) {
                continue;
            }
            match rules.sections.calls.pieces.get(self.piece) {
                Some(Piece::Json(wanted)) if self.matches(wanted, byte) => {}
                _ if at > 0 => return Found::Tail(at),
                _ => {
                    return Found::Dropped(text.trim_ascii_end().len());
                }
            }
        }
        Found::Tail(text.len())
    }

    /// Keys that a call does not have, up to the brace that ends it.
    fn others(&mut self, text: &str) -> Found {
        let Step::Other(brackets) = &mut self.step else { return Found::Wrong(0) };
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'}' && brackets.are_closed() {
                self.step = Step::Tail;
                self.piece += 1;
                return Found::Dropped(at);
            }
            brackets.step(byte);
        }
        Found::Dropped(text.len())
    }

    fn object(&mut self, text: &str) -> Found {
        let Step::Object(brackets) = &mut self.step else { return Found::Wrong(0) };
        for (at, byte) in text.bytes().enumerate() {
            brackets.step(byte);
            if brackets.are_closed() && byte == b'}' {
                return Found::Object(at + 1);
            }
        }
        Found::Head(text.len())
    }

    /// Takes a control token that is a piece of the call. Whether it is one.
    pub(super) fn control(&mut self, control: Control, rules: &Rules) -> bool {
        let is_next =
            rules.sections.calls.pieces.get(self.piece) == Some(&Piece::NameUpTo(control));
        if !is_next || self.step != Step::Head {
            return false;
        }
        self.piece += 1;
        true
    }

    /// The name of the tool, decoded. `None` if it is empty, or no string.
    pub(super) fn decoded(name: &str, limits: &Limits) -> Option<String> {
        let name = match name.starts_with('"') {
            false => name.trim_ascii().to_owned(),
            true => {
                let mut json = Json::new(name, limits).without_notes();
                json.string().ok()?.0.into_owned()
            }
        };
        (!name.is_empty()).then_some(name)
    }

    /// The parts of a whole object, by the names of its keys.
    pub(super) fn parts(text: &str, rules: &Rules, limits: &Limits) -> Option<Parts> {
        let [name_key, arguments_key] = keys(rules)?;
        let (mut name, mut arguments, mut has_others) = (None, None, false);
        let mut json = Json::new(text, limits).without_notes();
        json.object(|json, key, _| {
            let is_name = key == name_key && name.is_none();
            if is_name && json.peek() == Some(b'"') {
                name = Some(json.string()?.0.into_owned());
                return Ok(());
            }
            json.peek();
            let start = json.position();
            json.skip()?;
            match key == arguments_key && arguments.is_none() {
                true => arguments = Some(Span::new(start, json.position())),
                false => has_others = true,
            }
            Ok(())
        })
        .ok()?;
        let name = name.filter(|name| !name.is_empty())?;
        Some(Parts { name, arguments: arguments?, has_others })
    }
}

/// The keys of the name and of the arguments, where a call is an object.
fn keys(rules: &Rules) -> Option<[&'static str; 2]> {
    let mut texts = rules.sections.calls.pieces.iter().filter_map(|piece| match piece {
        Piece::Json(text) => Some(text.split('"').nth(1)),
        _ => None,
    });
    let keys = [texts.next()??, texts.next()??];
    Some(keys)
}
