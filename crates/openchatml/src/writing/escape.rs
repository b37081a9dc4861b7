//! Escapes or refuses text that would be read as a control token.

use super::SinkError;
use super::read_back::ReadBack;
use crate::lex::{ESCAPE, Escape, Found, Mask, Mode, Search, TokenTable};
use crate::{Control, Span};

/// Escapes or refuses text that would be read as a control token.
///
/// A sink that does not spell all control tokens, such as one of token ids, needs to look only for
/// those that it spells.
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
/// escaper.finish(&mut out)?;
/// assert_eq!(out, "<|end|> and <<|literal|>");
/// # Ok::<(), openchatml::render::SinkError>(())
/// ```
#[derive(Debug)]
pub struct Escaper {
    controls: &'static TokenTable,
    search: Search<'static>,
    /// The control tokens that are spelled in the output.
    spelled: Mask,
    mode: Mode,
    pending: Pending,
    /// Whether text was written in a literal block.
    has_blocks: bool,
    /// The first byte of all tokens, if they share one. Text without this byte needs no search.
    first: Option<u8>,
}

/// Text that is not decided yet, because the following text decides how it is written.
#[derive(Debug)]
enum Pending {
    None,
    /// The end of the text, which is not written yet: it could become a control token or, with an
    /// escape, the escape of the next token.
    Held(String),
    /// For dialects in which tokens and text can combine to other tokens.
    ReadBack(Box<ReadBack>),
}

/// How the spelling of a marker in text is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markers {
    /// As text: the reader decides about markers, and so does the writer.
    Text,
    /// As a marker, unless it is escaped.
    Count,
}

/// Text up to this length is searched directly.
const SHORT: usize = 32;

/// Returns the start of the escapes directly before byte `at`.
fn run_start(bytes: &[u8], at: usize) -> usize {
    at - bytes[..at].iter().rev().take_while(|byte| **byte == ESCAPE).count()
}

/// Whether a short text contains this byte. This vectorizes, so it is faster than a search.
#[inline]
fn has(text: &str, first: u8) -> bool {
    text.bytes().fold(false, |found, byte| found | (byte == first))
}

impl Escaper {
    /// Creates an escaper for a carrier that spells every control token.
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
    pub fn new(controls: &'static TokenTable) -> Self {
        Self::masked(controls, Mask::ALL)
    }

    /// Creates an escaper for a carrier that spells only these control tokens.
    pub fn only(controls: &'static TokenTable, spelled: &[Control]) -> Self {
        Self::masked(controls, Mask::of(spelled))
    }

    fn masked(controls: &'static TokenTable, spelled: Mask) -> Self {
        let search = controls.search();
        let first = search.first();
        let pending = match controls.is_separable() {
            true => Pending::None,
            false => Pending::ReadBack(Box::new(ReadBack::new(controls, spelled))),
        };
        let (mode, has_blocks) = (Mode::Outside, false);
        Self { controls, search, spelled, mode, pending, has_blocks, first }
    }

    /// Appends text to `out`.
    ///
    /// # Errors
    ///
    /// The text contains a control token that cannot be escaped.
    #[inline]
    pub fn text(&mut self, text: &str, out: &mut String) -> Result<(), SinkError> {
        self.join(text, Markers::Text, out)
    }

    /// Appends text in which the spelling of a chain-of-thought marker must also stay text.
    ///
    /// # Errors
    ///
    /// The same as [`text`](Self::text).
    pub fn text_among_markers(&mut self, text: &str, out: &mut String) -> Result<(), SinkError> {
        self.join(text, Markers::Count, out)
    }

    /// Appends a word without `<`. If all spellings begin with `<`, it is not searched.
    ///
    /// # Errors
    ///
    /// The same as [`text`](Self::text).
    #[inline]
    pub fn word(&mut self, word: &str, out: &mut String) -> Result<(), SinkError> {
        if matches!(self.pending, Pending::None) && self.first == Some(b'<') {
            out.push_str(word);
            return Ok(());
        }
        self.go_on(word, Markers::Text, out)
    }

    /// Prepares for a control token, and appends its spelling if the carrier spells it. Returns
    /// whether it was appended.
    ///
    /// # Errors
    ///
    /// The dialect does not have the token, or the preceding text would change how it is read.
    #[inline]
    pub fn control(&mut self, control: Control, out: &mut String) -> Result<bool, SinkError> {
        let is_spelled = self.spelled.has(control);
        if !matches!(self.pending, Pending::None) {
            self.decide(control, is_spelled, out)?;
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

    /// Appends the text that was held back, because no control token follows.
    ///
    /// # Errors
    ///
    /// The last text contains a control token that is also the beginning of another one.
    pub fn finish(&mut self, out: &mut String) -> Result<(), SinkError> {
        match &mut self.pending {
            Pending::None => {}
            Pending::ReadBack(read_back) => read_back.end()?,
            Pending::Held(held) => {
                out.push_str(held);
                self.pending = Pending::None;
            }
        }
        Ok(())
    }

    /// Returns how many bytes are held back, because the following text decides how they are
    /// written.
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
        match &self.pending {
            Pending::Held(held) => held.len(),
            Pending::None | Pending::ReadBack(_) => 0,
        }
    }

    /// Whether text was written in a literal block that the caller did not request.
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

    /// Whether nothing is held back and a message can begin with tokens that need no check.
    pub(crate) fn is_between(&self) -> bool {
        self.mode == Mode::Outside && matches!(self.pending, Pending::None)
    }

    /// Records that the caller wrote the opening of a message.
    pub(crate) fn opened(&mut self) {
        self.mode = Mode::Body;
    }

    fn escapes(&self) -> bool {
        matches!(self.mode, Mode::Body | Mode::Outside)
            && self.controls.escape() == Escape::DoublingOrLiteral
    }

    /// Writes the part of `text` that is certain, and holds back the rest.
    fn write(&mut self, text: &str, markers: Markers, out: &mut String) -> Result<(), SinkError> {
        let bytes = text.as_bytes();
        let spelled = self.mode.counted(self.spelled);
        let (mut written, mut from) = (0, 0);
        loop {
            let (at, found) = self.search.next(bytes, from, spelled, false);
            let (control, len) = match found {
                Found::Control(control, len) => (control, len),
                Found::None => break,
                // No longer token can begin after it.
                Found::Prefix => {
                    let open = if self.escapes() { run_start(bytes, at) } else { at };
                    out.push_str(&text[written..open.max(written)]);
                    self.pending = Pending::Held(text[open.max(written)..].to_owned());
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
                    out.push(char::from(ESCAPE));
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

    /// Writes the text that was held back, and then `text`.
    #[inline]
    fn join(&mut self, text: &str, markers: Markers, out: &mut String) -> Result<(), SinkError> {
        if !matches!(self.pending, Pending::None) {
            return self.go_on(text, markers, out);
        }
        let is_text = |first: u8| text.len() <= SHORT && !has(text, first);
        if self.spelled.is_empty() || self.first.is_some_and(is_text) {
            out.push_str(text);
            return Ok(());
        }
        self.write(text, markers, out)
    }

    /// Writes `text` when earlier text matters.
    #[cold]
    fn go_on(&mut self, text: &str, markers: Markers, out: &mut String) -> Result<(), SinkError> {
        let mut joined = match &mut self.pending {
            Pending::ReadBack(read_back) => {
                read_back.text(text, markers)?;
                out.push_str(text);
                return Ok(());
            }
            Pending::Held(held) => std::mem::take(held),
            Pending::None => String::new(),
        };
        self.pending = Pending::None;
        let held = joined.len();
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
            // Dialects without `<|message|>` have no separate mode for their short headers.
            Mode::Header if self.controls.spelling(Control::Message).is_some() => {
                "a header cannot contain"
            }
            Mode::Literal => "a literal block cannot contain",
            _ => "this dialect cannot escape",
        };
        SinkError::new(span, self.controls.spelling(control).unwrap_or_default(), reason)
    }

    /// Decides how pending text is written, because `control` follows.
    #[cold]
    fn decide(
        &mut self,
        control: Control,
        is_spelled: bool,
        out: &mut String,
    ) -> Result<(), SinkError> {
        let held = match &mut self.pending {
            Pending::None => return Ok(()),
            Pending::ReadBack(read_back) => {
                return match self.controls.spelling(control) {
                    Some(spelling) if is_spelled => read_back.control(control, spelling),
                    _ => read_back.end(),
                };
            }
            Pending::Held(held) => std::mem::take(held),
        };
        self.pending = Pending::None;
        let escapable = is_spelled && !matches!(control, Control::Marker(_));
        if held.as_bytes().last() == Some(&ESCAPE) && self.escapes() && escapable {
            // `a<` and `<|end|>` would be read as an escaped `<|end|>`.
            let (text, run) = held.split_at(run_start(held.as_bytes(), held.len()));
            out.push_str(text);
            self.block(run, out);
        } else {
            out.push_str(&held);
        }
        Ok(())
    }
}
