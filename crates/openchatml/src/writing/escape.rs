//! Keeps text text: what would be read as a control token is escaped or refused.

use super::SinkError;
use crate::lex::{Candidates, Controls, Escape, Found, Mask, Mode};
use crate::{Control, Span};

/// Keeps text text: what would be read as a control token is escaped or refused.
///
/// A sink that writes some control tokens by other means than their spelling, as token ids do, has
/// to look only for those that are spelled.
///
/// ```
/// use openchatml::render::Escaper;
/// use openchatml::{Control, dialects};
///
/// // `<|start|>` and the like have ids of their own here; a literal block has none.
/// let spelled = [Control::Literal, Control::EndLiteral];
/// let mut escaper = Escaper::only(dialects::OPENCHATML_2_2.controls, &spelled);
/// let mut out = String::new();
/// assert!(!escaper.control(Control::Message, &mut out)?); // The caller has an id for it.
/// escaper.text("<|end|> and <|literal|>", &mut out)?;
/// escaper.finish(&mut out);
/// assert_eq!(out, "<|end|> and <<|literal|>");
/// # Ok::<(), openchatml::render::SinkError>(())
/// ```
#[derive(Debug)]
pub struct Escaper {
    controls: &'static Controls,
    candidates: Candidates,
    /// The control tokens that are written as their spelling.
    spelled: Mask,
    mode: Mode,
    /// The end of the text so far, as long as it could still grow into a control token or, with
    /// an escape, be taken for the escape of the next one.
    held: String,
    /// Whether text was written in a literal block.
    has_blocks: bool,
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

/// Whether a short text has what a spelling begins with. Quicker than a search: this vectorizes.
#[inline]
fn may_spell(text: &str) -> bool {
    text.bytes().fold(false, |found, byte| found | (byte == b'<'))
}

impl Escaper {
    /// For a carrier that spells every control token.
    ///
    /// ```
    /// use openchatml::{dialects, render::Escaper};
    ///
    /// let mut escaper = Escaper::new(dialects::OPENCHATML_2_2.controls);
    /// let mut out = String::new();
    /// escaper.text("a <|end|>", &mut out)?;
    /// assert_eq!(out, "a <<|end|>");
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn new(controls: &'static Controls) -> Self {
        Self::masked(controls, Mask::ALL)
    }

    /// For a carrier that spells only these control tokens, and has other means for the rest.
    pub fn only(controls: &'static Controls, spelled: &[Control]) -> Self {
        Self::masked(controls, Mask::of(spelled))
    }

    fn masked(controls: &'static Controls, spelled: Mask) -> Self {
        let candidates = controls.candidates();
        let (mode, held) = (Mode::Outside, String::new());
        Self { controls, candidates, spelled, mode, held, has_blocks: false }
    }

    /// Adds text to `out`.
    ///
    /// # Errors
    ///
    /// The text spells a control token, and there is no way to say that it is text.
    #[inline]
    pub fn text(&mut self, text: &str, out: &mut String) -> Result<(), SinkError> {
        if self.mode == Mode::Literal {
            return self.literal(text, out);
        }
        self.join(text, Markers::Text, out)
    }

    /// Adds text where the spelling of a chain-of-thought marker has to stay text, too.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
    pub fn text_among_markers(&mut self, text: &str, out: &mut String) -> Result<(), SinkError> {
        self.join(text, Markers::Count, out)
    }

    /// Adds a word that has no `<`.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
    #[inline]
    pub fn word(&mut self, word: &str, out: &mut String) -> Result<(), SinkError> {
        if !self.held.is_empty() {
            return self.text(word, out);
        }
        out.push_str(word);
        Ok(())
    }

    /// Makes room for a control token, and adds its spelling if that is how it is written. Whether
    /// it was added.
    ///
    /// # Errors
    ///
    /// The dialect has no such token.
    #[inline]
    pub fn control(&mut self, control: Control, out: &mut String) -> Result<bool, SinkError> {
        let is_spelled = self.spelled.has(control);
        if !self.held.is_empty() {
            self.flush(control, is_spelled, out);
        }
        let Some(spelling) = self.controls.spelling(control) else {
            let reason = "this dialect lacks a control token";
            return Err(SinkError::new(Span::default(), "", reason));
        };
        self.mode = self.mode.after(control);
        if is_spelled {
            out.push_str(spelling);
        }
        Ok(is_spelled)
    }

    /// Adds what was held back: no control token follows.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&self.held);
        self.held.clear();
    }

    /// How many bytes of the text so far are held back: what follows decides how they are written.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::Escaper;
    ///
    /// let mut out = String::new();
    /// let mut escaper = Escaper::new(dialects::OPENCHATML_2_2.controls);
    /// escaper.text("a<|en", &mut out)?;
    /// assert_eq!((out.as_str(), escaper.held()), ("a", 4));
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether text was written in a literal block so far: a block that nobody asked for.
    ///
    /// ```
    /// use openchatml::dialects;
    /// use openchatml::render::Escaper;
    ///
    /// let mut out = String::new();
    /// let mut escaper = Escaper::new(dialects::OPENCHATML_2_2.controls);
    /// escaper.text("<|end|>", &mut out)?;
    /// assert_eq!((out.as_str(), escaper.has_blocks()), ("<<|end|>", false));
    /// escaper.text_among_markers("<|start_reason|>", &mut out)?;
    /// assert!(escaper.has_blocks());
    /// # Ok::<(), openchatml::render::SinkError>(())
    /// ```
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Whether nothing is held back and a message may begin.
    pub(crate) fn is_between(&self) -> bool {
        self.held.is_empty() && self.mode == Mode::Outside
    }

    /// Notes that the opening of a message was written by the caller.
    pub(crate) fn opened(&mut self) {
        self.mode = Mode::Body;
    }

    fn literal(&self, text: &str, out: &mut String) -> Result<(), SinkError> {
        let end = self.controls.spelling(Control::EndLiteral).unwrap_or_default();
        match text.find(end).filter(|_| self.spelled.has(Control::EndLiteral)) {
            Some(at) => {
                let span = Span::new(at, at + end.len());
                let reason = "a literal block cannot hold the text";
                Err(SinkError::new(span, end, reason))
            }
            None => {
                out.push_str(text);
                Ok(())
            }
        }
    }

    fn escapes(&self) -> bool {
        matches!(self.mode, Mode::Body | Mode::Outside)
            && self.controls.escape() == Escape::DoublingOrLiteral
    }

    /// Writes what of `text` is certain, and holds back the rest.
    fn write(&mut self, text: &str, markers: Markers, out: &mut String) -> Result<(), SinkError> {
        let bytes = text.as_bytes();
        let (mut written, mut from) = (0, 0);
        while let Some(at) = self.candidates.next(bytes, from) {
            from = at + 1;
            let (control, len) = match self.controls.at_masked(&bytes[at..], self.spelled) {
                Found::Control(control, len) => (control, len),
                Found::None => continue,
                // Nothing longer can begin after it.
                Found::Prefix => {
                    let open = if self.escapes() { run_start(bytes, at) } else { at };
                    out.push_str(&text[written..open.max(written)]);
                    self.held.push_str(&text[open.max(written)..]);
                    return Ok(());
                }
            };
            from = at + len;
            match (control, markers) {
                (Control::Marker(_), Markers::Text) => {}
                (Control::Marker(_), Markers::Count) if self.escapes() => {
                    let run = run_start(bytes, at).max(written);
                    out.push_str(&text[written..run]);
                    self.block(&text[run..from], out);
                    written = from;
                }
                _ if !self.escapes() => return Err(self.refuse(control, Span::new(at, from))),
                _ => {
                    out.push_str(&text[written..at]);
                    out.push('<');
                    written = at;
                }
            }
        }
        out.push_str(&text[written..]);
        Ok(())
    }

    /// Writes `text` in a literal block.
    fn block(&mut self, text: &str, out: &mut String) {
        self.has_blocks = true;
        let parts = [Control::Literal, Control::EndLiteral];
        let [open, close] = parts.map(|part| self.controls.spelling(part).unwrap_or_default());
        for part in [open, text, close] {
            out.push_str(part);
        }
    }

    /// Writes `text`, and before it what was held back.
    #[inline]
    fn join(&mut self, text: &str, markers: Markers, out: &mut String) -> Result<(), SinkError> {
        if self.held.is_empty() {
            if self.spelled.is_empty() || text.len() <= SHORT && !may_spell(text) {
                out.push_str(text);
                return Ok(());
            }
            return self.write(text, markers, out);
        }
        let held = self.held.len();
        let mut joined = std::mem::take(&mut self.held);
        joined.push_str(text);
        self.write(&joined, markers, out).map_err(|error| {
            let Span { start, end } = error.span;
            let span = Span::new(start.saturating_sub(held), end.saturating_sub(held));
            SinkError { span, before: held.saturating_sub(start), ..error }
        })
    }

    #[cold]
    fn refuse(&self, control: Control, span: Span) -> SinkError {
        let reason = match self.mode {
            // Dialects without `<|message|>` have no mode for their short headers.
            Mode::Header if self.controls.spelling(Control::Message).is_some() => {
                "a header cannot hold the text"
            }
            _ => "this dialect has no escape for the text",
        };
        SinkError::new(span, self.controls.spelling(control).unwrap_or_default(), reason)
    }

    /// Writes what was held back, now that `control` follows.
    fn flush(&mut self, control: Control, is_spelled: bool, out: &mut String) {
        let escapable = is_spelled && !matches!(control, Control::Marker(_));
        if self.held.ends_with('<') && self.escapes() && escapable {
            // `a<` and `<|end|>` would be read as an escaped `<|end|>`.
            let held = std::mem::take(&mut self.held);
            let (text, run) = held.split_at(run_start(held.as_bytes(), held.len()));
            out.push_str(text);
            self.block(run, out);
        } else {
            out.push_str(&self.held);
        }
        self.held.clear();
    }
}
