//! The sink that writes text.

use super::sink::opening_in_parts;
use super::{PlainOpening, Sink, SinkError};
use crate::lex::{Candidates, Controls, Escape, Found, Mode};
use crate::{Control, Span};

/// Writes a dialect's text form, and escapes or refuses what would become structure.
///
/// ```
/// use openchatml::render::{Sink, TextSink};
/// use openchatml::{Control, dialects};
///
/// let mut out = String::new();
/// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
/// sink.control(Control::Start)?;
/// sink.text("user")?;
/// sink.control(Control::Message)?;
/// sink.text("a <|end|> of my own")?;
/// sink.control(Control::End)?;
/// sink.finish()?;
/// assert_eq!(out, "<|start|>user<|message|>a <<|end|> of my own<|end|>");
/// # Ok::<(), openchatml::render::SinkError>(())
/// ```
#[derive(Debug)]
pub struct TextSink<'o> {
    controls: &'static Controls,
    candidates: Candidates,
    out: &'o mut String,
    mode: Mode,
    /// The end of the text so far, as long as it could still grow into a control token or, with
    /// an escape, be taken for the escape of the next one.
    held: String,
    /// Whether a header was written and no message yet.
    after_preamble: bool,
}

/// What the spelling of a marker is in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Markers {
    /// Text: whether a marker is one is the reader's business, and so the writer's.
    Text,
    /// A marker, unless something is done about it.
    Count,
}

/// Text of so many bytes is searched without ado.
const SHORT: usize = 32;

/// Where the `<` directly before byte `at` begin.
fn run_start(bytes: &[u8], at: usize) -> usize {
    at - bytes[..at].iter().rev().take_while(|byte| **byte == b'<').count()
}

impl<'o> TextSink<'o> {
    /// A sink for a dialect's text form that adds to `out`.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::{Sink, TextSink};
    ///
    /// let mut out = String::from("before: ");
    /// let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
    /// sink.text("a < b")?;
    /// assert_eq!(out, "before: a < b");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn new(controls: &'static Controls, out: &'o mut String) -> Self {
        Self {
            controls,
            candidates: controls.candidates(),
            out,
            mode: Mode::Outside,
            held: String::new(),
            after_preamble: false,
        }
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// None today: what was held back is text.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::{Sink, TextSink};
    ///
    /// // As long as `<|e` may still become a token, it is held back.
    /// let mut out = String::new();
    /// let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    /// sink.text("a <|e")?;
    /// sink.finish()?;
    /// assert_eq!(out, "a <|e");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn finish(self) -> Result<(), SinkError> {
        self.out.push_str(&self.held);
        Ok(())
    }

    fn escapes(&self) -> bool {
        matches!(self.mode, Mode::Body | Mode::Outside)
            && self.controls.escape() == Escape::DoublingOrLiteral
    }

    /// Writes what of `text` is certain, and holds back the rest.
    fn write(&mut self, text: &str, markers: Markers) -> Result<(), SinkError> {
        let bytes = text.as_bytes();
        let (mut written, mut from) = (0, 0);
        while let Some(at) = self.candidates.next(bytes, from) {
            from = at + 1;
            let (control, len) = match self.controls.at(&bytes[at..]) {
                Found::Control(control, len) => (control, len),
                Found::None => continue,
                // Nothing longer can begin after it.
                Found::Prefix => {
                    let open = if self.escapes() { run_start(bytes, at) } else { at };
                    self.out.push_str(&text[written..open.max(written)]);
                    self.held.push_str(&text[open.max(written)..]);
                    return Ok(());
                }
            };
            from = at + len;
            match (control, markers) {
                (Control::Marker(_), Markers::Text) => {}
                (Control::Marker(_), Markers::Count) if self.escapes() => {
                    let run = run_start(bytes, at).max(written);
                    self.out.push_str(&text[written..run]);
                    self.block(&text[run..from]);
                    written = from;
                }
                _ if !self.escapes() => return Err(self.refuse(control, Span::new(at, from))),
                _ => {
                    self.out.push_str(&text[written..at]);
                    self.out.push('<');
                    written = at;
                }
            }
        }
        self.out.push_str(&text[written..]);
        Ok(())
    }

    /// Writes `text` in a literal block.
    fn block(&mut self, text: &str) {
        let parts = [Control::Literal, Control::EndLiteral];
        let [open, close] = parts.map(|part| self.controls.spelling(part).unwrap_or_default());
        for part in [open, text, close] {
            self.out.push_str(part);
        }
    }

    /// Writes `text`, and before it what was held back.
    fn join(&mut self, text: &str, markers: Markers) -> Result<(), SinkError> {
        if self.held.is_empty() {
            if text.len() <= SHORT && !text.as_bytes().contains(&b'<') {
                self.out.push_str(text);
                return Ok(());
            }
            return self.write(text, markers);
        }
        let held = self.held.len();
        let mut joined = std::mem::take(&mut self.held);
        joined.push_str(text);
        self.write(&joined, markers).map_err(|error| {
            let start = error.span.start.saturating_sub(held);
            SinkError { span: Span::new(start, error.span.end.saturating_sub(held)), ..error }
        })
    }

    #[cold]
    fn refuse(&self, control: Control, span: Span) -> SinkError {
        SinkError {
            span,
            spelling: self.controls.spelling(control).unwrap_or_default(),
            reason: match self.mode {
                // Dialects without `<|message|>` have no mode for their short headers.
                Mode::Header if self.controls.spelling(Control::Message).is_some() => {
                    "a header cannot hold the text"
                }
                _ => "this dialect has no escape for the text",
            },
        }
    }

    /// Writes what was held back, now that `control` follows.
    fn flush(&mut self, control: Control) {
        let escapable = !matches!(control, Control::Marker(_));
        if self.held.ends_with('<') && self.escapes() && escapable {
            // `a<` and `<|end|>` would be read as an escaped `<|end|>`.
            let held = std::mem::take(&mut self.held);
            let (text, run) = held.split_at(run_start(held.as_bytes(), held.len()));
            self.out.push_str(text);
            self.block(run);
        } else {
            self.out.push_str(&self.held);
        }
        self.held.clear();
    }
}

impl Sink for TextSink<'_> {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        if !self.held.is_empty() {
            self.flush(control);
        }
        let Some(spelling) = self.controls.spelling(control) else {
            let reason = "this dialect lacks a control token";
            return Err(SinkError { span: Span::default(), spelling: "", reason });
        };
        if std::mem::take(&mut self.after_preamble) && !self.out.ends_with('\n') {
            // A header ends at a line that begins with the token.
            self.out.push('\n');
        }
        self.out.push_str(spelling);
        self.mode = self.mode.after(control);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), SinkError> {
        if self.mode == Mode::Literal {
            let end = self.controls.spelling(Control::EndLiteral).unwrap_or_default();
            return match text.find(end) {
                Some(at) => {
                    let span = Span::new(at, at + end.len());
                    let reason = "a literal block cannot hold the text";
                    Err(SinkError { span, spelling: end, reason })
                }
                None => {
                    self.out.push_str(text);
                    Ok(())
                }
            };
        }
        self.join(text, Markers::Text)
    }

    fn text_among_markers(&mut self, text: &str) -> Result<(), SinkError> {
        self.join(text, Markers::Count)
    }

    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        if !self.held.is_empty() {
            return self.text(word);
        }
        self.out.push_str(word);
        Ok(())
    }

    fn opening(&mut self, opening: &PlainOpening) -> Result<(), SinkError> {
        let is_certain = self.held.is_empty() && !self.after_preamble;
        if !is_certain || self.mode != Mode::Outside {
            return opening_in_parts(self, opening);
        }
        self.out.push_str(opening.text);
        self.mode = Mode::Body;
        Ok(())
    }

    fn preamble(&mut self, yaml: &str) -> Result<(), SinkError> {
        let mut at = 0;
        for line in yaml.split_inclusive('\n') {
            let opens = line.starts_with('<') && self.controls.opens(line);
            if opens {
                let reason = "a line of the header cannot begin with a control token";
                return Err(SinkError {
                    span: Span::new(at, at + line.len()),
                    spelling: "",
                    reason,
                });
            }
            at += line.len();
        }
        self.out.push_str(yaml);
        self.after_preamble = true;
        Ok(())
    }
}
