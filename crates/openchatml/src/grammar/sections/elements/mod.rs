//! Reads arguments that are nested elements as they arrive, and writes them as JSON.
//!
//! Each tag begins with a token, so that nothing depends on what follows. A value ends at its own closing
//! tag. Text, tags and calls that are not allowed where they are make the call incomplete, and the rest
//! of the call is dropped. In an element, which then has no end, this is the rest of the turn, with all
//! calls in it.

mod element;
mod value;
mod written;

pub(super) use self::written::{pieces, respelled};

use self::element::{Content, Element};
use super::Rules;
use super::calls::place_in;
use super::parameters::To;
use crate::grammar::within_limit;
use crate::reading::Kept;
use crate::rules::Elements;
use crate::{Control, Section, Span};

/// The arguments of a call while they are read.
pub(super) struct Scanner<'a> {
    rules: &'static Rules,
    form: &'static Elements,
    /// The declared tool, by its position in the options.
    tool: Option<usize>,
    /// The arguments, and the open elements in them, from the outside to the inside.
    open: Vec<Element>,
    phase: Phase,
    /// The place of the token of the tag that is read.
    tag: Span,
    /// The name in this tag so far.
    name: Kept<'a>,
    /// The text of a value that may turn out not to be a string.
    raw: Kept<'a>,
    /// Whether this text is white space.
    is_blank: bool,
    /// The length of the arguments so far.
    len: usize,
    /// Whether everything is written as the writer writes it.
    is_canonical: bool,
    /// Whether a value is a string, and its tool declares another type.
    is_mistyped: bool,
    /// Why the arguments are uncertain, if they are.
    odd: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before an element, or before the end of the elements.
    Between,
    /// In the name of an opening tag.
    Open,
    /// In the text of an element.
    Value,
    /// In the name of a closing tag.
    Close,
    /// After the end of the arguments.
    Done,
    /// After an error outside of all elements. This number of elements is open in what is dropped.
    Wrong(usize),
    /// After an error in an element, which has no end.
    Lost,
}

impl<'a> Scanner<'a> {
    /// Creates the reader of the arguments of a tool, which is named without its namespace. They begin
    /// at byte `at`.
    pub(super) fn new(
        rules: &'static Rules,
        form: &'static Elements,
        name: &str,
        at: usize,
        to: &mut To<'_, 'a, '_>,
    ) -> Self {
        let mut scanner = Self {
            rules,
            form,
            tool: to.out.options.tools.iter().position(|tool| tool.name == name),
            open: vec![Element::arguments()],
            phase: Phase::Between,
            tag: Span::at(at),
            name: Kept::default(),
            raw: Kept::default(),
            is_blank: true,
            len: 0,
            is_canonical: true,
            is_mistyped: false,
            odd: None,
        };
        scanner.insert("{", at, to);
        scanner
    }

    /// Whether the arguments are complete.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Whether what follows is dropped.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(self.phase, Phase::Wrong(_) | Phase::Lost)
    }

    /// Whether they are written as the writer writes them.
    pub(super) fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    /// Whether a value is a string, and its tool declares another type.
    pub(super) fn is_mistyped(&self) -> bool {
        self.is_mistyped
    }

    /// Why the arguments are uncertain, if they are.
    pub(super) fn odd(&self) -> Option<&'static str> {
        self.odd
    }

    /// Reads text.
    pub(super) fn text(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) {
        let mut at = 0;
        while at < text.len() && to.out.state.stopped.is_none() {
            let rest = &text[at..];
            let here = Span::new(place_in(text, span, at), span.end);
            at += match self.phase {
                Phase::Between => {
                    let blank = rest.len() - rest.trim_ascii_start().len();
                    self.is_canonical &= blank == 0;
                    if blank < rest.len() {
                        self.fail(to);
                    }
                    blank
                }
                Phase::Open | Phase::Close => self.name(rest, here, to),
                Phase::Value => self.value_text(rest, here, to),
                Phase::Wrong(_) | Phase::Lost | Phase::Done => {
                    self.drop_text(rest, here, to);
                    rest.len()
                }
            };
        }
    }

    /// Reads a token. Returns whether it was read. Another one ends or interrupts the call.
    pub(super) fn token(&mut self, control: Control, span: Span, to: &mut To<'_, 'a, '_>) -> bool {
        let is_inside = self.open.len() > 1;
        let is_tag = control == self.form.open || control == self.form.close;
        match self.phase {
            Phase::Done => return false,
            Phase::Between | Phase::Value if control == self.form.open && self.may_contain() => {
                (self.phase, self.tag) = (Phase::Open, span);
                return true;
            }
            Phase::Between | Phase::Value if control == self.form.close && is_inside => {
                (self.phase, self.tag) = (Phase::Close, span);
                return true;
            }
            Phase::Value if !is_of_calls(control) => {
                self.value_token(control, span, to);
                return true;
            }
            Phase::Between if !is_inside && !is_tag => {
                if self.rules.sections.calls.closes(control) {
                    self.insert("}", span.start, to);
                    self.phase = Phase::Done;
                }
                return false;
            }
            Phase::Wrong(0) if !is_tag => return false,
            Phase::Wrong(open) if control == self.form.open => self.phase = Phase::Wrong(open + 1),
            Phase::Wrong(open) if control == self.form.close => {
                self.phase = Phase::Wrong(open.saturating_sub(1));
            }
            _ => self.fail(to),
        }
        self.drop_text(self.rules.spelling(control), span, to);
        true
    }

    /// Reads what is left of incomplete arguments.
    pub(super) fn cut(&mut self, to: &mut To<'_, 'a, '_>) {
        if !self.raw.is_empty() {
            self.begin_string(to);
        }
        self.drop_tag(to);
    }

    /// Adds text to the arguments, which the input expresses differently at byte `at`.
    fn insert(&mut self, text: &str, at: usize, to: &mut To<'_, 'a, '_>) {
        self.len += text.len();
        to.draft.insert(text, Span::at(at), to.out);
    }

    fn drop_text(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) {
        if to.out.state.stopped.is_none() {
            let (text, span) = within_limit(text, span, to.dropped.len(), to.out);
            to.dropped.push(text, span, to.out.keep);
        }
    }

    /// Drops the beginning of a tag.
    fn drop_tag(&mut self, to: &mut To<'_, 'a, '_>) {
        let token = match self.phase {
            Phase::Open => self.form.open,
            Phase::Close => self.form.close,
            _ => return,
        };
        self.drop_text(self.rules.spelling(token), self.tag, to);
        let span = self.name.span();
        let name = self.name.take();
        if !name.is_empty() {
            self.drop_text(&name, span, to);
        }
    }

    /// Drops the tag or the value that is read, and everything that follows.
    fn fail(&mut self, to: &mut To<'_, 'a, '_>) {
        let span = self.raw.span();
        let raw = self.raw.take();
        if !raw.is_empty() {
            self.drop_text(&raw, span, to);
        }
        self.drop_tag(to);
        self.phase = match self.phase {
            Phase::Between if self.open.len() == 1 => Phase::Wrong(0),
            _ => Phase::Lost,
        };
    }
}

/// Whether a token is part of calls, so that it is no text of a value.
fn is_of_calls(control: Control) -> bool {
    use Section::{Call, Calls, Key, Unknown, Value};
    matches!(
        control,
        Control::OpenSection(Calls | Call | Key | Value | Unknown)
            | Control::CloseSection(Calls | Call | Key | Value | Unknown)
    )
}
