//! Keeps text text: what would be read as a control token is escaped or refused.

use super::SinkError;
use super::read_back::ReadBack;
use crate::lex::{ESCAPE, Escape, Found, Mask, Mode, Search, TokenTable};
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
/// escaper.finish(&mut out)?;
/// assert_eq!(out, "<|end|> and <<|literal|>");
/// # Ok::<(), openchatml::render::SinkError>(())
/// ```
#[derive(Debug)]
pub struct Escaper {
    controls: &'static TokenTable,
    search: Search<'static>,
    /// The control tokens that are written as their spelling.
    spelled: Mask,
    mode: Mode,
    pending: Pending,
    /// Whether text was written in a literal block.
    has_blocks: bool,
    /// The byte that all tokens begin with, if there is one: text without it is text.
    first: Option<u8>,
}

/// What of the text so far depends on what follows it.
#[derive(Debug)]
enum Pending {
    None,
    /// The end of it, which is not written: it could still grow into a control token or, with an
    /// escape, be taken for the escape of the next one.
    Held(String),
    /// Where that is not enough: tokens and text can run into each other.
    ReadBack(Box<ReadBack>),
}

/// What the spelling of a marker is in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markers {
    /// Text: whether a marker is one is the reader's business, and so the writer's.
    Text,
    /// A marker, unless something is done about it.
    Count,
}

/// Text of so many bytes is searched without ado.
const SHORT: usize = 32;

/// Where the escapes directly before byte `at` begin.
fn run_start(bytes: &[u8], at: usize) -> usize {
    at - bytes[..at].iter().rev().take_while(|byte| **byte == ESCAPE).count()
}

/// Whether a short text has this byte. Quicker than a search: this vectorizes.
#[inline]
fn has(text: &str, first: u8) -> bool {
    text.bytes().fold(false, |found, byte| found | (byte == first))
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
    pub fn new(controls: &'static TokenTable) -> Self {
        Self::masked(controls, Mask::ALL)
    }

    /// For a carrier that spells only these control tokens, and has other means for the rest.
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

    /// Adds text to `out`.
    ///
    /// # Errors
    ///
    /// The text spells a control token, and there is no way to say that it is text.
    #[inline]
    pub fn text(&mut self, text: &str, out: &mut String) -> Result<(), SinkError> {
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

    /// Adds a word that has no `<`: it need not be searched where all spellings begin with that.
    ///
    /// # Errors
    ///
    /// As for [`text`](Self::text).
    #[inline]
    pub fn word(&mut self, word: &str, out: &mut String) -> Result<(), SinkError> {
        if matches!(self.pending, Pending::None) && self.first == Some(b'<') {
            out.push_str(word);
            return Ok(());
        }
        self.go_on(word, Markers::Text, out)
    }

    /// Makes room for a control token, and adds its spelling if that is how it is written. Whether
    /// it was added.
    ///
    /// # Errors
    ///
    /// The dialect has no such token, or it would be read as something else after what was written
    /// before.
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

    /// Adds what was held back: no control token follows.
    ///
    /// # Errors
    ///
    /// What was written last spells a control token that is the beginning of another one.
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
        match &self.pending {
            Pending::Held(held) => held.len(),
            Pending::None | Pending::ReadBack(_) => 0,
        }
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

    /// Whether nothing is held back and a message may begin, with tokens that need not be looked at.
    pub(crate) fn is_between(&self) -> bool {
        self.mode == Mode::Outside && matches!(self.pending, Pending::None)
    }

    /// Notes that the opening of a message was written by the caller.
    pub(crate) fn opened(&mut self) {
        self.mode = Mode::Body;
    }

    fn escapes(&self) -> bool {
        matches!(self.mode, Mode::Body | Mode::Outside)
            && self.controls.escape() == Escape::DoublingOrLiteral
    }

    /// Writes what of `text` is certain, and holds back the rest.
    fn write(&mut self, text: &str, markers: Markers, out: &mut String) -> Result<(), SinkError> {
        let bytes = text.as_bytes();
        let spelled = self.mode.counted(self.spelled);
        let (mut written, mut from) = (0, 0);
        loop {
            let (at, found) = self.search.next(bytes, from, spelled, false);
            let (control, len) = match found {
                Found::Control(control, len) => (control, len),
                Found::None => break,
                // Nothing longer can begin after it.
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

    /// Writes `text`, and before it what was held back.
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

    /// The same where what was written before counts.
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
            // Dialects without `<|message|>` have no mode for their short headers.
            Mode::Header if self.controls.spelling(Control::Message).is_some() => {
                "a header cannot hold the text"
            }
            Mode::Literal => "a literal block cannot hold the text",
            _ => "this dialect has no escape for the text",
        };
        SinkError::new(span, self.controls.spelling(control).unwrap_or_default(), reason)
    }

    /// Decides what was pending, now that `control` follows.
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
