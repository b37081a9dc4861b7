//! Makes messages of regions.

use std::sync::Arc;

use openchatml::{
    Channel, Code, Diagnostic, Dropped, End, Message, ReadOptions, Recover, Role, Severity, Span,
    Value,
};

use super::calls::{Call, calls, name_of};
use super::emit::{Emitter, hidden};
use super::python::is_space;
use super::regions::{Captures, Close, Receiver};
use super::scan::Match;
use super::spec::{Field, Meaning, Spec};

/// Makes messages of regions, and events of messages.
#[derive(Debug)]
pub(super) struct Assembler {
    spec: Arc<Spec>,
    options: ReadOptions,
    /// How many bytes of the text are from the prompt.
    prompt: usize,
    pub(super) out: Emitter,
    region: Region,
    /// Whether each field occurred.
    occurred: Vec<bool>,
    /// Whether reading stopped, because of the policy `error`.
    is_stopped: bool,
}

/// The current region.
#[derive(Debug, Default)]
struct Region {
    field: Option<usize>,
    is_explicit: bool,
    captures: Captures,
    start: usize,
    /// Whether there is text that is not white space.
    has_text: bool,
    /// White space that belongs to the message if more text follows.
    space: String,
    /// The text, if its field is parsed as a whole.
    body: String,
    /// Where the text was cut.
    cut: Option<usize>,
}

impl Assembler {
    pub(super) fn new(spec: &Arc<Spec>, options: &ReadOptions, prompt: usize) -> Self {
        Self {
            spec: Arc::clone(spec),
            options: options.clone(),
            prompt,
            out: Emitter::new(&options.limits),
            region: Region { field: spec.implicit, ..Region::default() },
            occurred: vec![false; spec.fields.len()],
            is_stopped: false,
        }
    }

    /// Opens a region without an anchor.
    pub(super) fn enter(&mut self, field: usize) {
        let start = self.prompt;
        self.region = Region { field: Some(field), is_explicit: true, start, ..Region::default() };
    }

    /// Reports required fields that did not occur.
    pub(super) fn finish(&mut self, end: usize) {
        let spec = Arc::clone(&self.spec);
        for (field, occurred) in spec.fields.iter().zip(self.occurred.clone()) {
            if field.is_required && !occurred {
                let text =
                    format!("missing field `{}`, which the response template requires", field.name);
                self.out.report(Code::ParseFrame.at(self.span(end, end), text));
            }
        }
    }

    /// Returns a span of the output.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(start.saturating_sub(self.prompt), end.saturating_sub(self.prompt))
    }

    fn field(&self) -> Option<&Field> {
        Some(&self.spec.fields[self.region.field?])
    }

    /// Returns a message for text that is passed on as it arrives; `None` if the region is parsed as
    /// a whole.
    fn streamed(&self) -> Option<(Message<'static>, bool)> {
        let field = self.field()?;
        let strip = field.content.as_text().filter(|_| field.transform.is_none())?;
        message(field.meaning).map(|message| (message, strip))
    }

    /// Reads text of a region that is passed on as it arrives.
    fn stream(&mut self, text: &str, at: usize, mut message: Message<'static>, strip: bool) {
        let told = if strip { text.trim_end_matches(is_space) } else { text };
        if !told.is_empty() {
            let mut told_from = 0;
            if !self.region.has_text {
                told_from =
                    if strip { told.len() - told.trim_start_matches(is_space).len() } else { 0 };
                self.region.has_text = true;
                if !self.region.is_explicit {
                    self.region.start = at + told_from;
                }
                message.span = self.span(self.region.start, at + told_from);
                self.out.begin(message);
            }
            let space = std::mem::take(&mut self.region.space);
            self.out.text(&space);
            self.out.text(&told[told_from..]);
        }
        // More white space than the limit is cut anyway.
        if self.region.has_text && self.region.space.len() <= self.options.limits.message_bytes {
            self.region.space.push_str(&text[told.len()..]);
        }
    }

    /// Ends a region that was passed on as it arrived.
    fn end_streamed(&mut self, message: Message<'static>, end: usize, how: Close) {
        let span = self.span(self.region.start, end);
        let is_open = self.is_open(how);
        if !self.region.has_text {
            // An empty region says nothing, unless it is incomplete.
            if !is_open {
                return;
            }
            self.out.begin(message);
        }
        if is_open {
            self.out.report(self.truncated(span));
        }
        self.out.end(if is_open { End::Open } else { End::End }, span);
    }

    /// Keeps text that is in no field, or drops it.
    fn end_outside(&mut self, end: usize) {
        let body = std::mem::take(&mut self.region.body);
        // Models repeat the beginning of the message before each part of it.
        if self.spec.start.as_ref().is_some_and(|start| start.is_all_of(&body)) {
            return;
        }
        let span = self.span(self.region.start, end);
        if is_tokens(&body) {
            let text = "tokens outside of all fields of the response template";
            let mut found = Code::ParseFrame.at(span, text);
            found.severity = Severity::Note;
            return self.out.report(found);
        }
        let text = "text outside of all fields of the response template";
        let mut found = Code::ParseFrame.at(span, text);
        match self.options.recover {
            Recover::Drop | Recover::Error => {
                found.dropped = Some(Dropped::Text);
                self.is_stopped = self.options.recover == Recover::Error;
                self.out.report(found);
            }
            _ => {
                let body = body.trim_matches(is_space);
                self.report_with(found, hidden(), body, span, End::End);
                self.report_cut();
            }
        }
    }

    /// Reports that the text of a region was cut.
    fn report_cut(&mut self) {
        if let Some(cut) = self.region.cut {
            let most = self.options.limits.message_bytes;
            let rest = self.span(cut, cut);
            self.out.limit("message_bytes", most, rest, "the rest will be dropped");
        }
    }

    /// Whether the region is incomplete.
    fn is_open(&self, how: Close) -> bool {
        let is_whole = self.field().is_none_or(|field| field.ends_with_text);
        how == Close::EndOfText && self.region.is_explicit && !is_whole
    }

    fn truncated(&self, span: Span) -> Diagnostic {
        let name = self.field().map_or("", |field| &field.name);
        Code::StreamTruncated.at(span, format!("the text ends inside the field `{name}`"))
    }

    /// Parses the text of a region.
    fn parse(&self, field: &Field) -> Result<Value<'static>, String> {
        let Region { body, captures, cut, .. } = &self.region;
        match cut {
            Some(_) => Err("the text exceeds the limit `message_bytes`".to_owned()),
            None => field.value(body, captures, &self.options.limits),
        }
    }

    /// Ends a region that is parsed as a whole.
    fn end_parsed(&mut self, field: &Field, end: usize, how: Close) {
        let span = self.span(self.region.start, end);
        let is_open = self.is_open(how);
        if is_open {
            self.out.report(self.truncated(span));
        }
        let ended = if is_open { End::Open } else { End::End };
        let value = match self.parse(field) {
            Ok(value) => value,
            Err(text) => return self.broken(field, span, ended, &text),
        };
        match field.meaning {
            Meaning::Calls => {
                let limits = &self.options.limits;
                for call in calls(value, &self.options.tools, limits) {
                    self.call(field, call, span, ended);
                }
            }
            Meaning::Answer | Meaning::Reasoning => {
                let text = value.as_str().map_or_else(|| value.to_json(), str::to_owned);
                if let Some(message) =
                    message(field.meaning).filter(|_| !text.is_empty() || is_open)
                {
                    self.tell(message, &text, span, ended);
                }
            }
            Meaning::Role if value.as_str() == Some(Role::Assistant.as_str()) => {}
            Meaning::Role | Meaning::Other => {
                let text = format!(
                    "the field `{}` has no place in a message: its text is hidden",
                    field.name
                );
                let mut found = Code::UnknownKey.at(span, text);
                found.severity = Severity::Warning;
                let body = std::mem::take(&mut self.region.body);
                // Text in groups of the anchors is only in the value.
                let body = if body.is_empty() { value.to_json() } else { body };
                self.report_with(found, hidden(), &body, span, ended);
            }
        }
    }

    fn call(&mut self, field: &Field, call: Call, span: Span, ended: End) {
        let Call { name, id, arguments, wrong } = call;
        let mut message = name.map_or_else(hidden, |name| Message::call(&name, ""));
        message.call_id = id.map(Into::into);
        match wrong {
            Some(wrong) => {
                message.recovered = true;
                let text = format!("invalid call in the field `{}`: {wrong}", field.name);
                let found = Code::BodyConstraintViolation.at(span, text);
                self.report_with(
                    found.help("the call must not run"),
                    message,
                    &arguments,
                    span,
                    ended,
                );
            }
            None => {
                let ended = if ended == End::Open { ended } else { End::Call };
                self.tell(message, &arguments, span, ended);
            }
        }
    }

    /// Keeps the text of a region that cannot be parsed.
    fn broken(&mut self, field: &Field, span: Span, ended: End, wrong: &str) {
        let text = format!("invalid field `{}`: {wrong}", field.name);
        let found = Code::BodyConstraintViolation.at(span, text);
        let mut message = hidden();
        if field.meaning == Meaning::Calls
            && let Some(name) =
                field.without_content(&self.region.captures).as_ref().and_then(name_of)
        {
            message = Message::call(&name, "");
            message.recovered = true;
        }
        let body = std::mem::take(&mut self.region.body);
        if body.is_empty() && message.recipient.is_none() {
            return self.out.report(found);
        }
        self.report_cut();
        self.report_with(found, message, &body, span, ended);
    }

    fn tell(&mut self, mut message: Message<'static>, text: &str, span: Span, end: End) {
        message.span = span;
        self.out.begin(message);
        self.out.text(text);
        self.out.end(end, span);
    }

    fn report_with(
        &mut self,
        found: Diagnostic,
        mut message: Message<'static>,
        text: &str,
        span: Span,
        end: End,
    ) {
        message.span = span;
        self.out.begin(message);
        self.out.report(found);
        self.out.text(text);
        self.out.end(end, span);
    }
}

impl Receiver for Assembler {
    fn open(&mut self, field: usize, captures: Captures, found: Match) {
        if self.is_stopped {
            return;
        }
        let start = found.start;
        self.region =
            Region { field: Some(field), is_explicit: true, captures, start, ..Region::default() };
    }

    fn text(&mut self, text: &str, at: usize) {
        if self.is_stopped {
            return;
        }
        if let Some((message, strip)) = self.streamed() {
            return self.stream(text, at, message, strip);
        }
        if !self.region.is_explicit && self.region.body.is_empty() {
            self.region.start = at;
        }
        let left = self.options.limits.message_bytes - self.region.body.len();
        if self.region.cut.is_none() {
            let kept = text.floor_char_boundary(left.min(text.len()));
            self.region.body.push_str(&text[..kept]);
            self.region.cut = (kept < text.len()).then_some(at + kept);
        }
    }

    fn close(&mut self, captures: Captures, end: usize, how: Close) {
        if self.is_stopped {
            return;
        }
        // The groups of the anchor that closes the region come last, so they count.
        self.region.captures.extend(captures);
        let spec = Arc::clone(&self.spec);
        let field = self.region.field.map(|at| &spec.fields[at]);
        let streamed = self.streamed();
        let is_blank = |text: &str| text.chars().all(is_space);
        let is_empty = match streamed {
            Some(_) => !self.region.has_text,
            None => is_blank(&self.region.body),
        };
        if let Some(at) = self.region.field.filter(|_| self.region.is_explicit || !is_empty) {
            self.occurred[at] = true;
        }
        match (streamed, field) {
            (Some((message, _)), _) => self.end_streamed(message, end, how),
            (None, Some(field)) if self.region.is_explicit || !is_empty => {
                self.end_parsed(field, end, how);
            }
            (None, None) if !is_empty => self.end_outside(end),
            (None, _) => {}
        }
        self.region = Region { field: spec.implicit, start: end, ..Region::default() };
        if self.is_stopped {
            let text = "the rest of the input will be dropped";
            let mut found = Code::ParseFrame.at(self.span(end, end), text);
            found.dropped = Some(Dropped::Text);
            self.out.report(found);
        }
    }

    fn too_long(&mut self, start: usize, end: usize) {
        let most = self.options.limits.header_bytes;
        let text = format!(
            "what could be an anchor of the response template exceeds the limit `header_bytes` of {most}: it is read as text"
        );
        self.out.report(Code::Limit.at(self.span(start, end), text));
    }
}

/// Whether a text consists of what is spelled like tokens, such as `<|end|>` or `</s>`.
fn is_tokens(text: &str) -> bool {
    let is_token = |it: &str| {
        let inside = it.strip_prefix('<').unwrap_or_default();
        !inside.is_empty()
            && inside.len() <= 64
            && !inside.contains(|c: char| c == '<' || is_space(c))
    };
    let (tokens, rest) = text.rsplit_once('>').unwrap_or(("", text));
    rest.trim().is_empty() && tokens.split('>').all(|it| is_token(it.trim_start()))
}

/// Creates the message of a field whose content is text.
fn message(meaning: Meaning) -> Option<Message<'static>> {
    let mut message = Message::new(Role::Assistant, "");
    message.channel = Some(match meaning {
        Meaning::Answer => Channel::Final,
        Meaning::Reasoning => Channel::Analysis,
        Meaning::Calls | Meaning::Role | Meaning::Other => return None,
    });
    Some(message)
}
