//! Reads everything outside of messages: sequences, fill-in-the-middle tasks and files (SPEC 0.1
//! §4–§6).

use super::Wrap;
use super::reader::{Reader, State};
use crate::grammar::stray;
use crate::model::{Content, DocumentLayout, Infill, Part, Raw};
use crate::reading::{Gap, Out, Place};
use crate::{Code, Control, Dropped, Fix, Span};

/// The end of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// `<|file_separator|>`: the line break before it belongs to the framing.
    Separator,
    /// The end of the document.
    Document,
}

impl<'a> Reader<'a> {
    /// `<s>` and `</s>`.
    pub(super) fn wrapper(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) {
        if control == Control::Eos {
            out.stop_token();
        }
        let spelling = self.spelled(control);
        let again = match control {
            Control::Bos => std::mem::replace(&mut self.bos, true) || self.has_messages(),
            _ => std::mem::replace(&mut self.eos, true),
        };
        if again {
            let found = Code::ParseFrame.at(span, format!("`{spelling}` is not allowed here"));
            out.malformed(found.help("a document contains only one sequence").drops(Dropped::Text));
            self.keeps_gap = false;
            return;
        }
        if let State::Infill(slots, lead) = &mut self.state {
            let slots = std::mem::take(slots);
            let lead = std::mem::take(lead);
            let mut infill = slots.finish(span.start, out);
            infill.layout = self.infill_lead(lead, out);
            self.state = State::AfterInfill(infill, Gap::default());
        }
        match &mut self.state {
            State::Outside(gap) | State::AfterInfill(_, gap) => {
                gap.push_control(control, spelling, span, out.keep);
            }
            _ => {}
        }
    }

    /// Returns the layout before a fill-in-the-middle task.
    fn infill_lead(
        &mut self,
        mut lead: Gap<'a>,
        out: &mut Out<'a, '_>,
    ) -> Option<Box<DocumentLayout<'a>>> {
        let canonical = if self.follows_separator { "\n" } else { "" };
        if !self.is_blank(&lead) {
            self.stray(lead, out);
            return None;
        }
        if lead.as_str() == canonical {
            return None;
        }
        DocumentLayout::around(self.rules.form, Some(lead.take()), None)
    }

    /// Reads the text before a message, which is layout or stray text.
    pub(super) fn before_message(&mut self, span: Span, out: &mut Out<'a, '_>) {
        let state = std::mem::replace(&mut self.state, State::Outside(Gap::default()));
        let mut gap = match state {
            State::Outside(gap) => gap,
            State::Infill(slots, lead) => {
                let text = "a fill-in-the-middle task cannot contain messages";
                out.malformed(Code::ParseFrame.at(span, text));
                let mut infill = slots.finish(span.start, out);
                infill.layout = self.infill_lead(lead, out);
                out.to.infill(infill);
                self.keeps_gap = false;
                return;
            }
            State::AfterInfill(infill, after) => {
                let text = "no message is allowed after a fill-in-the-middle task";
                out.malformed(Code::ParseFrame.at(span, text));
                out.to.infill(infill);
                after
            }
            _ => return,
        };
        let wraps = self.rules.wrap == Wrap::Required;
        let is_first = !self.has_messages();
        self.began = true;
        if is_first && wraps && !self.bos {
            let at = Span::at(span.start);
            let bos = self.spelled(Control::Bos);
            let found = Code::ParseFrame
                .at(at, format!("missing `{bos}` at the beginning of the conversation"));
            // After stray text, a new token would become part of that text.
            out.tolerate(match self.is_blank(&gap) && !self.eos {
                true => found.fix(Fix::safe(at, format!("{bos}\n"))),
                false => found,
            });
        }
        if self.eos {
            let found =
                Code::ParseFrame.at(span, "no message is allowed after the end of the sequence");
            out.malformed(found);
            self.keeps_gap = false;
        }
        if !self.is_blank(&gap) {
            return self.stray(gap, out);
        }
        if !std::mem::replace(&mut self.keeps_gap, true) {
            return;
        }
        if is_first {
            if !gap.is(&self.rules.lead(self.follows_separator)) {
                out.to.layout(Place::Lead, gap.take(), self.rules.form);
            }
        } else if gap.as_str() != "\n" {
            out.to.layout(Place::After, gap.take(), self.rules.form);
        }
    }

    /// Ends the document, or a part of it, at byte `at`.
    pub(super) fn part(&mut self, at: usize, ends: Ends, out: &mut Out<'a, '_>) {
        match std::mem::replace(&mut self.state, State::Outside(Gap::default())) {
            State::Outside(gap) if self.has_messages() => {
                self.after_messages(gap, at, out);
                self.messages_part(at, ends, out);
            }
            State::Outside(gap) => self.text_part(gap, at, ends, out),
            State::Infill(mut slots, lead) => {
                let has_line_break = ends == Ends::Document || slots.take_line_break();
                let mut infill = slots.finish(at, out);
                infill.layout = self.infill_lead(lead, out);
                if !has_line_break {
                    self.infill_tail(&mut infill, Raw::default());
                }
                self.infill_part(infill, at, ends, out);
            }
            State::AfterInfill(mut infill, mut after) => {
                if self.is_blank(&after) {
                    self.infill_tail(&mut infill, after.take());
                } else {
                    self.stray(after, out);
                }
                self.infill_part(infill, at, ends, out);
            }
            state => self.state = state,
        }
    }

    fn infill_tail(&self, infill: &mut Infill<'a>, tail: Raw<'a>) {
        let layout = infill.layout.get_or_insert_default();
        layout.form = self.rules.form;
        layout.tail = Some(tail);
    }

    /// Whether the part that ends here is one of several.
    fn is_part(&self, ends: Ends) -> bool {
        self.follows_separator || ends == Ends::Separator
    }

    fn infill_part(&self, infill: Infill<'a>, at: usize, ends: Ends, out: &mut Out<'a, '_>) {
        if self.is_part(ends) {
            let span = Span::new(infill.span.start, at);
            out.to.part(Some(Content::Infill(infill).into()), span);
        } else {
            out.to.infill(infill);
        }
    }

    pub(super) fn messages_part(&self, at: usize, ends: Ends, out: &mut Out<'a, '_>) {
        if self.is_part(ends) {
            out.to.part(None, Span::at(at));
        }
    }

    /// Reads the text after the last message, up to byte `end`.
    fn after_messages(&mut self, mut gap: Gap<'a>, end: usize, out: &mut Out<'a, '_>) {
        if !self.is_blank(&gap) {
            return self.stray(gap, out);
        }
        let is_open = out.options.open_prompt || out.options.continues.is_some();
        if self.rules.wrap == Wrap::Required && !self.eos && !is_open {
            let at = Span::at(end);
            let eos = self.spelled(Control::Eos);
            let found =
                Code::ParseFrame.at(at, format!("missing `{eos}` at the end of the conversation"));
            // If the header is incomplete, a line break would end it.
            let needs_line = self.keeps_gap && !gap.as_str().ends_with('\n');
            let line = if needs_line { "\n" } else { "" };
            let missing = format!("{line}{eos}\n");
            out.tolerate(found.fix(Fix::safe(at, missing)));
        }
        if self.keeps_gap && !gap.is(&self.rules.tail(true)) {
            out.to.layout(Place::Tail, gap.take(), self.rules.form);
        }
    }

    /// Ends a part without control tokens: the content of a file.
    fn text_part(&mut self, mut gap: Gap<'a>, at: usize, ends: Ends, out: &mut Out<'a, '_>) {
        if !self.rules.has_files || (self.bos || self.eos) && !self.is_part(ends) {
            if !self.is_blank(&gap) {
                return self.stray(gap, out);
            }
            if !gap.is_empty() {
                out.to.layout(Place::Lead, gap.take(), self.rules.form);
            }
            return;
        }
        if !self.is_part(ends) && gap.as_str().trim_ascii().is_empty() {
            let [bos, eos] = [Control::Bos, Control::Eos].map(|control| self.spelled(control));
            let text = format!("missing `{bos}` at the beginning of the conversation");
            let found = Code::ParseFrame.at(Span::at(at), text);
            out.tolerate(found.fix(Fix::safe(Span::at(at), format!("{bos}\n{eos}\n"))));
            if !gap.is_empty() {
                out.to.layout(Place::Lead, gap.take(), self.rules.form);
            }
            return;
        }
        if !self.is_part(ends) {
            // One of several files can be a transcript itself.
            self.check_version(&gap, out);
        }
        let whole = Span::new(gap.span().start, at);
        let mut lead = None;
        let mut tail = None;
        let is_wrapped = self.is_wrapped(&gap);
        if !is_wrapped {
            let [bos, eos] = [Control::Bos, Control::Eos].map(|control| self.spelled(control));
            let text = format!("`{bos}` and `{eos}` are not allowed in a file");
            out.malformed(Code::ParseFrame.at(whole, text).help("it is read as text"));
        }
        if is_wrapped && self.bos {
            lead = gap.split_front(Control::Bos);
        } else if self.follows_separator && !gap.strip_line_break() {
            lead = Some(Raw::default());
        }
        if is_wrapped && self.eos {
            tail = gap.split_back(Control::Eos);
        } else if ends == Ends::Separator && !gap.pop_line_break() {
            tail = Some(Raw::default());
        }
        let mut part = Part::from(Content::Text(gap.into_text().take()));
        part.layout = DocumentLayout::around(self.rules.form, lead, tail);
        out.to.part(Some(part), whole);
    }

    /// Whether the file contains only white space before the token that begins the sequence, and
    /// after the token that ends it.
    fn is_wrapped(&self, file: &Gap<'a>) -> bool {
        let outside = [file.before(Control::Bos), file.after(Control::Eos)];
        outside.into_iter().flatten().all(|text| text.trim_ascii().is_empty())
    }

    /// Whether the text between messages consists only of white space and the tokens that begin and
    /// end a sequence.
    pub(super) fn is_blank(&self, gap: &Gap<'a>) -> bool {
        gap.is_blank(&[Control::Bos, Control::Eos])
    }

    /// Reports messages of a newer version instead of reading them as text (SPEC 2.2 §13).
    fn check_version(&self, gap: &Gap<'a>, out: &mut Out<'a, '_>) {
        let newer = self.rules.newer;
        let opens = newer.spelling(Control::Message).is_some_and(|it| gap.as_str().contains(it));
        if opens && let Some((at, Control::Start, len)) = newer.find(gap.as_str()) {
            // Text with replacement characters has no exact positions.
            let (all, start) = (gap.span(), gap.span().start + at);
            let is_exact = all.len() == gap.len();
            let place = if is_exact { Span::new(start, start + len) } else { all };
            let text = "this message belongs to OpenChatML 2.x";
            let found = Code::ParseVersion.at(place, text);
            let help = "name the format of this text, or let it be detected";
            out.malformed(found.help(help));
        }
    }

    /// Reports text outside of messages.
    pub(super) fn stray(&mut self, gap: Gap<'a>, out: &mut Out<'a, '_>) {
        self.check_version(&gap, out);
        self.keeps_gap = false;
        let span = gap.span();
        self.messages += usize::from(stray(gap.into_text(), span, out));
    }

    /// Whether messages precede this position, including dropped ones.
    fn has_messages(&self) -> bool {
        self.began || self.messages > 0
    }

    pub(super) fn spelled(&self, control: Control) -> &'static str {
        self.rules.spelled(control)
    }
}
