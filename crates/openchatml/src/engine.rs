//! The engine behind whole documents and streams: it turns text into messages.

use crate::check::Checker;
use crate::dialect::TextForm;
use crate::header::{self, Preamble, Scan};
use crate::lex::{Lexeme, Lexer, Mask, Mode};
use crate::options::ReadOptions;
use crate::reading::{Keep, Out, Reader, Receiver, State};
use crate::{Code, Control, Dropped, Fix, Message, Span};

/// Reads one document, whole or chunk by chunk.
pub(crate) struct Engine<'a> {
    form: &'static TextForm,
    base: Base<'a>,
    phase: Phase<'a>,
    /// Text that has arrived but is still undecided: all text before the messages begin, and
    /// afterwards at most the longest control token.
    carry: String,
    /// The control tokens that text can spell.
    spelled: Mask,
}

/// What every reader gets: the options and the shared state.
struct Base<'a> {
    options: ReadOptions,
    keep: Keep<'a>,
    state: State,
}

enum Phase<'a> {
    Preamble(Preamble),
    Messages(Messages<'a>),
}

struct Messages<'a> {
    lexer: Lexer,
    reader: Box<dyn Reader<'a> + Send + Sync + 'a>,
    /// The end of the last lexeme of another source.
    at: usize,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(form: &'static TextForm, options: &ReadOptions, keep: Keep<'a>) -> Self {
        let phase = match form.header {
            Some(_) if options.continues.is_none() => Phase::Preamble(Preamble::default()),
            _ => Phase::Messages(Messages::new(form, options, 0)),
        };
        let state = State::new(Checker::new(&form.checks));
        let base = Base { options: options.clone(), keep, state };
        Self { form, base, phase, carry: String::new(), spelled: Mask::ALL }
    }

    /// Returns the engine for a carrier in which text can spell only these control tokens, and
    /// which gives pieces.
    pub(crate) fn spelled(mut self, spelled: Mask) -> Self {
        self.spelled = spelled;
        if let Phase::Messages(messages) = &mut self.phase {
            messages.lexer.set_spelled(spelled);
        }
        self
    }

    /// Reads more text. With `last`, `text` can be empty.
    pub(crate) fn feed(&mut self, text: &str, last: bool, to: &mut dyn Receiver<'a>) {
        let mut out = self.base.out(to);
        let preamble = match &mut self.phase {
            Phase::Messages(messages) => {
                return messages.feed(text, last, &mut self.carry, &mut out);
            }
            Phase::Preamble(preamble) => preamble,
        };
        let mut arrived = std::mem::take(&mut self.carry);
        let all = match out.keep {
            Keep::Whole(_) => text,
            Keep::Copy => {
                arrived.push_str(text);
                arrived.as_str()
            }
        };
        match begin(preamble, self.form, all, last, &mut out) {
            Some((form, at)) => {
                let mut messages = Messages::new(form, out.options, at);
                messages.lexer.set_spelled(self.spelled);
                messages.feed(&all[at..], last, &mut self.carry, &mut out);
                self.phase = Phase::Messages(messages);
            }
            None => self.carry = arrived,
        }
    }

    /// Reads U+FFFD for the bytes at `span`, which are not UTF-8.
    pub(crate) fn feed_replacement(&mut self, span: Span, to: &mut dyn Receiver<'a>) {
        let mut out = self.base.out(to);
        if let Phase::Preamble(_) = self.phase {
            let message = "the header is not UTF-8";
            let found = Code::ParseYaml.at(Span::new(0, span.start), message);
            out.malformed(found.help("it is read as text"));
            self.phase = Phase::Messages(Messages::new(self.form, &self.base.options, 0));
        }
        // The pending text is decided now: no control token continues like this.
        self.feed_carry(to);
        self.lexeme(Lexeme::Text("\u{FFFD}", span), to);
        if let Phase::Messages(messages) = &mut self.phase {
            messages.lexer.seek(span.end);
        }
    }

    fn feed_carry(&mut self, to: &mut dyn Receiver<'a>) {
        let carry = std::mem::take(&mut self.carry);
        let mut out = self.base.out(to);
        if let Phase::Messages(messages) = &mut self.phase {
            messages.feed(&carry, true, &mut self.carry, &mut out);
        }
    }

    /// Reads a lexeme from a source other than text: a JSON wire list, or token ids.
    pub(crate) fn lexeme(&mut self, lexeme: Lexeme<'_>, to: &mut dyn Receiver<'a>) {
        let mut out = self.base.out(to);
        if let Phase::Messages(messages) = &mut self.phase {
            messages.lexeme(lexeme, &mut out);
            messages.at = lexeme.span().end;
        }
    }

    /// Reads a [piece](Self::piece) if it only continues a body. Returns the part within the
    /// limits, for the event. Most token ids take this path.
    #[inline]
    pub(crate) fn body_piece<'t>(&mut self, text: &'t str, span: Span) -> Option<&'t str> {
        let Phase::Messages(messages) = &mut self.phase else { return None };
        let draft = if messages.lexer.is_blind() { messages.reader.body()? } else { return None };
        messages.at = span.end;
        Some(draft.add(text, span, self.base.keep, &self.base.options, &self.base.state))
    }

    /// Reads text of a carrier that does not spell its control tokens, such as token ids. `span` is
    /// its place in the text of all pieces.
    pub(crate) fn piece(&mut self, text: &str, span: Span, to: &mut dyn Receiver<'a>) {
        let mut out = self.base.out(to);
        match &mut self.phase {
            Phase::Preamble(_) if self.spelled.has(Control::Start) => self.feed(text, false, to),
            Phase::Preamble(_) => {
                self.carry.push_str(text);
                if self.carry.len() > self.base.options.limits.header_bytes {
                    self.begin_pieces(span.end, to);
                }
            }
            Phase::Messages(messages) if messages.lexer.is_blind() => {
                messages.lexeme(Lexeme::Text(text, span), &mut out);
                messages.at = span.end;
            }
            Phase::Messages(messages) => {
                messages.feed(text, false, &mut self.carry, &mut out);
                messages.at = span.end;
            }
        }
    }

    /// Reads a control token of a carrier that does not spell it.
    pub(crate) fn control(&mut self, control: Control, span: Span, to: &mut dyn Receiver<'a>) {
        match self.phase {
            Phase::Preamble(_) if self.spelled.has(Control::Start) => self.feed("", true, to),
            Phase::Preamble(_) => self.begin_pieces(span.start, to),
            Phase::Messages(_) => {}
        }
        if !self.carry.is_empty() {
            self.feed_carry(to);
        }
        self.lexeme(Lexeme::Control(control, span), to);
        if let Phase::Messages(messages) = &mut self.phase {
            messages.lexer.pass(control, span.end);
        }
    }

    /// The text so far, which ends at byte `end`, is the header and the text after it.
    fn begin_pieces(&mut self, end: usize, to: &mut dyn Receiver<'a>) {
        let Phase::Preamble(preamble) = &mut self.phase else { return };
        let mut out = self.base.out(to);
        let text = std::mem::take(&mut self.carry);
        let all = out.keep.slice(Span::new(0, end)).unwrap_or(&text);
        let at = match preamble.scan(all, true, &[]) {
            Scan::Header(end) if end <= out.options.limits.header_bytes => {
                read_header(all, Some(end), self.form, &mut out);
                end
            }
            Scan::Header(_) | Scan::More(_) => {
                long_header(all, &mut out);
                0
            }
            Scan::None => {
                read_header(all, None, self.form, &mut out);
                0
            }
        };
        let mut messages = Messages::new(self.form, out.options, at);
        messages.lexer.set_spelled(self.spelled);
        self.phase = Phase::Messages(messages);
        let rest = all[at..].to_owned();
        if !rest.is_empty() {
            self.piece(&rest, Span::new(at, end), to);
        }
    }

    /// Reads the end of the input after the last piece.
    pub(crate) fn finish_pieces(&mut self, end: usize, to: &mut dyn Receiver<'a>) {
        match self.phase {
            Phase::Preamble(_) if self.spelled.has(Control::Start) => self.feed("", true, to),
            Phase::Preamble(_) => self.begin_pieces(end, to),
            Phase::Messages(_) => {}
        }
        if !self.carry.is_empty() {
            self.feed_carry(to);
        }
        self.finish(to);
    }

    /// Reads the end of the input after the last text.
    pub(crate) fn finish(&mut self, to: &mut dyn Receiver<'a>) {
        let Phase::Messages(messages) = &mut self.phase else { return };
        let mut out = self.base.out(to);
        let end = messages.lexer.offset().max(messages.at);
        let at = out.state.stopped.map_or(end, |stopped| stopped.at);
        messages.reader.finish(at, &mut out);
        let at = out.state.stopped.map_or(end, |stopped| stopped.at);
        let mut found = Vec::new();
        out.state.checker.finish(out.options, &mut found);
        for diagnostic in found {
            out.report(diagnostic);
        }
        if let Some(stopped) = out.state.stopped
            && end > at
        {
            let span = Span::new(at, end);
            let dropped = match stopped.code {
                Code::Limit => Dropped::Limit,
                _ => Dropped::Text,
            };
            out.report(
                stopped.code.at(span, "the rest of the input will be dropped").drops(dropped),
            );
        }
    }

    /// Returns the message whose body is being read.
    pub(crate) fn message(&self) -> Option<&Message<'a>> {
        match &self.phase {
            Phase::Preamble(_) => None,
            Phase::Messages(messages) => messages.reader.message(),
        }
    }

    /// Returns the dialect's spelling of a control token.
    pub(crate) fn spelling(&self, control: Control) -> Option<&'static str> {
        self.form.controls.spelling(control)
    }

    /// Whether the header declares this stream event, or no events at all.
    pub(crate) fn has_event(&self, event: &str) -> bool {
        self.base.state.checker.has_event(event)
    }

    /// Reports a diagnostic of the owner of the engine, such as bytes that are not UTF-8.
    pub(crate) fn report(&mut self, diagnostic: crate::Diagnostic, to: &mut dyn Receiver<'a>) {
        self.base.out(to).report(diagnostic);
    }
}

impl<'a> Base<'a> {
    /// Returns the output of a reader: `to`, with the steps that all readers share.
    #[inline]
    fn out<'o>(&'o mut self, to: &'o mut dyn Receiver<'a>) -> Out<'a, 'o> {
        Out { keep: self.keep, options: &self.options, state: &mut self.state, to }
    }
}

impl<'a> Messages<'a> {
    fn new(form: &'static TextForm, options: &ReadOptions, at: usize) -> Self {
        let mode = if options.continues.is_some() { form.completion } else { Mode::Outside };
        let lexer = Lexer::new(form.controls, mode, at);
        Self { lexer, reader: form.grammar.reader(options), at }
    }

    /// Reads more text. Undecided text at its end goes to `carry`.
    fn feed(&mut self, text: &str, last: bool, carry: &mut String, out: &mut Out<'a, '_>) {
        let mut text = text;
        if !carry.is_empty() {
            // The end of the last chunk was undecided. A little of this chunk decides it.
            let mut joined = std::mem::take(carry);
            let taken = text.ceil_char_boundary(self.lexer.longest() + 1);
            joined.push_str(&text[..taken]);
            let is_last = last && taken == text.len();
            let mut rest = joined.as_str();
            while rest.len() > taken
                && let Some(lexeme) = self.lexer.next(&mut rest, is_last)
            {
                self.lexeme(lexeme, out);
            }
            if rest.len() > taken {
                carry.push_str(rest);
                return;
            }
            text = &text[taken - rest.len()..];
            joined.clear();
            *carry = joined;
        }
        self.reader.text(&mut self.lexer, &mut text, last, out);
        carry.push_str(text);
    }

    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) {
        if self.reader.goes_on(lexeme, out) {
            self.reader.lexeme(lexeme, out);
        }
    }
}

/// Looks for the end of the header in all text so far. Returns the form of the messages and their
/// start, once these are known.
fn begin(
    preamble: &mut Preamble,
    form: &'static TextForm,
    text: &str,
    last: bool,
    out: &mut Out<'_, '_>,
) -> Option<(&'static TextForm, usize)> {
    let legacy = form.legacy.unwrap_or(form);
    let most = out.options.limits.header_bytes;
    let end = match preamble.scan(text, last, &[form.controls, legacy.controls]) {
        Scan::Header(end) if end <= most => Some(end),
        Scan::More(len) if len <= most => return None,
        // Only the complete first token shows which framing it is.
        Scan::None if !last && may_open(text, form) => return None,
        Scan::None => None,
        Scan::Header(_) | Scan::More(_) => {
            long_header(text, out);
            return Some((form, 0));
        }
    };
    let is_version_2 = read_header(text, end, form, out);
    let at = end.unwrap_or(0);
    let is_legacy = legacy.controls.opens(&text[at..]) && !form.controls.opens(&text[at..]);
    if is_legacy && is_version_2 {
        let start = text.len() - text[at..].trim_ascii_start().len();
        let len = legacy.controls.front(&text[start..]).map_or(0, |(_, len)| len);
        let (token, span) = (&text[start..start + len], Span::new(start, start + len));
        let message = format!(
            "the header names version 2, but the messages begin with `{token}` as in version 1.x"
        );
        let help = "it is read as 1.x; change the version, or begin messages with `<|start|>`";
        out.tolerate(Code::ParseFrame.at(span, message).help(help));
    }
    let form = if is_legacy { legacy } else { form };
    out.to.form(form.id);
    Some((form, at))
}

fn long_header(text: &str, out: &mut Out<'_, '_>) {
    let most = out.options.limits.header_bytes;
    let message = format!("the header exceeds the limit `header_bytes` of {most}");
    let found = Code::Limit.at(Span::new(0, text.floor_char_boundary(most)), message);
    out.report(found.help("it is read as text"));
}

/// Whether `text` begins, after white space, with a part of a token that opens a message.
fn may_open(text: &str, form: &TextForm) -> bool {
    let controls = [Some(form.controls), form.legacy.map(|legacy| legacy.controls)];
    controls.into_iter().flatten().any(|controls| controls.may_open(text))
}

/// Returns the place for a missing header in `text`, or `None` if text precedes the first message:
/// after a header, it would be part of the header. Also `None` for the tokens of 1.x, whose exact
/// version is unknown.
fn header_place(text: &str, form: &TextForm) -> Option<Span> {
    // White space that YAML allows in a header.
    let front = text.trim_start_matches([' ', '\t', '\r', '\n']);
    let start = Span::at(0);
    let blank = text.len() - front.len();
    let opens = match blank {
        0 => form.controls.opens(text),
        // After `<s>` there can be text, and the space is part of it.
        _ => matches!(form.controls.front(front), Some((Control::Start, _))),
    };
    // A header ends at a line that begins with the token.
    let line = text[..blank].rfind('\n').map_or(0, |end| end + 1);
    match opens {
        true if line < blank => Some(Span::new(line, blank)),
        opens => (opens || front.is_empty()).then_some(start),
    }
}

/// Reads the header, which ends at byte `end` if there is one. Returns whether it names version
/// 2.x.
fn read_header(text: &str, end: Option<usize>, form: &TextForm, out: &mut Out<'_, '_>) -> bool {
    let Some(end) = end else {
        let found = Code::ParseHeader.at(Span::at(0), "the transcript has no header");
        let found =
            found.help("begin the transcript with `version:` and the version of the format");
        out.tolerate(match header_place(text, form) {
            Some(place) => found.fix(Fix::safe(place, form.header.unwrap_or_default())),
            None => found,
        });
        return false;
    };
    let span = Span::new(0, end);
    let (header, found) = header::read(out.keep.text(&text[..end], span), 0, &out.options.limits);
    for diagnostic in found {
        match diagnostic.code {
            Code::DuplicateKey => out.report(diagnostic.drops(Dropped::Duplicate)),
            Code::ParseYaml | Code::Limit => out.malformed(diagnostic.drops(Dropped::Header)),
            _ => out.malformed(diagnostic),
        }
    }
    let mut found = Vec::new();
    out.state.checker.header(&header, span, &mut found);
    for diagnostic in found {
        out.report(diagnostic);
    }
    let is_version_2 = header.version().is_some_and(|version| version.starts_with("2."));
    out.to.header(header);
    is_version_2
}
