//! The writer of OpenChatML 0.1 and its dialects: turns, and the other kinds of documents.

use super::{Close, TurnOptions};
use super::{Rules, Wrap};
use crate::grammar::frame::sanitized;
use crate::lex::TokenTable;
use crate::model::{
    Content, Conversation, Document, DocumentLayout, End, FormId, Infill, InfillOrder, Layout,
    Message, Part, Raw,
};
use crate::options::{LayoutChoice, RenderOptions, Values};
use crate::writing::{
    Part as MessagePart, Place, RenderError, Sink, SinkError, check_value, write_raw,
};
use crate::{Code, Control, Span};

/// Writes a document.
pub(crate) fn write(
    rules: &'static Rules,
    document: &Document<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let turns = options.get().copied().unwrap_or_default();
    let mut writer = Writer { rules, options, turns, sink };
    match document {
        Document::Conversation(conversation) => writer.conversation(conversation, false),
        Document::Infill(infill) if rules.has_files => writer.infill(infill, "", ""),
        Document::Files(parts) if rules.has_files => writer.files(parts),
        Document::Infill(_) | Document::Files(_) | Document::Pair(_) => {
            Err(RenderError::not_a_conversation(rules.form.name()))
        }
    }
}

struct Writer<'w> {
    rules: &'static Rules,
    options: &'w RenderOptions,
    turns: TurnOptions,
    sink: &'w mut dyn Sink,
}

type Written = Result<(), RenderError>;

fn document_error(error: SinkError) -> RenderError {
    RenderError::sink(error, None, Place::Document)
}

impl Writer<'_> {
    fn keeps(&self, form: FormId) -> bool {
        self.options.layout == LayoutChoice::Keep && form == self.rules.form
    }

    fn around<'l>(&self, layout: Option<&'l DocumentLayout<'_>>) -> [Option<&'l Raw<'l>>; 2] {
        match layout.filter(|layout| self.keeps(layout.form)) {
            Some(layout) => [layout.lead.as_ref(), layout.tail.as_ref()],
            None => [None, None],
        }
    }

    /// Returns the kept layout around a text. The tokens that begin and end a sequence are kept
    /// even if layout is not.
    fn around_text<'l>(&self, layout: Option<&'l DocumentLayout<'_>>) -> [Option<&'l Raw<'l>>; 2] {
        let kept = self.around(layout);
        let of_dialect = layout.filter(|layout| layout.form == self.rules.form);
        let has_token = |raw: &&Raw<'_>| !raw.is_text();
        let lead = of_dialect.and_then(|layout| layout.lead.as_ref()).filter(has_token);
        let tail = of_dialect.and_then(|layout| layout.tail.as_ref()).filter(has_token);
        [kept[0].or(lead), kept[1].or(tail)]
    }

    fn raw(&mut self, raw: &Raw<'_>) -> Written {
        write_raw(raw, self.sink).map_err(document_error)
    }

    /// Writes the kept layout, or the given white space if there is none.
    fn kept_or(&mut self, kept: Option<&Raw<'_>>, usual: &str) -> Written {
        match kept {
            Some(raw) => self.raw(raw),
            None => self.sink.text(usual).map_err(document_error),
        }
    }

    fn conversation(
        &mut self,
        conversation: &Conversation<'_>,
        follows_separator: bool,
    ) -> Written {
        let [kept_lead, tail] = self.around(conversation.layout.as_deref());
        self.raw(kept_lead.unwrap_or(&self.rules.lead(follows_separator)))?;
        let own_tail = self.rules.tail(!conversation.messages.is_empty());
        if conversation.messages.is_empty() && self.options.generation_prompt.is_none() {
            // If the lead of an empty conversation is kept, it is the whole document.
            let is_open = self.rules.wrap == Wrap::Required && kept_lead.is_none();
            return if is_open { self.raw(&own_tail) } else { Ok(()) };
        }
        let last = conversation.messages.len().saturating_sub(1);
        for (index, message) in conversation.messages.iter().enumerate() {
            let is_last = index == last && self.options.generation_prompt.is_none();
            let open = is_last
                && (self.options.continue_final || matches!(message.end, End::Open | End::Prompt));
            self.sink.part(MessagePart::Opening(index));
            self.message(message, open)
                .map_err(|(place, error)| RenderError::sink(error, Some(index), place))?;
            if open {
                return Ok(());
            }
            let layout = message.layout.as_deref().filter(|layout| self.keeps(layout.form));
            match layout.and_then(|layout| layout.after.as_ref()) {
                _ if is_last => self.raw(tail.unwrap_or(&own_tail))?,
                after => self.kept_or(after, "\n")?,
            }
        }
        if let Some(role) = self.options.generation_prompt {
            let mut prompt = Message::new(role, "");
            prompt.end = End::Open;
            let index = conversation.messages.len();
            self.sink.part(MessagePart::Opening(index));
            self.message(&prompt, true)
                .map_err(|(place, error)| RenderError::sink(error, Some(index), place))?;
        }
        Ok(())
    }

    fn message(&mut self, message: &Message<'_>, open: bool) -> Result<(), (Place, SinkError)> {
        let layout = message.layout.as_deref().filter(|layout| self.keeps(layout.form));
        let controls = self.rules.controls;
        let sink = &mut *self.sink;
        sink.control(Control::Start).map_err(|error| (Place::Role, error))?;
        let raw = layout.and_then(|layout| layout.header.as_ref());
        let raw = raw.filter(|raw| says_the_same(raw.as_str(), message));
        match raw {
            Some(raw) => write_raw(raw, sink).map_err(|error| (Place::Role, error))?,
            None if self.options.values == Values::Sanitize => {
                header(&sanitized(message, controls), self.rules, controls, sink)?;
            }
            None => header(message, self.rules, controls, sink)?,
        }
        if open && message.end == End::Prompt {
            return Ok(());
        }
        let body = |error| (Place::Body, error);
        let raw = raw.map(Raw::as_str);
        if !raw.is_some_and(|raw| raw.ends_with('\n')) {
            sink.text("\n").map_err(body)?;
        }
        let content = message.body.text();
        sink.part(MessagePart::Body);
        sink.text(&content).map_err(body)?;
        if open {
            return Ok(());
        }
        let close = self.close(layout, &content, raw.is_some_and(|raw| raw.ends_with("\r\n")));
        let sink = &mut *self.sink;
        sink.text(close).map_err(body)?;
        sink.part(MessagePart::End);
        sink.control(Control::End).map_err(|error| (Place::End, error))?;
        sink.part(MessagePart::Gap);
        Ok(())
    }

    /// Returns the text between the content and `<|im_end|>`.
    fn close<'l>(&self, layout: Option<&'l Layout<'_>>, content: &str, crlf: bool) -> &'l str {
        if self.rules.close == Close::Compact {
            return "";
        }
        let needed = if crlf { "\r\n" } else { "\n" };
        let is_right = |close: &&str| match *close {
            // The last line break of the content would be read as framing.
            "" => !content.ends_with('\n'),
            // It would be read as the second half of a CRLF that the content begins.
            "\n" => !(crlf && content.ends_with('\r')),
            close => close == needed,
        };
        let kept = layout.and_then(|layout| layout.close.as_deref());
        let usual = if self.turns.close == Close::Compact { "" } else { "\n" };
        [kept, Some(usual)].into_iter().flatten().find(is_right).unwrap_or(needed)
    }

    fn files(&mut self, parts: &[Part<'_>]) -> Written {
        let is_sequence = match parts {
            [] => false,
            // Without a separator, only text is read as a file.
            [part] => matches!(&part.content, Content::Text(text) if !text.trim_ascii().is_empty()),
            _ => true,
        };
        if !is_sequence {
            let text = "a sequence with a single file that is not text would be read as that file";
            let error = RenderError::new(Code::RenderUnsupported, None, text);
            return Err(error.help("write only the file, or write `json`"));
        }
        for (index, part) in parts.iter().enumerate() {
            let (first, last) = (index == 0, index + 1 == parts.len());
            if !first {
                self.sink.control(Control::FileSeparator).map_err(document_error)?;
            }
            let lead = if first { "" } else { "\n" };
            let tail = if last { "" } else { "\n" };
            match &part.content {
                Content::Text(text) => {
                    let [kept_lead, kept_tail] = self.around_text(part.layout.as_deref());
                    // A line break at the beginning or end of a text would be read as framing.
                    let kept_lead =
                        kept_lead.filter(|lead| !lead.is_empty() || !text.starts_with('\n'));
                    let kept_tail =
                        kept_tail.filter(|tail| !tail.is_empty() || !text.ends_with('\n'));
                    self.kept_or(kept_lead, lead)?;
                    self.sink.text(text).map_err(document_error)?;
                    self.kept_or(kept_tail, tail)?;
                }
                Content::Infill(infill) => self.infill(infill, lead, tail)?,
                Content::Conversation(conversation) => {
                    self.part_conversation(part, conversation, first)?
                }
            }
        }
        Ok(())
    }

    fn part_conversation(
        &mut self,
        part: &Part<'_>,
        conversation: &Conversation<'_>,
        first: bool,
    ) -> Written {
        if conversation.messages.is_empty() {
            let text = "a file without messages would be read as text";
            let error = RenderError::new(Code::RenderUnsupported, None, text);
            return Err(error.help("remove it, or write `json`"));
        }
        let mut whole = conversation.clone();
        whole.layout = part.layout.clone().map(|layout| Box::new(layout.into_owned()));
        self.conversation(&whole, !first)
    }

    fn infill(&mut self, infill: &Infill<'_>, lead: &str, tail: &str) -> Written {
        let [kept_lead, kept_tail] = self.around(infill.layout.as_deref());
        self.kept_or(kept_lead, lead)?;
        let order = self.turns.infill_order.unwrap_or(infill.order);
        let prefix = (Control::FimPrefix, infill.prefix.as_ref());
        let suffix = (Control::FimSuffix, infill.suffix.as_ref());
        let middle = (Control::FimMiddle, infill.middle.as_deref().unwrap_or_default());
        let slots = match order {
            InfillOrder::PrefixMiddleSuffix => [prefix, middle, suffix],
            InfillOrder::PrefixSuffixMiddle => [prefix, suffix, middle],
            InfillOrder::SuffixPrefixMiddle => [suffix, prefix, middle],
        };
        for (control, text) in slots {
            self.sink.control(control).map_err(document_error)?;
            self.sink.text(text).map_err(document_error)?;
        }
        let ends_in_line_break = slots[2].1.ends_with('\n');
        self.kept_or(kept_tail.filter(|raw| !(raw.is_empty() && ends_in_line_break)), tail)
    }
}

/// Writes `role [name=<name>]`, without the line break.
fn header(
    message: &Message<'_>,
    rules: &Rules,
    controls: &'static TokenTable,
    sink: &mut dyn Sink,
) -> Result<(), (Place, SinkError)> {
    if !rules.roles.contains(&message.role) {
        let reason = "this dialect has no such role";
        return Err((Place::Role, SinkError::new(Span::default(), "", reason)));
    }
    sink.text(message.role.as_str()).map_err(|error| (Place::Role, error))?;
    if let Some(name) = &message.name {
        check_value(name, controls).map_err(|error| (Place::Name, error))?;
        for text in [" name=", name.as_ref()] {
            sink.text(text).map_err(|error| (Place::Name, error))?;
        }
    }
    Ok(())
}

/// Whether the header that was read still matches the message.
fn says_the_same(raw: &str, message: &Message<'_>) -> bool {
    let mut words = raw.split_ascii_whitespace();
    let role = words.next() == Some(message.role.as_str());
    let name = words.next().map(|word| word.strip_prefix("name=").unwrap_or_default());
    role && name == message.name.as_deref() && words.next().is_none()
}
