//! The reader of turns with sections.

use super::answer::Answer;
use super::between::Kind;
use super::body::Body;
use super::call::Call;
use super::guarded::Guarded;
use super::layout_tracker::LayoutTracker;
use super::reasoning::Thought;
use super::tree::TreeReply;
use super::unopened::Unopened;
use super::waiting::Waiting;
use super::{Mark, Rules, Turn, is_of_replies};
use crate::grammar::rest::Rest;
use crate::grammar::{check_speaker, repeated_header, repeated_opening};
use crate::lex::Lexeme;
use crate::model::{End, Message, Role};
use crate::options::ReadOptions;
use crate::reading::{Draft, Kept, Out};
use crate::{Control, Section, Span};

/// Reads messages from lexemes.
pub(crate) struct Reader<'a> {
    pub(super) rules: &'static Rules,
    pub(super) state: State<'a>,
    pub(super) layout: LayoutTracker,
    /// The open turn.
    pub(super) turn: Option<&'static Turn>,
    /// The token that opened the last header.
    pub(super) opener: Option<Control>,
    /// The name of the speaker in it.
    pub(super) speaker: Option<String>,
    /// The name of the tool in the header of a reply.
    pub(super) reply_tool: Option<String>,
    /// The token that follows the closed turn, if it was not read.
    pub(super) awaited: Option<Control>,
    /// The kind of the last message in it.
    pub(super) said: Option<Kind>,
    /// The number of messages before the turn.
    pub(super) before: usize,
    /// Its open section without a message yet: reasoning or a reply.
    pub(super) inside: Option<Section>,
    /// Its section of a text, in formats with such sections.
    pub(super) answer: Answer,
    /// What its tokens say about its reasoning.
    pub(super) thought: Thought,
    /// The beginning of its first text or call, and the number of messages before that.
    pub(super) spoken: Option<(usize, usize)>,
    /// Whether a list of calls is open in it.
    pub(super) in_list: bool,
    /// Whether a list of replies is open, outside of turns.
    pub(super) in_replies: bool,
    /// The number of line breaks that can still belong to the last token.
    pub(super) pad: u8,
    /// Whether some of them are missing.
    pub(super) is_short: bool,
    /// Whether a token has closed the turn around the last reply.
    pub(super) is_left: bool,
    /// Whether anything was read.
    pub(super) began: bool,
    /// The called tools that have not replied yet.
    pub(super) waiting: Waiting,
    /// The id of the call that the next reply answers, if it was read.
    pub(super) reply_id: Option<String>,
    /// The role that a completion continues, before its first lexeme.
    pub(super) continues: Option<Role>,
    pub(super) is_completion: bool,
}

pub(super) enum State<'a> {
    /// Between turns, with the text there.
    Outside(Kept<'a>),
    /// After the token that opens a turn, up to the line break or the token that ends the header.
    Header(Span, Kept<'a>),
    /// In a turn, after a token, with the white space there.
    Turn(Kept<'a>),
    Body(Body<'a>),
    Call(Box<Call<'a>>),
    /// In a reply inside of the turn of the assistant.
    Reply(Box<TreeReply<'a>>),
    /// In text that can be calls if nothing else follows in the turn.
    Guarded(Box<Guarded<'a>>),
    /// In text that is a call without its opening token if a closing token follows.
    Unopened(Box<Unopened<'a>>),
    /// In uncertain text, which is hidden or dropped.
    Rest(Rest<'a>),
}

/// Creates a reader for a dialect.
pub(crate) fn reader<'a>(rules: &'static Rules, options: &ReadOptions) -> Reader<'a> {
    Reader {
        rules,
        state: State::Outside(Kept::default()),
        layout: LayoutTracker::new(rules),
        turn: None,
        opener: None,
        speaker: None,
        reply_tool: None,
        awaited: None,
        said: None,
        before: 0,
        inside: None,
        answer: Answer::default(),
        thought: Thought::default(),
        spoken: None,
        in_list: false,
        in_replies: false,
        pad: 0,
        is_short: false,
        is_left: false,
        began: false,
        waiting: Waiting::default(),
        reply_id: None,
        continues: options.continues,
        is_completion: options.continues == Some(Role::Assistant),
    }
}

impl<'a> crate::reading::Reader<'a> for Reader<'a> {
    fn is_end(&self, control: Control) -> bool {
        // Where texts have tokens of their own, the token that ends the turn follows a complete text.
        let close = self.turn.and_then(|turn| turn.close).filter(|it| it.control == control);
        let is_behind_text = self.said.is_some() && matches!(self.state, State::Turn(_));
        self.rules.sections.answer.is_some() && close.is_some() && is_behind_text
    }

    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        self.complete(Some(lexeme), lexeme.span().start, out);
        if let Lexeme::Control(control, _) = lexeme {
            self.settle_unopened(Some(control), out);
        }
        match lexeme {
            Lexeme::Text(text, span) => self.take(text, span, out),
            Lexeme::Control(control, span) if self.is_held(control) => {
                self.hold(control, span, out);
            }
            Lexeme::Control(control, span) if self.counts(control) => {
                self.layout.trail.push(control, span, out.keep);
                self.control(control, span, out);
            }
            Lexeme::Control(control, span) => {
                if !self.rules.is_word(control) || self.is_in_bare_reply(control) {
                    self.tell_text(control, span, out);
                }
                let spelling = self.rules.spelling(control);
                match &mut self.state {
                    State::Body(body) => body.quoted(control, spelling, span, out),
                    _ => self.take(spelling, span, out),
                }
            }
        }
        self.began = true;
    }

    fn message(&self) -> Option<&Message<'a>> {
        match &self.state {
            State::Body(body) => Some(&body.draft.message),
            State::Call(call) => call.draft.as_ref().map(|draft| &draft.message),
            State::Reply(reply) => reply.message(),
            State::Unopened(unopened) => unopened.message(),
            State::Rest(rest) => rest.message(),
            State::Outside(_) | State::Header(..) | State::Turn(_) | State::Guarded(_) => None,
        }
    }

    fn body(&mut self) -> Option<&mut Draft<'a>> {
        match &mut self.state {
            State::Body(body) if body.is_plain() => Some(body.draft_mut()),
            _ => None,
        }
    }

    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>) {
        self.complete(None, at, out);
        match out.state.stopped.is_some() {
            true => self.stop(at, out),
            false => self.end_input(at, out),
        }
    }
}

impl<'a> Reader<'a> {
    /// Begins a completion, at its first lexeme.
    fn complete(&mut self, first: Option<Lexeme<'_>>, at: usize, out: &mut Out<'a, '_>) {
        let Some(role) = self.continues.take() else { return };
        let is_own = |turn: &&Turn| turn.role == Role::Assistant;
        let opener = self.rules.turns.iter().find(is_own).and_then(Turn::opener);
        let opens = |control| opener == Some(control);
        if role == Role::Assistant
            && let Some(span) = repeated_opening(first, opens)
        {
            (self.layout.keeps, self.began) = (false, true);
            return repeated_header(span, out);
        }
        self.turn = self.rules.turn(role).or(self.rules.turn(Role::System));
        self.layout.keeps = false;
        self.began = true;
        match role {
            Role::Assistant if out.options.in_reasoning => {
                self.inside = Some(Section::Reasoning);
                self.pad = self.rules.sections.reasoning.open.after;
                self.state = State::Turn(Kept::default());
            }
            Role::Assistant => {
                self.pad = self.rules.has_line(role).into();
                self.continue_answer();
                self.state = State::Turn(Kept::default());
            }
            role => {
                let kind = if role == Role::Tool { Kind::Reply } else { Kind::Said(role) };
                self.begin_body(kind, at, out);
            }
        }
    }

    /// Whether a control token is recognized here, and not read as text.
    fn counts(&mut self, control: Control) -> bool {
        if self.rules.frames(control) {
            return true;
        }
        let is_text = match &mut self.state {
            State::Call(call) => call.is_text(control),
            State::Body(body) => body.quotes(control),
            State::Reply(reply) => reply.is_text(control, self.rules),
            _ => false,
        };
        if is_text {
            return false;
        }
        if self.rules.is_word(control) {
            return self.takes_word(control);
        }
        let is_reply = is_of_replies(control);
        let thinks = match &self.state {
            State::Body(body) => matches!(body.kind, Kind::Reasoning),
            State::Turn(_) => self.thinks(),
            _ => false,
        };
        if thinks && self.rules.is_text_in_reasoning(control) {
            return false;
        }
        match self.turn {
            None => true,
            // Replies are in turns of their own.
            Some(_) if is_reply && thinks && self.rules.replies.turn.is_some() => false,
            Some(turn) if turn.role == Role::Assistant => true,
            Some(turn) if self.rules.is_ended_by_reply(turn) => self.rules.opens_reply(control),
            Some(turn) => is_reply && self.rules.has_replies(turn) && self.takes_replies(),
        }
    }

    /// Whether a word is a token of a call or a reply here.
    fn takes_word(&self, control: Control) -> bool {
        match self.turn {
            _ if self.rules.is_word_of_calls(control) => self.in_list,
            None => self.layout.place.last.is_some() || !matches!(self.state, State::Outside(_)),
            Some(turn) => {
                turn.role != Role::Assistant && self.rules.has_replies(turn) && self.takes_replies()
            }
        }
    }

    /// Whether this is a token of replies, in a reply that no token opened.
    fn is_in_bare_reply(&self, control: Control) -> bool {
        let is_bare =
            matches!(&self.state, State::Body(body) if body.kind == Kind::Reply && !body.is_marked);
        is_bare && is_of_replies(control)
    }

    /// Whether a reply can begin or end here, in a turn that contains replies.
    fn takes_replies(&self) -> bool {
        match &self.state {
            State::Body(body) => body.kind == Kind::Reply && body.is_marked,
            State::Turn(_) => matches!(self.said, None | Some(Kind::Reply)),
            State::Rest(_) => true,
            _ => false,
        }
    }

    pub(super) fn take(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        match &mut self.state {
            State::Outside(_) => self.text_outside(text, span, out),
            State::Header(..) => self.header(text, span, out),
            State::Turn(_) => self.in_turn(text, span, out),
            State::Body(_) => self.body_text(text, span, out),
            State::Unopened(_) => self.unopened_text(text, span, out),
            State::Call(call) if call.parameters.is_some() => {
                self.parameter_text(text, span, out);
            }
            State::Call(call) if call.tree.is_some() => self.tree_text(text, span, out),
            State::Call(call) if call.elements.is_some() => self.element_text(text, span, out),
            State::Reply(_) => self.reply_text(text, span, out),
            State::Call(_) => self.call(text, span, out),
            State::Guarded(_) => self.guarded_text(text, span, out),
            State::Rest(rest) => rest.push(text, span, out),
        }
    }

    pub(super) fn control(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if self.ends_id(control, span, out) {
            return;
        }
        self.settle_reply(span.start, out);
        self.settle_call(span.start, out);
        if self.settle_guarded(Some((control, span)), out) {
            return;
        }
        self.settle_uncertain(Some(control), out);
        if self.rules.frames(control) && self.settle_parameters(control, span, out) {
            return;
        }
        match &self.state {
            State::Outside(_) => self.outside(control, span, out),
            State::Header(..) if self.rules.end_of_title() == Some(control) => {
                self.end_title(span, out);
            }
            State::Header(..) => self.broken_header(control, span, out),
            _ if self.rules.frames(control) => self.end_turn(control, span, out),
            State::Turn(_) => self.section(control, span, out),
            State::Body(_) => self.in_body(control, span, out),
            State::Call(_) => self.call_token(control, span, out),
            State::Reply(_) => self.reply_token(control, span, out),
            State::Guarded(_) | State::Unopened(_) => {}
            State::Rest(_) => self.in_rest(control, span, out),
        }
        let is_stop = self.rules.stops_otherwise(control);
        if is_stop && self.turn.is_some_and(|turn| turn.role == Role::Assistant) {
            out.stop_token();
        }
    }

    /// Continues a turn after a token.
    pub(super) fn behind(&mut self, mark: Mark) {
        self.pad = mark.after;
        self.is_short = mark.after > 0;
        self.state = State::Turn(Kept::default());
    }

    /// Begins a message of this kind. Its body begins at byte `at`.
    pub(super) fn begin_body(&mut self, kind: Kind, at: usize, out: &mut Out<'a, '_>) {
        let mut message = self.rules.message(kind, "");
        match kind {
            Kind::Reply => self.name_reply(&mut message),
            Kind::Said(_) => {
                let speaker = self.speaker.take().map(Into::into);
                message.name = speaker.or(message.name);
            }
            _ => {}
        }
        let name = self.rules.name(&message).to_owned();
        let most = match kind {
            Kind::Reasoning => self.rules.sections.reasoning.close.before,
            Kind::Text { .. } => self.rules.sections.calls.lead,
            Kind::Reply => self.closes(kind).before,
            _ => 0,
        };
        let draft = self.begin(kind, &name, message, at, out);
        self.state = State::Body(Body::new(draft, kind, most, at));
    }

    /// Begins a message with the text that was kept until the kind of the message was known.
    pub(super) fn speak(&mut self, kind: Kind, mut text: Kept<'a>, out: &mut Out<'a, '_>) {
        let span = self.begin_spoken(kind, &text, out);
        let text = text.take();
        if let State::Body(body) = &mut self.state {
            body.text(&text, span, out);
        }
    }

    /// Begins a message with this text. Returns the place of the text.
    pub(super) fn begin_spoken(
        &mut self,
        kind: Kind,
        text: &Kept<'a>,
        out: &mut Out<'a, '_>,
    ) -> Span {
        let at = text.span();
        let at = if text.is_empty() { Span::at(at.end) } else { at };
        let is_marked = kind == Kind::Reasoning || self.answers();
        self.begin_body(kind, at.start, out);
        if let State::Body(body) = &mut self.state {
            body.is_marked = is_marked;
        }
        at
    }

    /// Begins such a message in a section with its own tokens.
    pub(super) fn begin_marked(&mut self, kind: Kind, at: usize, out: &mut Out<'a, '_>) {
        self.begin_body(kind, at, out);
        if let State::Body(body) = &mut self.state {
            body.is_marked = true;
        }
    }

    /// Begins a message whose body begins at byte `at`. Calls have the `name` of a tool, and others
    /// that of a speaker.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        name: &str,
        mut message: Message<'a>,
        at: usize,
        out: &mut Out<'a, '_>,
    ) -> Box<Draft<'a>> {
        self.layout.begin(kind, name, &mut message, at, out.keep);
        self.said = self.layout.place.last;
        if matches!(kind, Kind::Text { .. } | Kind::Call { .. }) {
            let from = if let State::Call(call) = &self.state { call.from } else { at };
            self.spoken.get_or_insert((from, out.state.messages));
        }
        let span = message.span;
        check_speaker(&mut message, span, out);
        Box::new(Draft::started(message, out))
    }

    /// Ends a body at byte `at`, after its end token, which has `before` line breaks before it.
    pub(super) fn end_body(
        &mut self,
        mut body: Body<'a>,
        before: u8,
        end: End,
        at: usize,
        out: &mut Out<'a, '_>,
    ) {
        body.settle(before, out);
        if let Kind::Text { .. } = body.kind {
            let apart = match self.rules.sections.answer {
                Some(_) => body.is_empty(),
                None => body.is_blank() || body.is_in_block(),
            };
            self.layout.place.last = Some(Kind::Text { apart });
        }
        self.layout.since = body.end();
        self.layout.edge = at;
        body.finish(end, at, out);
    }
}
