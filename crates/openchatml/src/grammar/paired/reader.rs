//! The reader of pairs.

use std::collections::VecDeque;

use super::calls::List;
use super::outputs::Scan;
use crate::grammar::rest::Rest;
use crate::grammar::sections::Rules;
use crate::grammar::sections::between::{Kind, Place};
use crate::grammar::sections::layout_tracker::LayoutTracker;
use crate::grammar::sections::reasoning::Thought;
use crate::grammar::{check_speaker, repeated_header, repeated_opening};
use crate::lex::{Lexeme, Lexer};
use crate::model::{Channel, End, Message, Role};
use crate::options::ReadOptions;
use crate::reading::{Draft, Kept, Out};
use crate::{Code, Control, Fix, Section, Span};

/// Reads messages from lexemes.
pub(crate) struct Reader<'a> {
    pub(super) rules: &'static Rules,
    pub(super) state: State<'a>,
    pub(super) layout: LayoutTracker,
    /// Whether the inner section is open.
    pub(super) inner: bool,
    /// What the tokens of this turn say about its inner sections so far.
    pub(super) thought: Thought,
    /// The byte after the last token or list.
    pub(super) behind: usize,
    /// Whether a line break was between two sections, as in the example of the specification.
    pub(super) spaced: bool,
    pub(super) bos: bool,
    /// Whether the beginning of the assistant's turn is missing.
    pub(super) orphan: bool,
    /// Whether a list of calls ended the completion before the end of the turn.
    ends_with_calls: bool,
    /// The tools of the last list of calls that have not replied yet.
    pub(super) waiting: VecDeque<String>,
    /// The assistant, if the text is its completion.
    pub(super) speaks_as: Option<Role>,
    /// The role that a completion continues, before its first lexeme.
    pub(super) continues: Option<Role>,
    /// A finished draft that the next message can reuse.
    spare: Option<Box<Draft<'a>>>,
}

pub(super) enum State<'a> {
    /// Between turns, with the text there.
    Outside(Kept<'a>),
    /// In a message of another role than the assistant, or in a text of the assistant.
    Body(Box<Draft<'a>>),
    /// In the turn of the assistant, after this.
    Turn(After),
    /// In the turn of the assistant, after this and white space. The next text decides what the
    /// white space is. If it is uncertain whether text here is reasoning, also after text, up to the
    /// next token.
    Blank(After, Kept<'a>),
    Calls(Box<List<'a>>),
    /// In a list of replies.
    Outputs(Kept<'a>, Scan),
    /// In uncertain text, which is hidden or dropped.
    Rest(Rest<'a>),
    /// After the turn of the assistant, with its last message.
    Ended(Box<Draft<'a>>, Kept<'a>),
}

/// What precedes a position in the turn of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Start,
    Prefix,
    Suffix,
    Calls,
    Replies,
    /// A complete text.
    Text,
}

impl After {
    /// Returns what precedes the position after a control token, if the token decides that.
    pub(super) fn behind(control: Control) -> Option<Self> {
        match control {
            Control::Open(Role::Assistant) => Some(Self::Start),
            Control::OpenSection(Section::Reasoning) => Some(Self::Prefix),
            Control::CloseSection(Section::Reasoning) => Some(Self::Suffix),
            Control::CloseSection(Section::Calls) => Some(Self::Calls),
            _ => None,
        }
    }

    /// Whether an empty text between this and a control token is a message.
    pub(super) fn says_nothing_before(self, control: Control) -> bool {
        match (self, control) {
            (Self::Prefix, _) => true,
            (Self::Suffix, Control::OpenSection(Section::Calls)) => false,
            (Self::Suffix, _) => true,
            (Self::Start, Control::Close(Role::Assistant) | Control::Open(_)) => true,
            _ => false,
        }
    }

    /// Whether a line break here can be layout.
    pub(super) fn may_break(self) -> bool {
        matches!(self, Self::Suffix | Self::Calls | Self::Replies)
    }

    /// Whether `[` opens a list of replies here, if this number of calls waits for one.
    pub(super) fn takes_replies(self, waiting: usize) -> bool {
        self == Self::Calls || self == Self::Replies && waiting > 0
    }
}

/// Returns the length of the line break at the beginning of a text.
pub(super) fn line_break(text: &str) -> usize {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

/// Whether a text begins like a list of replies.
pub(crate) fn is_list(text: &str) -> bool {
    text.trim_ascii_start().starts_with('[')
}

/// Creates a reader for a dialect.
pub(crate) fn reader<'a>(rules: &'static Rules, options: &ReadOptions) -> Reader<'a> {
    Reader {
        rules,
        state: State::Outside(Kept::default()),
        layout: LayoutTracker::new(rules),
        inner: false,
        thought: Thought::Nothing,
        behind: 0,
        spaced: false,
        bos: false,
        orphan: false,
        ends_with_calls: false,
        waiting: VecDeque::new(),
        speaks_as: options.continues.filter(|role| *role == Role::Assistant),
        continues: options.continues,
        spare: None,
    }
}

impl<'a> crate::reading::Reader<'a> for Reader<'a> {
    fn text(&mut self, lexer: &mut Lexer, text: &mut &str, last: bool, out: &mut Out<'a, '_>) {
        loop {
            self.messages(lexer, text, out);
            let Some(lexeme) = lexer.next(text, last) else { return };
            if out.goes_on(lexeme) {
                self.lexeme(lexeme, out);
            }
        }
    }

    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        self.complete(Some(lexeme), out);
        match lexeme {
            Lexeme::Text(text, span) => self.take(text, span, out),
            Lexeme::Control(control, span) => {
                self.layout.trail.push(control, span, out.keep);
                self.control(control, span, out);
            }
        }
    }

    fn message(&self) -> Option<&Message<'a>> {
        match &self.state {
            State::Body(draft) | State::Ended(draft, _) => Some(&draft.message),
            State::Calls(list) => list.call.as_ref().map(|call| &call.message),
            State::Rest(rest) => rest.message(),
            State::Outside(_) | State::Turn(_) | State::Blank(..) | State::Outputs(..) => None,
        }
    }

    fn body(&mut self) -> Option<&mut Draft<'a>> {
        match &mut self.state {
            State::Body(draft) => Some(draft),
            _ => None,
        }
    }

    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.complete(None, out);
        match out.state.stopped.is_some() {
            true => self.stop(at, out),
            false => self.end_input(at, out),
        }
    }
}

impl<'a> Reader<'a> {
    /// Begins a completion, at its first lexeme.
    fn complete(&mut self, first: Option<Lexeme<'_>>, out: &mut Out<'a, '_>) {
        let Some(role) = self.continues.take() else { return };
        self.bos = true;
        let opens = |control| control == Control::Open(Role::Assistant);
        if role == Role::Assistant
            && let Some(span) = repeated_opening(first, opens)
        {
            return repeated_header(span, out);
        }
        match role {
            Role::Assistant => {
                self.layout.place.last = Some(Kind::Prompt);
                self.state = State::Turn(After::Start);
            }
            role => {
                self.layout.place.last = Some(Kind::Said(role));
                let draft = self.draft(Message::new(role, ""), out);
                self.state = State::Body(draft);
            }
        }
    }

    fn take(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        match &mut self.state {
            State::Body(draft) => draft.push(text, span, out),
            State::Outside(gap) | State::Ended(_, gap) => {
                let (text, span) = crate::grammar::within_limit(text, span, gap.len(), out);
                gap.push(text, span, out.keep);
            }
            State::Turn(after) => {
                let after = *after;
                self.turn(after, text, span, out);
            }
            State::Blank(_, gap) if !self.inner && self.thought.is_uncertain() => {
                let (text, span) = crate::grammar::within_limit(text, span, gap.len(), out);
                gap.push(text, span, out.keep);
            }
            State::Blank(_, gap) => {
                let (blank, rest) = text.split_at(text.len() - text.trim_ascii_start().len());
                let (first, second) = match span.len() == text.len() {
                    true => {
                        let at = span.start + blank.len();
                        (Span::new(span.start, at), Span::new(at, span.end))
                    }
                    false => (span, span),
                };
                // Only the white space is limited: what it is the beginning of has its own limit.
                let (blank, first) = crate::grammar::within_limit(blank, first, gap.len(), out);
                gap.push(blank, first, out.keep);
                if !rest.is_empty() && out.state.stopped.is_none() {
                    gap.push(rest, second, out.keep);
                    self.settle_blank(out);
                }
            }
            State::Calls(_) => self.calls(text, span, out),
            State::Outputs(..) => self.outputs(text, span, out),
            State::Rest(rest) => rest.push(text, span, out),
        }
    }

    /// Reads text in the turn of the assistant, after something.
    pub(super) fn turn(&mut self, after: After, text: &str, span: Span, out: &mut Out<'a, '_>) {
        if !self.inner && self.thought.is_uncertain() {
            self.state = State::Blank(after, Kept::default());
            return self.take(text, span, out);
        }
        let blank = text.len() - text.trim_ascii_start().len();
        // In one text or in several, white space beyond the limit is the same.
        let is_apart = blank == text.len() || blank > out.options.limits.message_bytes;
        if is_apart
            && blank > 0
            && (self.breaks(after, span) || after.takes_replies(self.waiting.len()))
        {
            self.state = State::Blank(after, Kept::default());
            return self.take(text, span, out);
        }
        self.words(after, text, span, out);
    }

    /// Whether a line break here is layout. The example of the specification has line breaks
    /// between sections, but the template does not write them.
    fn breaks(&self, after: After, span: Span) -> bool {
        self.spaced && after.may_break() && span.start == self.behind
    }

    /// Reads text in the turn of the assistant, once enough of it has arrived to decide what it is.
    pub(super) fn words(&mut self, after: After, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let from = |at: usize| match span.len() == text.len() {
            true => Span::new(span.start + at, span.end),
            false => span,
        };
        let list = text.trim_ascii_start();
        if is_list(list) && after.takes_replies(self.waiting.len()) {
            self.state = State::Outputs(Kept::default(), Scan::default());
            return self.outputs(list, from(text.len() - list.len()), out);
        }
        let skipped = if self.breaks(after, span) { line_break(text) } else { 0 };
        let (text, span) = (&text[skipped..], from(skipped));
        if text.is_empty() {
            self.state = State::Turn(after);
            return;
        }
        self.state = State::Body(self.speak(span.start, out));
        self.take(text, span, out);
    }

    /// Reads white space in the turn of the assistant, once no more text can follow it.
    pub(super) fn settle_blank(&mut self, out: &mut Out<'a, '_>) {
        if let State::Blank(after, gap) = &mut self.state {
            let after = *after;
            let (span, text) = (gap.span(), gap.take());
            self.words(after, &text, span, out);
        }
    }

    /// Begins a text of the assistant at byte `at`.
    pub(super) fn speak(&mut self, at: usize, out: &mut Out<'a, '_>) -> Box<Draft<'a>> {
        let kind = if self.inner { Kind::Reasoning } else { Kind::Text { apart: false } };
        self.begin(kind, at, out)
    }

    /// Begins a message other than a call, whose body begins at byte `at`.
    #[inline]
    pub(super) fn begin(&mut self, kind: Kind, at: usize, out: &mut Out<'a, '_>) -> Box<Draft<'a>> {
        let message = self.head(kind, "", self.rules.message(kind, ""), at, out);
        self.draft(message, out)
    }

    /// Completes a message with everything that is known before its body, which begins at byte
    /// `at`.
    pub(super) fn head(
        &mut self,
        kind: Kind,
        name: &str,
        mut message: Message<'a>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) -> Message<'a> {
        self.layout.begin(kind, name, &mut message, at, out.keep);
        self.layout.place.in_reasoning = self.inner;
        if self.orphan && !message.is_call() {
            message.channel = Some(Channel::Analysis);
        }
        message.recovered |= self.orphan;
        let span = message.span;
        check_speaker(&mut message, span, out);
        message
    }

    pub(super) fn draft(&mut self, message: Message<'a>, out: &mut Out<'a, '_>) -> Box<Draft<'a>> {
        let mut draft = self.spare.take().unwrap_or_default();
        draft.begin(message, out);
        draft
    }

    /// Ends a message at byte `at`, after its end token.
    pub(super) fn close(
        &mut self,
        mut draft: Box<Draft<'a>>,
        end: End,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        draft.end(end, at, out);
        self.spare = Some(draft);
    }

    /// Ends a message at byte `at`, where its content also ends.
    pub(super) fn end(
        &mut self,
        mut draft: Box<Draft<'a>>,
        end: End,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        draft.message.recovered |= end == End::Open && out.state.stopped.is_some();
        (self.layout.since, self.layout.edge) = (at, at);
        self.close(draft, end, at, out);
    }

    fn control(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        // These tokens end a completion, in any state.
        let stops = matches!(
            control,
            Control::Close(Role::Assistant) | Control::CloseSection(Section::Calls)
        );
        self.take_control(control, span, out);
        if stops {
            out.stop_token();
        }
        // Text after the list of calls that ends the completion is outside of the turn, as after
        // the end token of the turn.
        let is_list = control == Control::CloseSection(Section::Calls)
            && matches!(self.state, State::Turn(_));
        if is_list && out.state.is_over {
            self.layout.since = span.end;
            self.ends_with_calls = true;
            self.state = State::Outside(Kept::default());
        }
    }

    fn take_control(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Turn(After::Text));
        match state {
            State::Outside(gap) => self.outside(gap, control, span, out),
            State::Body(draft) => match self.layout.place.last {
                Some(Kind::Said(role)) => self.in_section(draft, role, control, span, out),
                _ => self.in_text(draft, control, span, out),
            },
            State::Turn(after) => {
                self.leave(after, control, span, out);
                self.in_turn(control, span, out);
            }
            State::Blank(..) => {
                self.state = state;
                // Another token that ends the reasoning shows that the text is a part of it.
                let is_reasoning = !self.inner
                    && self.thought.is_uncertain()
                    && control == Control::CloseSection(Section::Reasoning);
                self.inner |= is_reasoning;
                self.settle_blank(out);
                if let State::Body(draft) = &mut self.state {
                    draft.message.recovered |= is_reasoning;
                }
                self.take_control(control, span, out);
            }
            State::Calls(list) => self.in_calls(list, control, span, out),
            State::Outputs(kept, _) => {
                let stop = (control == Control::Close(Role::Assistant)).then_some(span.end);
                self.end_outputs(kept, stop, out);
                self.control(control, span, out);
            }
            State::Rest(rest) => self.in_rest(rest, control, span, out),
            State::Ended(draft, gap) => {
                self.close_turn(draft, End::End, out);
                self.outside(gap, control, span, out);
            }
        }
    }

    /// Ends the last message of a turn of the assistant.
    pub(super) fn close_turn(&mut self, draft: Box<Draft<'a>>, end: End, out: &mut Out<'a, '_>) {
        let at = draft.message.span.end;
        self.close(draft, end, at, out);
    }

    /// Reads a control token between turns.
    pub(super) fn outside(
        &mut self,
        gap: Kept<'a>,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        self.spaced |= self.layout.place != Place::START && gap.as_str().contains('\n');
        let is_blank = gap.as_str().trim_ascii().is_empty();
        self.state = State::Outside(Kept::default());
        self.end_gap(gap, span.start, out);
        if !out.admits(span) {
            return;
        }
        let is_first = self.layout.place == Place::START;
        match control {
            Control::Bos if is_first && !self.bos => self.bos = true,
            Control::Open(role) => {
                self.layout.opened = Some(span.start);
                if !std::mem::replace(&mut self.bos, true) {
                    let bos = self.rules.spelling(Control::Bos);
                    let at = Span::at(span.start);
                    let found = Code::ParseFrame
                        .at(at, format!("missing `{bos}` at the beginning of the text"));
                    // After stray text, a new token would become part of that text.
                    out.tolerate(match is_blank {
                        true => found.fix(Fix::safe(at, bos)),
                        false => found,
                    });
                }
                // Nothing about this turn is uncertain.
                self.orphan = false;
                if role == Role::Assistant {
                    self.inner = false;
                    self.thought = Thought::Nothing;
                    self.state = State::Turn(After::Start);
                    return;
                }
                self.inner = false;
                let draft = self.begin(Kind::Said(role), span.end, out);
                self.state = State::Body(draft);
            }
            // The end of the turn whose last list of calls ended the completion.
            Control::Close(Role::Assistant) if is_blank && self.ends_with_calls => {
                self.ends_with_calls = false;
                self.layout.edge = span.end;
            }
            _ => self.stray_outside(control, span, out),
        }
    }

    /// Reads a control token in a message of another role than the assistant.
    fn in_section(
        &mut self,
        draft: Box<Draft<'a>>,
        role: Role,
        control: Control,
        span: Span,
        out: &mut Out<'a, '_>,
    ) {
        if control != Control::Close(role) {
            return self.stray_in_body(draft, control, span, out);
        }
        self.layout.since = span.start;
        self.layout.edge = span.end;
        self.close(draft, End::End, span.end, out);
        self.state = State::Outside(Kept::default());
    }
}
