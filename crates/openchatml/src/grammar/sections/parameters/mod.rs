//! Reads the parameters of a call as they arrive, and writes them as JSON.
//!
//! A raw value has no escapes, so its end depends on what follows: a closing tag ends it only before
//! the next parameter or the end of the call. A closing tag that is missing is implied by the next
//! parameter or the end of the call at the beginning of a line, and by the token that ends the call
//! if nothing else of the turn follows but calls.

mod held;
mod in_value;
mod inside;
mod tags;
mod value;

pub(super) use self::in_value::add_string;
pub(super) use self::value::{
    Parameter, ParameterValue, as_json, may_be_json, parameters, respelled,
};

pub(super) use self::held::Part;

use self::held::Held;
use self::inside::Inside;
use self::value::begin;
use super::attributes::Named;
use super::{Piece, Rules};
use crate::declare::Types;
use crate::grammar::within_limit;
use crate::model::Tool;
use crate::reading::{Draft, Kept, Out};
use crate::rules::{Parameters, Tag};
use crate::{Control, Span};

/// The parameters of a call while they are read.
pub(super) struct Scanner {
    rules: &'static Rules,
    parameters: &'static Parameters,
    /// The text that follows the parameters, if there is one.
    end: Option<Tag>,
    held: Held,
    /// The position of the first byte that is not read.
    at: usize,
    phase: Phase,
    /// The declared tool, by its position in the options.
    tool: Option<usize>,
    /// The type of the value that the attributes of the parameter contain.
    kind: Option<&'static str>,
    /// The types that the parameter can have.
    types: Types,
    /// Whether text that is no part of the call was read last.
    is_odd: bool,
    /// Whether the arguments have a parameter.
    has_any: bool,
    /// The length of the arguments so far.
    len: usize,
    /// Whether everything is written as the writer writes it.
    is_canonical: bool,
    /// What the text of the current value contains.
    inside: Inside,
    /// Why the arguments are uncertain, if they are.
    odd: Option<&'static str>,
    /// Whether a value is a string, and its tool declares another type.
    is_mistyped: bool,
    /// The number of line breaks before the first parameter or the end. Other white space has no
    /// number.
    lines: Option<usize>,
}

const NO_NAME: &str = "a parameter of this call has no name";

#[derive(Debug)]
enum Phase {
    /// Before the next parameter, or the end.
    Between,
    /// In a name, which was searched up to this position.
    Name(usize),
    /// Before the tag that opens a value.
    Gap,
    Value(Value),
}

/// A value while it is read.
#[derive(Debug)]
struct Value {
    /// The number of line breaks that can still belong to the tag before it.
    pad: u8,
    /// The position of its text, which is held as long as it may turn out not to be a string.
    raw: Option<usize>,
    /// Whether its text so far is white space.
    is_blank: bool,
    /// Whether it is empty so far.
    is_empty: bool,
    /// Whether its text ends in a line break.
    ends_line: bool,
    /// How many parameters begin in it and do not end.
    parameters: usize,
    /// How many closing tags are in it that end no parameter in it.
    closed: usize,
    /// How many tags are in it that are like one that opens a parameter, and are not closed.
    similar: usize,
    /// Whether its text ends in a closing tag.
    ends_closed: bool,
    /// The position up to which no tag was found.
    search: usize,
    /// The position after the white space behind a tag that may end it.
    behind: usize,
}

/// Whether a tag is at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// Up to this position.
    To(usize),
    No,
    /// It depends on what follows.
    Open,
}

/// The end of a name.
enum NameEnd {
    /// It is at `end`, and the text after its tag at `behind`. `types` are those that the tag names.
    At { end: usize, behind: usize, types: Option<Types> },
    /// It is not found yet. The name goes on at least up to `end`, and must be searched again from
    /// `searched` on.
    Open { end: usize, searched: usize },
}

impl NameEnd {
    fn end(&self) -> usize {
        match self {
            Self::At { end, .. } | Self::Open { end, .. } => *end,
        }
    }
}

/// The result of reading a part.
enum Step {
    Next,
    /// More text is needed.
    Wait,
    /// The parameters are complete.
    End,
}

/// The receiver of what is read.
pub(super) struct To<'t, 'a, 'o> {
    pub(super) draft: &'t mut Draft<'a>,
    pub(super) dropped: &'t mut Kept<'a>,
    pub(super) out: &'t mut Out<'a, 'o>,
}

impl Scanner {
    /// Creates the reader of the parameters of a tool, which is named without its namespace.
    pub(super) fn new(
        rules: &'static Rules,
        parameters: &'static Parameters,
        name: &str,
        out: &Out<'_, '_>,
    ) -> Self {
        let mut pieces = rules.sections.calls.pieces.iter();
        pieces.find(|piece| matches!(piece, Piece::Parameters(_)));
        let end = pieces.next().and_then(|piece| match piece {
            Piece::Word(text) => Some(Tag::Text(text)),
            _ => None,
        });
        Self {
            rules,
            parameters,
            end,
            held: Held::default(),
            at: 0,
            phase: Phase::Between,
            tool: out.options.tools.iter().position(|tool| tool.name == name),
            kind: None,
            types: Types::ANY,
            is_odd: false,
            has_any: false,
            len: 0,
            is_canonical: true,
            inside: Inside::new(rules, parameters),
            odd: None,
            is_mistyped: false,
            lines: Some(0),
        }
    }

    /// Adds text, or a token.
    pub(super) fn push(&mut self, text: &str, span: Span, control: Option<Control>) {
        self.held.push(text, span, control);
    }

    /// Removes the last token.
    pub(super) fn pop(&mut self) {
        self.held.pop();
    }

    /// Whether a token can be read here. Another one interrupts the call.
    pub(super) fn takes(&self, control: Control) -> bool {
        let is = |tag: &Tag| matches!(tag, Tag::Token(mark) if mark.control == control);
        match self.phase {
            Phase::Between => is(&self.parameters.open) || control == self.close(),
            Phase::Name(_) => control != self.close(),
            Phase::Gap => self.parameters.value.as_ref().is_some_and(is),
            Phase::Value(_) => true,
        }
    }

    /// Whether the next token can show that the end of the call was read.
    pub(super) fn has_open_end(&self) -> bool {
        matches!(self.phase, Phase::Value(_)) && self.held.next_control(self.at).is_some()
    }

    /// Why the parameters are uncertain, if they are.
    pub(super) fn odd(&self) -> Option<&'static str> {
        self.odd
    }

    /// Whether a value is a string, and its tool declares another type.
    pub(super) fn is_mistyped(&self) -> bool {
        self.is_mistyped
    }

    /// Whether the parameters are written as the writer writes them.
    pub(super) fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    /// Whether the text that ends the call is missing.
    pub(super) fn lacks_end(&self) -> bool {
        self.end.is_some() && self.held.control(self.at).is_some()
    }

    /// Takes what follows the parameters, and its place.
    pub(super) fn rest(&mut self) -> (usize, Vec<Part>) {
        (self.held.place(self.at), self.held.take(self.at))
    }

    /// Reads what is held. Returns whether the parameters are complete.
    pub(super) fn read(&mut self, to: &mut To<'_, '_, '_>) -> bool {
        while to.out.state.stopped.is_none() {
            let step = match self.phase {
                Phase::Between => self.between(to),
                Phase::Name(_) => self.name(to),
                Phase::Gap => self.gap(to),
                Phase::Value(_) => self.value(to),
            };
            match step {
                Step::Next => {}
                Step::Wait => {
                    self.held.drop_before(self.raw().unwrap_or(self.at));
                    return false;
                }
                Step::End => return true,
            }
        }
        false
    }

    /// The position of the value, if it may turn out not to be a string.
    fn raw(&self) -> Option<usize> {
        match &self.phase {
            Phase::Value(value) => value.raw,
            _ => None,
        }
    }

    /// Adds text to the arguments, which the input expresses differently at this position.
    fn insert(&mut self, text: &str, at: usize, to: &mut To<'_, '_, '_>) {
        self.len += text.len();
        to.draft.insert(text, Span::at(self.held.place(at)), to.out);
    }

    /// Reads what is held as the end of an incomplete call.
    pub(super) fn cut(&mut self, to: &mut To<'_, '_, '_>) {
        let end = self.held.end();
        match self.phase {
            Phase::Value(_) => {
                self.value_text(end, true, to);
                if let Some(raw) = self.raw() {
                    self.begin_string(raw, to);
                }
            }
            _ => self.drop_text(end, to),
        }
    }

    fn between(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        if self.is_odd {
            let next = self.next_tag(self.at);
            self.drop_text(next.unwrap_or(self.held.end()), to);
            if to.out.state.stopped.is_some() {
                return Step::Wait;
            }
        } else if self.skip_space(self.at) > self.at {
            let end = self.skip_space(self.at);
            let is_lines = self.held.slice(self.at..end).bytes().all(|byte| byte == b'\n');
            self.lines = self.lines.filter(|_| is_lines).map(|lines| lines + (end - self.at));
            self.at = end;
        }
        let open = self.tag(&self.parameters.open, self.at);
        if let Match::To(at) = open {
            (self.at, self.is_odd) = (at, false);
            self.phase = Phase::Name(at);
            self.is_canonical &= self.lines == Some(0);
            self.lines = Some(0);
            return Step::Next;
        }
        let end = self.end_tag(self.at);
        if let Match::To(_) = end {
            let close = if self.has_any { "}" } else { "{}" };
            self.insert(close, self.at, to);
            let lines = if self.has_any { 0 } else { self.parameters.empty };
            self.is_canonical &= !self.lacks_end() && self.lines == Some(lines.into());
            return Step::End;
        }
        if open == Match::Open || end == Match::Open {
            return Step::Wait;
        }
        self.is_odd = true;
        let next = self.next_tag(self.at + 1);
        self.drop_text(next.unwrap_or(self.held.end()), to);
        Step::Next
    }

    /// Drops the text up to a position, which is no part of the call.
    fn drop_text(&mut self, end: usize, to: &mut To<'_, '_, '_>) {
        for (text, span) in self.held.pieces(self.at..end) {
            if to.out.state.stopped.is_some() {
                break;
            }
            let (text, span) = within_limit(text, span, to.dropped.len(), to.out);
            to.dropped.push(text, span, to.out.keep);
        }
        self.at = end;
    }

    fn name(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        let Phase::Name(searched) = self.phase else { return Step::Wait };
        let most = to.out.options.limits.value_bytes;
        let found = self.find_name_end(searched..self.held.end());
        let len = found.end() - self.at;
        if len > most {
            // It is no name.
            let rest = self.held.rest(self.at);
            let end = self.at + (most + 1..).find(|at| rest.is_char_boundary(*at)).unwrap_or(len);
            (self.phase, self.is_odd) = (Phase::Between, true);
            self.drop_text(end, to);
            return Step::Next;
        }
        let (end, behind, types) = match found {
            NameEnd::At { end, behind, types } => (end, behind, types),
            NameEnd::Open { searched, .. } => {
                self.phase = Phase::Name(searched.max(self.at));
                return Step::Wait;
            }
        };
        if self.parameters.attributes.is_some() {
            return self.attributes(end, behind, to);
        }
        self.tell(end, to);
        let odd = self.odd_in_name(end, types);
        let name = self.held.slice(self.at..odd.unwrap_or(end));
        let mut text = String::new();
        begin(&mut text, name, !self.has_any);
        let has_name = !name.is_empty();
        self.is_canonical &= types.is_some() == self.parameters.typed.is_some();
        self.types = types.unwrap_or_else(|| self.types_of(name, to));
        if !has_name {
            self.odd.get_or_insert(NO_NAME);
        }
        self.insert(&text, self.at, to);
        if let Some(odd) = odd {
            self.at = odd;
            self.drop_text(end, to);
        }
        (self.has_any, self.at) = (true, behind);
        match self.parameters.value {
            Some(_) => self.phase = Phase::Gap,
            None => self.begin_value(self.parameters.name_end, to),
        }
        Step::Next
    }

    /// Returns the types of the parameter with this name, according to the declared tools.
    fn types_of(&self, name: &str, to: &To<'_, '_, '_>) -> Types {
        Types::of(self.tool(to), name)
    }

    /// Returns the declared tool.
    fn tool<'o>(&self, to: &To<'_, '_, 'o>) -> Option<&'o Tool<'static>> {
        self.tool.and_then(|at| to.out.options.tools.get(at))
    }

    /// Reads the attributes of a parameter, up to `end`, and begins its value at `behind`.
    fn attributes(&mut self, end: usize, behind: usize, to: &mut To<'_, '_, '_>) -> Step {
        let Some(form) = self.parameters.attributes else { return Step::Wait };
        self.tell(end, to);
        let found = Named::read(form, self.held.slice(self.at..end));
        let Some(name) = found.name else {
            // It is no parameter.
            (self.phase, self.is_odd) = (Phase::Between, true);
            self.drop_text(behind, to);
            return Step::Next;
        };
        let mut text = String::new();
        begin(&mut text, &name, !self.has_any);
        if name.is_empty() {
            self.odd.get_or_insert(NO_NAME);
        }
        self.kind = found.kind;
        self.types = found.types.unwrap_or_else(|| self.types_of(&name, to));
        self.is_canonical &= found.is_canonical;
        self.insert(&text, self.at, to);
        if found.is_odd {
            self.drop_text(end, to);
        }
        (self.has_any, self.at) = (true, behind);
        self.begin_value(self.parameters.name_end, to);
        Step::Next
    }

    fn gap(&mut self, to: &mut To<'_, '_, '_>) -> Step {
        let Some(tag) = self.parameters.value else { return Step::Wait };
        if self.is_odd {
            let next = self.held.next_control(self.at);
            self.drop_text(next.unwrap_or(self.held.end()), to);
        }
        let at = self.skip_space(self.at);
        match self.tag(&tag, at) {
            Match::To(behind) => {
                self.is_canonical &= self.is_breaks(self.at..at, self.parameters.name_end);
                (self.at, self.is_odd) = (behind, false);
                self.begin_value(tag, to);
                Step::Next
            }
            Match::Open => Step::Wait,
            Match::No => {
                self.is_odd = true;
                Step::Next
            }
        }
    }
}
