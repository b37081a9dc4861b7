//! Reads calls that are the whole rest of a turn.
//!
//! Without a token that opens calls, text is a call only if it begins the turn, if it is complete, and
//! if nothing follows it in the turn. Text that can still be a call is withheld until the turn ends.
//! With such a token, other text is a malformed call.

mod json_calls;
mod settle;

use self::json_calls::JsonCalls;
use super::Rules;
use super::reader::{Reader, State};
use crate::grammar::python::{Around, PythonCalls};
use crate::limits::Limits;
use crate::reading::{Keep, Kept, Out};
use crate::rules::CallForm;
use crate::{Control, Span};

/// The most tokens that are kept as text in a string. If the text is no call, they are read again, so
/// this bounds the cost.
const MOST_TOKENS: usize = 32;

/// Text that can be calls.
pub(super) struct Guarded<'a> {
    /// The place of the token that opens the calls, if there is one.
    mark: Option<Span>,
    from: usize,
    /// The text before each token, and the token. Such a token is in a string.
    before: Vec<(Kept<'a>, Control, Span)>,
    /// The text after the last token.
    text: Kept<'a>,
    /// The number of bytes of the text.
    len: usize,
    scanner: Scanner,
    is_empty: bool,
}

/// Decides whether text can be calls, as it arrives.
#[derive(Debug)]
enum Scanner {
    /// Only this number of bytes of white space was read.
    Start(usize),
    /// A bracket and white space were read, after this number of bytes, so that the list can be one
    /// of JSON or of Python.
    Bracket(usize, String),
    Json(JsonCalls),
    Python(Box<PythonCalls>),
    Method(Box<PythonCalls>, &'static str),
}

/// Returns text without the white space at its beginning that JSON and Python skip.
fn without_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\n', '\r', '\t'])
}

/// A complete call in withheld text.
struct GuardedCall {
    name: String,
    /// The place of the arguments.
    place: Span,
    /// The arguments, if they are not written in JSON.
    json: Option<String>,
    /// The end of the call.
    end: usize,
    /// Whether it has the keys of the format, in order.
    is_plain: bool,
}

impl Scanner {
    /// Begins at the first character that is not white space, after `at` bytes of the whole text.
    fn begin(first: char, at: usize, forms: &'static [CallForm], limits: &Limits) -> Option<Self> {
        let python = |around| Box::new(PythonCalls::new(around, limits).at(at));
        let is_list = |form: &CallForm| matches!(form, CallForm::JsonList { .. });
        if first == '[' && forms.iter().any(is_list) {
            return Some(Self::Bracket(at, String::new()));
        }
        forms.iter().find_map(|form| match form {
            CallForm::Json { .. } if first == '{' => Some(Self::Json(JsonCalls::new(form))),
            CallForm::Python if first == '[' => Some(Self::Python(python(Around::Brackets))),
            CallForm::PythonLines if first.is_alphabetic() || first == '_' => {
                Some(Self::Python(python(Around::Lines)))
            }
            CallForm::Method(method) if first.is_alphabetic() || first == '_' => {
                Some(Self::Method(python(Around::Nothing), method))
            }
            _ => None,
        })
    }

    /// Begins a list whose first character after the bracket is `next`.
    fn list(next: char, at: usize, forms: &'static [CallForm], limits: &Limits) -> Option<Self> {
        forms.iter().find_map(|form| match form {
            CallForm::JsonList { .. } if next == '{' => Some(Self::Json(JsonCalls::new(form))),
            CallForm::Python if next != '{' => {
                let python = PythonCalls::new(Around::Brackets, limits).at(at);
                Some(Self::Python(Box::new(python)))
            }
            _ => None,
        })
    }

    /// Reads more text. Returns the number of bytes before the first character with which the text
    /// cannot be calls.
    fn push(
        &mut self,
        text: &str,
        forms: &'static [CallForm],
        limits: &Limits,
    ) -> Result<(), usize> {
        if let Self::Start(blank) = self {
            let rest = without_space(text);
            let Some(first) = rest.chars().next() else {
                *blank += text.len();
                return Ok(());
            };
            *self = Self::begin(first, *blank, forms, limits).ok_or(text.len() - rest.len())?;
        }
        if let Self::Bracket(at, before) = self {
            let len = before.len();
            let new = match len {
                0 => without_space(text).get(1..).unwrap_or_default(),
                _ => text,
            };
            let rest = without_space(new);
            let place = text.len() - rest.len();
            before.push_str(text);
            let Some(next) = rest.chars().next() else { return Ok(()) };
            let (at, text) = (*at, std::mem::take(before));
            *self = Self::list(next, at, forms, limits).ok_or(place)?;
            return self.push(&text, forms, limits).map_err(|at| at.saturating_sub(len));
        }
        match self {
            Self::Start(_) | Self::Bracket(..) => Ok(()),
            Self::Json(json) => json.push(text),
            Self::Python(python) | Self::Method(python, _) => python.push(text),
        }
    }

    fn is_in_string(&self) -> bool {
        match self {
            Self::Start(_) | Self::Bracket(..) => false,
            Self::Json(json) => json.is_in_string(),
            Self::Python(python) | Self::Method(python, _) => python.is_in_string(),
        }
    }

    /// Returns the calls of the whole text, if it is complete.
    fn calls(self, text: &str, limits: &Limits) -> Option<Vec<GuardedCall>> {
        let (python, method) = match self {
            Self::Start(_) | Self::Bracket(..) => return None,
            Self::Json(json) => return json.calls(text, limits),
            Self::Python(python) => (python, None),
            Self::Method(python, method) => (python, Some(method)),
        };
        let calls = python.into_calls()?.into_iter().map(|call| {
            let name = match method {
                Some(method) => call.name.strip_suffix(method)?.strip_suffix('.')?.to_owned(),
                None => call.name,
            };
            let json = Some(call.arguments);
            let (place, end) = (call.place, call.place.end + 1);
            (!name.is_empty()).then_some(GuardedCall { name, place, json, end, is_plain: true })
        });
        calls.collect()
    }
}

impl<'a> Guarded<'a> {
    fn new(mark: Option<Span>, from: usize) -> Self {
        Self {
            mark,
            from,
            before: Vec::new(),
            text: Kept::default(),
            len: 0,
            scanner: Scanner::Start(0),
            is_empty: true,
        }
    }

    /// Returns the beginning of its text, or of the token before it.
    pub(super) fn from(&self) -> usize {
        self.from
    }

    fn forms(&self, rules: &Rules) -> &'static [CallForm] {
        let guard = rules.sections.calls.guard;
        guard.map_or(&[], |guard| if self.mark.is_some() { guard.marked } else { guard.bare })
    }

    fn keep(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        self.is_empty &= text.trim_ascii().is_empty();
        self.len += text.len();
        self.text.push(text, span, keep);
    }

    /// Returns the whole text, with the spelling of its tokens.
    fn whole(&self, rules: &Rules) -> String {
        let mut whole = String::with_capacity(self.len);
        for (text, control, _) in &self.before {
            whole.push_str(text.as_str());
            whole.push_str(rules.spelling(*control));
        }
        whole.push_str(self.text.as_str());
        whole
    }

    /// Returns the place of the whole text.
    fn span(&self) -> Span {
        let end = match (self.before.last(), self.text.is_empty()) {
            (_, false) => self.text.span().end,
            (Some((.., token)), true) => token.end,
            (None, true) => self.from,
        };
        let start = match self.before.first() {
            Some((text, _, token)) if text.is_empty() => token.start,
            Some((text, ..)) => text.span().start,
            None if self.text.is_empty() => end,
            None => self.text.span().start,
        };
        Span::new(start, end)
    }
}

impl<'a> Reader<'a> {
    /// Begins text after the token at `span` that opens calls.
    pub(super) fn begin_marked_calls(&mut self, span: Span) {
        self.pad = 0;
        self.state = State::Guarded(Box::new(Guarded::new(Some(span), span.start)));
    }

    /// Reads text that can be calls.
    pub(super) fn guarded_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let rules = self.rules;
        let State::Guarded(guarded) = &mut self.state else { return };
        let forms = guarded.forms(rules);
        let limits = &out.options.limits;
        let room = text.floor_char_boundary(limits.message_bytes.saturating_sub(guarded.len));
        let scanned = guarded.scanner.push(&text[..room], forms, limits);
        let (len, is_long) = match scanned {
            Err(at) => (at, false),
            Ok(()) => (room, room < text.len()),
        };
        if scanned.is_ok() && !is_long {
            return guarded.keep(text, span, out.keep);
        }
        if guarded.mark.is_none() {
            guarded.keep(text, span, out.keep);
            return self.speak_guarded(out);
        }
        let place = super::calls::place_in(text, span, len);
        guarded.keep(&text[..len], Span::new(span.start, place), out.keep);
        self.break_guarded(out);
        self.broken_call(&text[len..], Span::new(place, span.end), is_long, out);
    }

    /// Whether a token is kept as text here: in a string, unless it ends the turn.
    pub(super) fn is_held(&self, control: Control) -> bool {
        let State::Guarded(guarded) = &self.state else { return false };
        let ends = control == Control::Eos
            || self.rules.is_other_end(control)
            || self
                .rules
                .turns
                .iter()
                .any(|turn| turn.close.is_some_and(|it| it.control == control));
        !ends && guarded.before.len() < MOST_TOKENS && guarded.scanner.is_in_string()
    }

    /// Keeps a token as text in a string.
    pub(super) fn hold(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let spelling = self.rules.spelling(control);
        let State::Guarded(guarded) = &mut self.state else { return };
        let forms = guarded.forms(self.rules);
        if guarded.scanner.push(spelling, forms, &out.options.limits).is_err() {
            // The spelling of a token ends no string.
            return;
        }
        guarded.len += spelling.len();
        guarded.before.push((std::mem::take(&mut guarded.text), control, span));
    }
}
