//! Reads turns: their beginning, their end, and their sections.

use super::between::Kind;
use super::call::Call;
use super::reader::{Reader, State};
use super::reasoning::Thought;
use super::{InnerCalls, Mark, NoReasoning, Opening, Rules, Turn, is_of_replies};
use crate::grammar::{GOES_ON, within_limit};
use crate::lex::Lexeme;
use crate::model::{End, Role};
use crate::reading::{Kept, Out};
use crate::{Code, Control, Dropped, Section, Span};

impl Rules {
    /// Returns the token that closes the section of a message of this kind, if it is this one.
    fn closing(&self, kind: Kind, control: Control) -> Option<Mark> {
        match (kind, control) {
            (Kind::Reasoning, Control::CloseSection(Section::Reasoning)) => {
                Some(self.sections.reasoning.close)
            }
            (Kind::Text { .. }, Control::CloseSection(Section::Answer)) => {
                self.sections.answer.map(|(_, close)| close)
            }
            (Kind::Reply, _) => {
                let close = self.replies.item.map(|(_, close)| close);
                close.filter(|close| close.control == control)
            }
            _ => None,
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads a control token between turns.
    pub(super) fn outside(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if self.rules.begins(control) && !self.began {
            self.layout.opened = Some(span.start);
            return;
        }
        if let Some(turn) = self.rules.opened_by(control) {
            return self.open_turn(turn, span, out);
        }
        if self.ends_awaited(control, span, out) {
            return;
        }
        if control == Control::Eos
            && self.layout.place.last.is_some()
            && !self.closes_assistant(control)
        {
            // It is allowed after a conversation.
            return self.end_gap(out);
        }
        if self.begins_bare(control) {
            return self.begin_bare(control, span, out);
        }
        if self.in_replies {
            self.end_gap(out);
        }
        let is_frame = self.rules.frames(control);
        let is_reply = control == Control::OpenSection(Section::Reply);
        if is_reply && self.rules.replies.turn.is_none() {
            self.end_gap(out);
            return self.open_reply(span, out);
        }
        let is_list = matches!(
            control,
            Control::OpenSection(Section::Replies) | Control::CloseSection(Section::Replies)
        );
        if is_list && self.replies(control, span, out) {
            return;
        }
        if self.closes_assistant(control) && self.is_behind_inner_reply() {
            self.end_gap(out);
            self.is_left = true;
            self.layout.edge = span.end;
            return out.to.close_turn(span.end);
        }
        let is_of_list = is_list || self.in_replies && is_of_replies(control);
        let is_own = !is_of_list && (!is_frame || self.closes_assistant(control));
        if is_own && (self.rules.implied().is_some() || self.goes_on()) {
            self.turn = self.rules.turn(Role::Assistant);
            (self.said, self.in_replies) = (None, false);
            self.forget_thoughts();
            let State::Outside(gap) = &mut self.state else { return };
            let gap = std::mem::take(gap);
            self.layout.opened.get_or_insert(span.start);
            self.state = State::Turn(gap);
            return match is_frame {
                true => self.end_turn(control, span, out),
                false => self.section(control, span, out),
            };
        }
        self.stray_token(control, span, out);
    }

    /// Reads a token around replies. Returns whether it is allowed.
    fn replies(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) -> bool {
        let opens = control == Control::OpenSection(Section::Replies);
        if self.rules.replies.list.is_none() || opens == self.in_replies {
            return false;
        }
        self.end_gap(out);
        self.in_replies = opens;
        if opens {
            if self.is_completion {
                let found = Code::CompletionRole.at(span, GOES_ON);
                out.malformed(found.drops(Dropped::Text));
            }
            self.layout.opened.get_or_insert(span.start);
        } else {
            self.layout.edge = span.end;
            // The token belongs to the last reply, whatever follows.
            out.to.close_turn(span.end);
        }
        true
    }

    /// Whether the turn of the assistant continues here without a new opening token.
    pub(super) fn goes_on(&self) -> bool {
        self.rules.goes_on(self.layout.place) && !self.is_left
    }

    /// Whether the last message is a reply inside of the turn of the assistant, which is still open.
    fn is_behind_inner_reply(&self) -> bool {
        self.rules.replies.inside.is_some()
            && self.layout.place.last == Some(Kind::Reply)
            && !self.is_left
    }

    fn closes_assistant(&self, control: Control) -> bool {
        let close = self.rules.turn(Role::Assistant).and_then(|turn| turn.close);
        close.is_some_and(|close| close.control == control)
    }

    /// Reads text between turns.
    pub(super) fn text_outside(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let begun = self.begun_by_text();
        let State::Outside(gap) = &mut self.state else { return };
        // The text of a message that begins here counts toward the limit of its body.
        let lead = text.len() - text.trim_ascii_start().len();
        let counted = if begun.is_some() { lead } else { text.len() };
        let within = within_limit(&text[..counted], span, gap.len(), out);
        let is_whole = within.0.len() == counted;
        let (text, span) = if is_whole { (text, span) } else { within };
        gap.push(text, span, out.keep);
        let Some(turn) = begun.filter(|_| is_whole && lead < text.len()) else { return };
        let gap = std::mem::take(gap);
        self.turn = Some(turn);
        self.said = None;
        self.forget_thoughts();
        let kind = match turn.role {
            Role::Assistant => Kind::Text { apart: false },
            role => Kind::Said(role),
        };
        self.speak(kind, gap, out);
    }

    pub(super) fn open_turn(&mut self, turn: &'static Turn, span: Span, out: &mut Out<'a, '_>) {
        self.end_gap(out);
        self.lacks_awaited(span, out);
        if !out.admits(span) {
            return;
        }
        self.layout.opened.get_or_insert(span.start);
        self.is_left = false;
        self.said = None;
        self.before = out.state.messages;
        self.inside = None;
        self.forget_thoughts();
        (self.in_list, self.in_replies) = (false, false);
        match turn.opening {
            Opening::Named(..) | Opening::Titled(_) | Opening::Attributes(_) => {
                (self.turn, self.opener, self.speaker) = (None, turn.opener(), None);
                self.state = State::Header(span, Kept::default());
            }
            _ => self.enter(turn, span.end, out),
        }
    }

    /// Enters a turn at byte `at`.
    fn enter(&mut self, turn: &'static Turn, at: usize, out: &mut Out<'a, '_>) {
        self.turn = Some(turn);
        let is_line = matches!(turn.opening, Opening::Line(_));
        self.pad = if is_line { 1 } else { turn.breaks_after_title() };
        let has_replies = self.rules.has_replies(turn) && turn.attributes().is_none();
        let has_sections = turn.role == Role::Assistant || has_replies;
        match has_sections || self.pad > 0 {
            true => {
                // A completion that repeats its header goes on where its prompt ended.
                let goes_on =
                    self.is_completion && self.before == 0 && turn.role == Role::Assistant;
                match out.options.in_reasoning {
                    true if goes_on => {
                        self.inside = Some(Section::Reasoning);
                        self.pad = self.rules.sections.reasoning.open.after;
                    }
                    false if goes_on => self.continue_answer(),
                    _ => {}
                }
                self.state = State::Turn(Kept::default());
            }
            false if turn.role == Role::Tool => self.begin_body(Kind::Reply, at, out),
            false => self.begin_body(Kind::Said(turn.role), at, out),
        }
    }

    /// Reads the token that ends a header, after the name.
    pub(super) fn end_title(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let State::Header(start, header) = &mut self.state else { return };
        let (start, place) = (*start, header.span());
        let line = header.take();
        let name = line.trim_ascii();
        let turn = self.rules.titled(self.opener, name);
        if let Some(turn) = turn.filter(|turn| turn.attributes().is_none()) {
            return self.enter(turn, span.end, out);
        }
        let turn = self.opener.and_then(|opener| self.rules.opened_by(opener));
        let Some(turn) = turn else { return };
        if turn.is_of_words() {
            return self.unknown_role(&line, place, start, out);
        }
        if let Some(header) = turn.attributes() {
            self.take_attributes(header, turn.role, &line, place, out);
            return self.enter(turn, span.end, out);
        }
        let speaks = !matches!(turn.role, Role::Assistant | Role::Tool);
        if name.is_empty() {
            let text = "the header must contain the name of a role or a speaker";
            out.tolerate(Code::ParseHeader.at(Span::new(start.start, span.end), text));
        } else if speaks {
            self.speaker = Some(name.to_owned());
        } else {
            let text = "the name of this speaker will be dropped";
            out.malformed(Code::ParseHeader.at(place, text).drops(Dropped::Header));
            self.layout.keeps = false;
        }
        self.enter(turn, span.end, out);
    }

    /// Reads text of a header, up to the line break that ends it.
    pub(super) fn header(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let is_titled = self.rules.end_of_title().is_some();
        let State::Header(start, header) = &mut self.state else { return };
        if is_titled && text.len() <= out.options.limits.header_bytes.saturating_sub(header.len()) {
            return header.push(text, span, out.keep);
        }
        let line = memchr::memchr(b'\n', text.as_bytes()).filter(|_| !is_titled);
        let wanted = line.map_or(text.len(), |end| end + 1);
        if wanted > out.options.limits.header_bytes.saturating_sub(header.len()) {
            return self.long_header(text, span, out);
        }
        let split = match span.len() == text.len() {
            true => span.start + wanted,
            false => span.end,
        };
        header.push(&text[..wanted], Span::new(span.start, split), out.keep);
        if line.is_none() {
            return;
        }
        let (start, mut header) = (*start, std::mem::take(header));
        let place = header.span();
        let line = header.take();
        let word = line.trim_ascii();
        match self.rules.turns.iter().find(|turn| turn.is_named(word)) {
            Some(turn) => self.enter(turn, split, out),
            None => self.unknown_role(&line, place, start, out),
        }
        let rest = &text[wanted..];
        if !rest.is_empty() {
            let lexeme = Lexeme::Text(rest, Span::new(split, span.end));
            if out.goes_on(lexeme) {
                crate::reading::Reader::lexeme(self, lexeme, out);
            }
        }
    }

    /// Returns text without the line breaks at its beginning that belong to the last token.
    fn without_pad<'t>(&mut self, text: &'t str, span: Span) -> (&'t str, Span) {
        let own = text.bytes().take(self.pad.into()).take_while(|byte| *byte == b'\n').count();
        self.pad -= u8::try_from(own).unwrap_or(self.pad);
        self.is_short &= self.pad > 0;
        let split = if span.len() == text.len() { span.start + own } else { span.end };
        (&text[own..], Span::new(split, span.end))
    }

    /// Reads text in a turn, after a token and white space.
    pub(super) fn in_turn(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) {
        let (text, span) = self.without_pad(text, span);
        if text.is_empty() {
            return;
        }
        // The text after this does not belong to the token.
        self.pad = 0;
        if let Some(heading) = self.turn.and_then(Turn::heading).filter(|_| self.said.is_none()) {
            return self.in_heading(heading, text, span, out);
        }
        if self.inside == Some(Section::Reply) {
            if self.keep_id(text, span, out) {
                return;
            }
            self.settle_reply(span.start, out);
            return self.take(text, span, out);
        }
        let thinks = self.thinks();
        let lead = text.len() - text.trim_ascii_start().len();
        let is_uncertain = self.thought.is_uncertain() && !thinks;
        let (answers, in_list) = (self.answers(), self.in_list);
        let State::Turn(blank) = &mut self.state else { return };
        let counted = match is_uncertain {
            true => text.len(),
            // The text of a message counts toward the limit of its body.
            false if answers || thinks && !in_list => 0,
            false => lead,
        };
        let (within, place) = within_limit(&text[..counted], span, blank.len(), out);
        if within.len() < counted {
            return blank.push(within, place, out.keep);
        }
        blank.push(text, span, out.keep);
        let is_blank = blank.as_str().trim_ascii().is_empty();
        let kind = match (self.turn.map(|turn| turn.role), thinks) {
            (_, true) if !self.in_list => match self.rules.may_be_of_close(blank.as_str()) {
                true => return,
                false => Kind::Reasoning,
            },
            _ if answers && !is_uncertain => Kind::Text { apart: false },
            _ if is_blank => return,
            (Some(Role::Assistant) | None, _) if self.in_list => {
                return self.stray_in_list(out);
            }
            (Some(Role::Assistant) | None, _) if is_uncertain => return,
            (Some(Role::Assistant) | None, _) => Kind::Text { apart: false },
            (Some(Role::Tool), _) => Kind::Reply,
            (Some(role), _) => Kind::Said(role),
        };
        let mut blank = std::mem::take(blank);
        if matches!(kind, Kind::Text { .. }) && !answers {
            self.tell_bare(blank.span(), out);
        }
        let is_exact = matches!(kind, Kind::Said(_)) && self.rules.replies.said.is_some();
        if kind != Kind::Reasoning && !is_exact && !answers && self.has_layout_before_text() {
            // The white space before it is layout, but not after a token of reasoning.
            blank.trim_start();
        }
        if self.begins_guarded(kind, &blank) {
            return self.begin_guarded(blank, out);
        }
        self.speak_or_call(kind, blank, out);
    }

    /// Whether white space before a text is layout here: after calls that stand on lines of their own.
    pub(super) fn has_layout_before_text(&self) -> bool {
        match self.said {
            _ if self.rules.replies.inside.is_some() => false,
            Some(Kind::Call { .. }) => {
                let calls = &self.rules.sections.calls;
                calls.lead > 0 || calls.list.is_some_and(|(open, _)| open.before > 0)
            }
            said => said == Some(Kind::Reply),
        }
    }

    /// Whether nothing follows the token that opened reasoning, no line break either.
    fn is_untouched(&self) -> bool {
        let is_blank = matches!(&self.state, State::Turn(kept) if kept.is_empty());
        is_blank && self.pad == self.rules.sections.reasoning.open.after
    }

    /// Whether reasoning is open and its message has not begun.
    pub(super) fn thinks(&self) -> bool {
        self.inside == Some(Section::Reasoning)
    }

    /// Begins a message at the token at `span`, and at the line breaks before it in its turn.
    pub(super) fn open_at(&mut self, span: Span) {
        let follows = self.said.is_some() && matches!(self.state, State::Turn(_));
        self.layout.opened.get_or_insert(if follows { self.layout.edge } else { span.start });
    }

    /// Reads a token of a section, in a turn.
    pub(super) fn section(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Turn(_) = &self.state else { return };
        self.leave_answer(control, span, out);
        let reasoning = &self.rules.sections.reasoning;
        match control {
            Control::OpenSection(Section::Reasoning) if self.inside.is_none() && !self.in_list => {
                self.open_at(span);
                self.inside = Some(Section::Reasoning);
                self.thought = self.thought.open();
                self.behind(reasoning.open);
            }
            Control::CloseSection(Section::Reasoning)
                if self.thinks() && self.thought != Thought::Interrupted =>
            {
                let is_bare = reasoning.none == NoReasoning::Bare && self.is_untouched();
                self.open_at(span);
                self.inside = None;
                self.thought = self.thought.close();
                let after = if is_bare { 0 } else { reasoning.close.after };
                self.behind(Mark { after, ..reasoning.close });
            }
            Control::CloseSection(Section::Reasoning) if self.ends_unopened(control) => {
                self.end_unopened(span, out);
            }
            Control::CloseSection(Section::Reasoning)
                if !self.rules.is_silent_at_first() && self.said.is_none() =>
            {
                self.open_at(span);
                self.thought = self.thought.close();
                self.behind(reasoning.close);
            }
            Control::OpenSection(Section::Answer) if self.may_answer() => {
                self.open_at(span);
                self.open_answer(span, out);
            }
            Control::CloseSection(Section::Answer) if self.answers() => self.close_answer(span),
            Control::OpenSection(Section::Calls) if self.rules.sections.calls.list.is_some() => {
                self.uncertain_call(span, out);
                self.open_at(span);
                self.in_list = true;
                self.state = State::Turn(Kept::default());
            }
            Control::CloseSection(Section::Calls) if self.in_list => self.end_list(span, out),
            Control::OpenSection(Section::Call) => self.open_call(span, out),
            Control::OpenSection(Section::Reply) => self.open_reply(span, out),
            _ => self.stray_section(control, span, out),
        }
    }

    /// Begins a call at the token at `span`.
    fn open_call(&mut self, span: Span, out: &mut Out<'a, '_>) {
        self.uncertain_call(span, out);
        self.lacks_list(span, out);
        self.open_at(span);
        if self.rules.sections.calls.guard.is_some() {
            return self.begin_marked_calls(span);
        }
        let mut call = match self.rules.sections.calls.are_listed() {
            true => Call::list(span.start),
            false => Call::new(span.start),
        };
        call.is_odd = self.is_uncertain();
        self.state = State::Call(Box::new(call));
        self.pad = 0;
    }

    /// Reports a call outside of the list of calls.
    fn lacks_list(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let Some((open, _)) = self.rules.sections.calls.list.filter(|_| !self.in_list) else {
            return;
        };
        let text = format!("missing `{}` before this call", self.rules.spelling(open.control));
        self.layout.keeps = false;
        out.tolerate(Code::ParseFrame.at(Span::at(span.start), text));
    }

    /// Ends a list of calls.
    fn end_list(&mut self, span: Span, out: &mut Out<'a, '_>) {
        self.in_list = false;
        if self.thinks() {
            self.open_at(span);
        }
        self.layout.edge = span.end;
        if self.said.is_some() && out.state.messages == self.before {
            let text = "this token ends calls of which nothing is left";
            out.report(Code::ParseFrame.at(span, text).drops(Dropped::Text));
        } else {
            // The token belongs to the last call, whatever follows.
            out.to.close_turn(span.end);
        }
        self.state = State::Turn(Kept::default());
    }

    /// Reports calls inside of reasoning. It is unknown whether the model makes them or only thinks of
    /// them. The text after such a call is still reasoning.
    fn uncertain_call(&mut self, span: Span, out: &mut Out<'a, '_>) {
        if self.in_list || !self.thinks() || self.rules.sections.reasoning.calls == InnerCalls::End
        {
            return;
        }
        let close = self.rules.spelling(self.rules.sections.reasoning.close.control);
        let text = format!("missing `{close}` between the reasoning and the call");
        self.layout.keeps = false;
        out.malformed(Code::ParseFrame.at(span, text).help("the call is not run"));
    }

    fn open_reply(&mut self, span: Span, out: &mut Out<'a, '_>) {
        if self.turn.is_some_and(|turn| turn.role == Role::Assistant) {
            let control = Control::OpenSection(Section::Reply);
            // It is text of reasoning, if that goes on behind a call.
            let is_thought = self.rules.replies.inside.is_none() && self.thought.is_uncertain();
            if self.rules.replies.turn.is_some() || is_thought {
                return self.stray_section(control, span, out);
            }
            match self.rules.replies.inside {
                Some(_) if !self.thinks() => {
                    self.close_turn(control, self.is_completion, span, out);
                    if self.is_completion {
                        return;
                    }
                }
                _ => self.unclosed_turn(span, out),
            }
            if out.state.stopped.is_some() {
                return;
            }
            self.turn = None;
        }
        if !out.admits(span) {
            return;
        }
        self.open_at(span);
        self.begin_reply(span.end, out);
    }

    /// Ends the section of a body, at its own end token.
    pub(super) fn end_section(&mut self, mark: Mark, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(body) = std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        if body.kind == Kind::Reasoning {
            self.thought = self.thought.close();
        }
        self.end_body(body, mark.before, End::End, span.end, out);
        self.inside = None;
        let said = self.rules.replies.said.filter(|_| self.said == Some(Kind::Reply));
        self.behind(Mark { after: said.unwrap_or(mark.after), ..mark });
        if self.turn.is_none() {
            self.state = State::Outside(Kept::default());
        }
    }

    /// Reads a token of a section, in a body.
    pub(super) fn in_body(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        let State::Body(body) = &self.state else { return };
        if self.ends_unopened(control) {
            return self.end_unopened(span, out);
        }
        if let Some(mark) = self.rules.closing(body.kind, control) {
            return self.end_section(mark, span, out);
        }
        let goes_on = match (body.kind, control) {
            (Kind::Reasoning, Control::OpenSection(Section::Calls | Section::Call)) => {
                let reasoning = &self.rules.sections.reasoning;
                let ends = reasoning.calls == InnerCalls::End;
                Some(if ends { reasoning.close.before } else { 0 })
            }
            (Kind::Reasoning, Control::OpenSection(Section::Answer))
                if self.rules.sections.answer.is_some() =>
            {
                Some(self.rules.sections.reasoning.close.before)
            }
            (Kind::Text { .. }, Control::OpenSection(Section::Answer)) if !body.is_marked => {
                Some(0)
            }
            (Kind::Text { .. }, Control::OpenSection(Section::Calls | Section::Call)) => {
                Some(self.rules.sections.calls.lead)
            }
            (Kind::Text { .. }, Control::OpenSection(Section::Reasoning)) => Some(0),
            (Kind::Said(_), _) => {
                self.turn = None;
                Some(0)
            }
            (Kind::Text { .. } | Kind::Reasoning, _)
                if self.rules.replies.turn.is_none() && self.rules.opens_reply(control) =>
            {
                self.rules.replies.item.map(|(open, _)| open.before)
            }
            _ => None,
        };
        let Some(before) = goes_on else { return self.stray_section(control, span, out) };
        let State::Body(mut body) =
            std::mem::replace(&mut self.state, State::Turn(Kept::default()))
        else {
            return;
        };
        let reasoned = body.kind == Kind::Reasoning;
        self.tell_unclosed_answer(&body, span, out);
        body.settle(before, out);
        let at = body.end();
        self.end_body(body, before, End::End, at, out);
        self.inside = reasoned.then_some(Section::Reasoning);
        if out.admits(span) {
            self.section(control, span, out);
        }
    }
}
