//! The reader of well-formed framed messages. `recover.rs` handles malformed ones.

use std::borrow::Cow;

use super::Rules;
use super::header::{self, Context, Shape};
use super::opening::Opening;
use crate::grammar::check_speaker;
use crate::lex::{Lexeme, Lexer};
use crate::model::{End, Layout, Message, Raw, Role};
use crate::options::ReadOptions;
use crate::reading::{Draft, Gap, Keep, Out, Place, hide};
use crate::{Code, Control, Fix, Severity, Span};

/// Turns lexemes into messages (SPEC 2.2 §6, §15).
///
/// The fields keep the current message in place, so that nothing is moved.
pub(crate) struct Reader<'a> {
    pub(super) rules: &'static Rules,
    pub(super) stage: Stage,
    /// The text between messages, up to the limit of one message.
    pub(super) gap: Gap<'a>,
    gap_is_full: bool,
    /// The current header.
    pub(super) opening: Opening<'a>,
    /// The current message.
    pub(super) draft: Draft<'a>,
    /// Whether a message has begun.
    pub(super) began: bool,
    /// Whether the last message ended with `<|call|>`, without text after it.
    pub(super) after_call: bool,
    /// Whether the text after it is the canonical gap, and already consumed.
    pub(super) has_gap: bool,
    /// Whether the layout of the gap before the next message is kept.
    pub(super) keeps_gap: bool,
    /// Whether the current message is the rest after malformed input.
    pub(super) is_rest: bool,
    /// Whether the header of the current message was too long.
    pub(super) lost_header: bool,
    /// The only role that can speak, if the input continues a prompt.
    pub(super) speaks_as: Option<Role>,
    /// Whether the current or last message is foreign.
    pub(super) is_foreign: bool,
}

/// The state of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// At the start of a completion, which can continue with a header or a body.
    Completion(Role),
    /// Between messages.
    Outside,
    /// After `<|start|>`.
    Header,
    /// After `<|message|>`.
    Body,
    /// In dropped input, since this byte.
    Skip(usize),
}

/// Creates a reader with these rules.
pub(crate) fn reader<'a>(rules: &'static Rules, options: &ReadOptions) -> Reader<'a> {
    let mut opening = Opening::default();
    let stage = match options.continues {
        Some(role) if rules.completes_in_body => Stage::Completion(role),
        Some(role) => {
            opening.begin(Some(role), Span::at(0));
            Stage::Header
        }
        None => Stage::Outside,
    };
    Reader {
        rules,
        stage,
        opening,
        gap: Gap::default(),
        gap_is_full: false,
        draft: Draft::default(),
        began: options.continues.is_some(),
        after_call: false,
        has_gap: false,
        keeps_gap: true,
        is_rest: false,
        lost_header: false,
        speaks_as: options.continues.filter(|role| *role == Role::Assistant),
        is_foreign: false,
    }
}

impl<'a> crate::reading::Reader<'a> for Reader<'a> {
    fn text(&mut self, lexer: &mut Lexer, text: &mut &str, last: bool, out: &mut Out<'a, '_>) {
        loop {
            if matches!(self.stage, Stage::Outside | Stage::Header) {
                self.frames(lexer, text, out);
            }
            let Some(lexeme) = lexer.next(text, last) else { return };
            if out.goes_on(lexeme) {
                self.lexeme(lexeme, out);
            }
        }
    }

    #[inline]
    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        if let Stage::Completion(role) = self.stage
            && self.complete(role, lexeme, out)
        {
            return;
        }
        match lexeme {
            Lexeme::Text(text, span) => match self.stage {
                Stage::Body => self.draft.push(text, span, out),
                Stage::Header => self.header_text(text, span, out),
                Stage::Skip(_) => {}
                Stage::Outside | Stage::Completion(_) => self.outside_text(text, span, out),
            },
            Lexeme::Control(control, span) => match self.stage {
                Stage::Body => self.in_body(control, span, out),
                Stage::Header => self.in_header(control, span, out),
                Stage::Skip(_) => self.skip(control, span, out),
                Stage::Outside | Stage::Completion(_) => self.outside(control, span, out),
            },
        }
    }

    fn message(&self) -> Option<&Message<'a>> {
        matches!(self.stage, Stage::Body).then_some(&self.draft.message)
    }

    #[inline]
    fn body(&mut self) -> Option<&mut Draft<'a>> {
        matches!(self.stage, Stage::Body).then_some(&mut self.draft)
    }

    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>) {
        if out.state.stopped.is_some() {
            return self.stop(at, out);
        }
        match self.stage {
            Stage::Outside => self.end_gap(at, out),
            Stage::Skip(from) => self.end_skip(from, at, out),
            Stage::Body => {
                if self.draft.in_literal() {
                    self.truncated("the text ends inside a literal block", at, out);
                } else if !out.options.open_prompt {
                    self.truncated("the text ends inside a message", at, out);
                }
                self.draft.end(End::Open, at, out);
            }
            Stage::Header | Stage::Completion(_) => {
                if let Stage::Completion(role) = self.stage {
                    self.opening.begin(Some(role), Span::at(0));
                }
                if out.options.open_prompt {
                    self.open_header(at, out);
                } else {
                    self.truncated("the text ends inside a header", at, out);
                    self.cut_header(at, out);
                }
            }
        }
        self.stage = Stage::Outside;
    }
}

impl<'a> Reader<'a> {
    /// Begins the body of a completion. Returns whether this consumes `lexeme`, because a
    /// completion can begin with the end of its header.
    fn complete(&mut self, role: Role, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) -> bool {
        let ends_header = matches!(lexeme, Lexeme::Control(Control::Message, _));
        let mut message = Message::new(role, "");
        message.body_at = if ends_header { lexeme.span().end } else { lexeme.span().start };
        message.span = Span::new(0, message.body_at);
        self.begin_body(message, out);
        ends_header
    }

    pub(super) fn begin_body(&mut self, message: Message<'a>, out: &mut Out<'a, '_>) {
        self.begin(message, out);
        self.stage = Stage::Body;
    }

    pub(super) fn begin(&mut self, message: Message<'a>, out: &mut Out<'a, '_>) {
        self.draft.begin(message, out);
        self.is_foreign = self.draft.message.foreign;
    }

    /// Handles a control token that ends a message of the assistant, or that is outside of
    /// messages. A stop token ends the completion.
    pub(super) fn end_completion(&mut self, control: Control, out: &mut Out<'a, '_>) {
        if self.rules.stops.contains(&control) {
            out.stop_token();
        }
    }

    fn in_body(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let end = match control {
            Control::End => End::End,
            Control::Call => End::Call,
            Control::Return => End::Return,
            Control::Literal => return self.draft.open_literal(),
            Control::EndLiteral if self.draft.in_literal() => return self.draft.close_literal(),
            Control::Marker(marker) => return self.marker(marker, span, out),
            _ => return self.stray_in_body(control, span, out),
        };
        self.after_call = end == End::Call;
        self.keeps_gap = true;
        self.end_body(end, span.end, out);
        if !self.is_foreign {
            self.end_completion(control, out);
        }
    }

    pub(super) fn end_body(&mut self, end: End, at: usize, out: &mut Out<'a, '_>) {
        let is_rest = std::mem::take(&mut self.is_rest);
        let end = if is_rest && end != End::Open { End::End } else { end };
        if end == End::Open {
            self.draft.message.recovered = true;
        }
        self.draft.end(end, at, out);
        self.stage = Stage::Outside;
    }

    fn in_header(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        match control {
            Control::Message => self.end_header(span, out),
            Control::Channel | Control::Constrain => self.opening.control(control, span),
            Control::Marker(marker) => {
                let text = self.spelled(control);
                self.opening.marker(Control::Marker(marker), text, span, out.keep);
            }
            Control::End if self.rules.mends_slips && !self.opening.is_bare() => {
                let (end, meant) = (self.spelled(control), self.spelled(Control::Message));
                let text = format!("`{end}` after a role, read as `{meant}`");
                let found = Code::ParseSlip.at(span, text);
                out.tolerate(found.fix(Fix::safe(span, meant)));
                self.end_header(span, out);
            }
            _ => self.stray_in_header(control, span, out),
        }
    }

    /// Reads text of a header, up to its limit.
    pub(super) fn header_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let left = out.options.limits.header_bytes.saturating_sub(self.opening.len());
        if text.len() <= left {
            return self.opening.text(text, span, out.keep);
        }
        let (header, rest) = text.split_at(text.floor_char_boundary(left));
        let split = span.start + header.len();
        if !header.is_empty() {
            self.opening.text(header, Span::new(span.start, split), out.keep);
        }
        self.long_header(split, out);
        if self.stage == Stage::Body {
            self.draft.push(rest, Span::new(split, span.end), out);
        }
    }

    /// Ends the header.
    pub(super) fn end_header(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let message = self.header(span, out);
        self.begin_body(message, out);
    }

    /// Reads the header, which ends at the token at `span`.
    #[inline(always)] // Messages are large: each call would copy one.
    pub(super) fn header(&mut self, span: Span, out: &mut Out<'a, '_>) -> Message<'a> {
        let mut message = self.head(Shape::Whole, Some(span.start), out);
        message.span = Span::new(self.opening.span.start, span.end);
        message.body_at = span.end;
        message
    }

    /// Reads the header, which ends at byte `end`, and reports its diagnostics.
    #[inline]
    pub(super) fn head(
        &mut self,
        shape: Shape,
        end: Option<usize>,
        out: &mut Out<'a, '_>,
    ) -> Message<'a> {
        let raw = end.and_then(|end| out.keep.slice(Span::new(self.opening.span.end, end)));
        let context = Context { raw, ..context(shape, self.rules, out) };
        let mut head = header::read(&mut self.opening, out.keep, &context);
        if let Some(end) = end.filter(|_| !head.is_canonical) {
            head.message.layout = self.header_layout(end, out.keep);
        }
        for (mut found, tolerated) in head.found {
            if !self.opening.is_exact() {
                let inside = |at: usize| at.min(self.opening.end);
                found.span = Span::new(inside(found.span.start), inside(found.span.end));
                found.fix = None;
            }
            match (tolerated, found.severity) {
                (true, _) => out.tolerate(found),
                (false, Severity::Error) => out.malformed(found),
                (false, _) => out.note(found),
            }
        }
        self.check_authority(&mut head.message, out);
        head.message
    }

    /// Hides a message whose speaker is unknown, that is of another role than the completion, or
    /// that follows the stop token.
    pub(super) fn check_authority(&self, message: &mut Message<'a>, out: &mut Out<'a, '_>) {
        // The first token of an orphan after the stop token is already reported.
        if !(self.opening.is_orphan && out.state.is_over) {
            check_speaker(message, self.opening.span, out);
        }
        if self.opening.is_orphan {
            // In a completion only one role can speak, and the header has the rest.
            message.recovered = true;
            if self.speaks_as.is_none() {
                hide(message);
            }
        }
    }

    /// Returns the layout of the header, which ends at byte `end`, if it is not canonical.
    fn header_layout(&self, end: usize, keep: Keep<'a>) -> Option<Box<Layout<'a>>> {
        let mut raw = self.opening.raw(end, keep)?;
        if let Some(role) = self.opening.role {
            if self.opening.is_orphan {
                return None;
            }
            // The prompt contains the role.
            let mut whole = Raw::from(Cow::Borrowed(role.as_str()));
            whole.append(&raw);
            raw = whole;
        }
        let layout = Layout { form: self.rules.form, ..Layout::default() };
        Some(Box::new(Layout { header: Some(raw), ..layout }))
    }

    /// Handles the end of the input inside a header: a prompt.
    fn open_header(&mut self, at: usize, out: &mut Out<'a, '_>) {
        let mut message = self.head(Shape::Open, Some(at), out);
        message.span = Span::new(self.opening.span.start, at);
        self.begin(message, out);
        self.draft.end(End::Prompt, at, out);
    }

    fn outside(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if control == Control::End && self.after_call && self.gap.is_empty() {
            // `<|call|>` ends the message. By one reading of the grammar, `<|end|>` can follow it.
            self.after_call = false;
            self.gap.push_control(control, self.spelled(control), span, out.keep);
            return;
        }
        self.after_call = false;
        self.end_gap(span.start, out);
        if !out.admits(span) {
            return;
        }
        match control {
            Control::Start => self.open(span),
            _ => self.stray_outside(control, span, out),
        }
        self.end_completion(control, out);
    }

    pub(super) fn open(&mut self, span: Span) {
        self.began = true;
        self.lost_header = false;
        self.opening.begin(None, span);
        self.stage = Stage::Header;
    }

    /// Reads text between two messages, up to the limit of one message.
    fn outside_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        if self.gap_is_full {
            return;
        }
        let left = out.options.limits.message_bytes.saturating_sub(self.gap.len());
        self.gap_is_full = text.len() > left;
        let text = &text[..text.floor_char_boundary(left)];
        let span = Span::new(span.start, span.start + text.len());
        self.gap.push(text, span, out.keep);
    }

    /// Ends the text between two messages, which is layout or misplaced text.
    pub(super) fn end_gap(&mut self, end: usize, out: &mut Out<'a, '_>) {
        // What was beyond the limit may be more than white space.
        let is_full = std::mem::take(&mut self.gap_is_full);
        let text = self.gap.as_str();
        let is_usual = std::mem::take(&mut self.has_gap) || text == self.rules.gap;
        let is_canonical = is_usual && !is_full;
        if is_canonical && self.began {
            self.keeps_gap = true;
            return self.gap.clear();
        }
        if is_full || !is_canonical && !self.gap.is_blank(&[Control::End]) {
            return self.stray(end, out);
        }
        let keeps = std::mem::replace(&mut self.keeps_gap, true);
        let raw = self.gap.take();
        if keeps && !self.began && !raw.is_empty() {
            out.to.layout(Place::Lead, raw, self.rules.form);
        } else if keeps && self.began && !is_canonical {
            out.to.layout(Place::After, raw, self.rules.form);
        }
    }

    pub(super) fn spelled(&self, control: Control) -> &'static str {
        self.rules.controls.spelling(control).unwrap_or_default()
    }
}

/// Returns the context of a header.
pub(super) fn context<'c>(
    shape: Shape,
    rules: &'static Rules,
    out: &'c Out<'_, '_>,
) -> Context<'c> {
    let limits = &out.options.limits;
    let is_completion = out.options.continues == Some(Role::Assistant);
    Context { shape, rules, limits, is_completion, checker: Some(&out.state.checker), raw: None }
}
