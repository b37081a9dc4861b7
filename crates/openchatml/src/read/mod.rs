//! Reading: from any carrier to a [`Document`], with what was found on the way.
//!
//! Reading never fails. What is malformed is reported and what can be saved is saved.

mod draft;
mod engine;
mod keep;
mod limits;
mod options;
mod out;

pub(crate) use self::draft::Draft;
pub(crate) use self::engine::Engine;
pub(crate) use self::keep::{Keep, Kept};
pub(crate) use self::limits::DEEPEST;
pub use self::limits::Limits;
pub use self::options::{Mode, ReadOptions, Recover};
pub(crate) use self::out::{Findings, Out, Place, Receiver, Whole};

use crate::dialects::{Carrier, Format};
use crate::lex::{Lexeme, Lexer, Tape};
use crate::{Control, Conversation, Diagnostic, Document, Message, Severity, Span};

/// A document and what was found while it was read.
///
/// ```
/// use openchatml::{Parsed, parse};
///
/// let text = "<|im_start|>user\nHello<|im_end|>\nOops\n";
/// let Parsed { document, diagnostics } = parse(text, "im".parse()?, &Default::default());
/// assert_eq!(diagnostics[0].code.as_str(), "E-PARSE-FRAME");
/// // What stood outside of a message is a hidden message of its own.
/// let messages = document.into_conversation().messages;
/// assert!(messages.len() == 2 && messages[1].recovered);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parsed<'a> {
    /// Everything that could be saved.
    pub document: Document<'a>,
    /// What was found, in the order of reading.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Parsed<'a> {
    /// Whether a finding is an error.
    ///
    /// ```
    /// use openchatml::parse;
    ///
    /// // That there is no header is a warning, unless the mode is strict.
    /// let text = "<|start|>user<|message|>Hi.<|end|>\n";
    /// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
    /// assert!(!parsed.diagnostics.is_empty() && !parsed.has_errors());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }

    /// Whether the reader dropped any of the input: it is not in the document.
    ///
    /// ```
    /// use openchatml::parse;
    ///
    /// let text = r#"{"messages":[],"mood":"sad"}"#;
    /// assert!(parse(text, "json".parse()?, &Default::default()).dropped_input());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn dropped_input(&self) -> bool {
        self.diagnostics.iter().any(|found| found.dropped.is_some())
    }

    /// The document if nothing is wrong with it.
    ///
    /// # Errors
    ///
    /// The first error that was found.
    ///
    /// ```
    /// use openchatml::{Code, Format, parse};
    ///
    /// let im: Format = "im".parse()?;
    /// let whole = parse("<|im_start|>user\nHi.<|im_end|>\n", im, &Default::default());
    /// assert!(whole.strict().is_ok());
    /// let cut_off = parse("<|im_start|>user\nHi", im, &Default::default());
    /// assert_eq!(cut_off.strict().unwrap_err().code, Code::StreamTruncated);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn strict(self) -> Result<Document<'a>, Box<Diagnostic>> {
        match self.diagnostics.into_iter().find(|found| found.severity == Severity::Error) {
            Some(error) => Err(Box::new(error)),
            None => Ok(self.document),
        }
    }

    /// The conversation; an empty one if the document is something else.
    ///
    /// ```
    /// use openchatml::{Message, Role, parse};
    ///
    /// let parsed = parse("<|im_start|>user\nHi.<|im_end|>\n", "im".parse()?, &Default::default());
    /// assert_eq!(parsed.into_conversation().messages, [Message::new(Role::User, "Hi.")]);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn into_conversation(self) -> Conversation<'a> {
        self.document.into_conversation()
    }
}

/// Reads `text` in `format`. The result borrows from the text.
///
/// ```
/// use openchatml::{Format, ReadOptions, Role, parse};
///
/// let text = "version: 2.2\n\n<|start|>user<|message|>What is 2 + 2?<|end|>\n";
/// let format: Format = "openchatml-2.2".parse()?;
/// let parsed = parse(text, format, &ReadOptions::default());
/// assert!(parsed.diagnostics.is_empty());
/// let conversation = parsed.into_conversation();
/// assert_eq!(conversation.messages[0].role, Role::User);
/// assert_eq!(conversation.messages[0].body.text(), "What is 2 + 2?");
///
/// // What is malformed is reported, and what can be saved is saved.
/// let parsed = parse("<|start|>user<|message|>Hel", format, &ReadOptions::default());
/// assert_eq!(parsed.diagnostics.last().unwrap().code.as_str(), "E-STREAM-TRUNCATED");
/// assert_eq!(parsed.into_conversation().messages[0].body.text(), "Hel");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn parse<'a>(text: &'a str, format: Format, options: &ReadOptions) -> Parsed<'a> {
    match (format.carrier, format.dialect.text, &format.dialect.json) {
        (Carrier::Json, _, Some(json)) => {
            let mut parsed = (json.read)(text, options);
            if let Document::Conversation(it) = &mut parsed.document
                && it.origin.is_empty()
            {
                it.origin = json.name;
            }
            parsed
        }
        (_, Some(form), _) => {
            let mut whole = Whole::new(form.name);
            let mut engine = Engine::new(form, options, Keep::Whole(text));
            engine.feed(text, true, &mut whole);
            engine.finish(&mut whole);
            let diagnostics = std::mem::take(&mut whole.diagnostics);
            Parsed { document: whole.into_document(), diagnostics }
        }
        // `Format` is only made for carriers that the dialect has.
        _ => Parsed::default(),
    }
}

/// Reads a [`Tape`] in the text form of `format`. The result borrows from the tape, and spans are
/// places in its text. Nothing is read in a format that has no text form.
///
/// ```
/// use openchatml::lex::Tape;
/// use openchatml::{Control, Format, parse_tape};
///
/// let format: Format = "harmony".parse()?;
/// let mut tape = Tape::new(format.dialect().controls);
/// tape.text("Sure!");
/// tape.control(Control::Start);
/// tape.text("user");
/// let parsed = parse_tape(&tape, format, &Default::default());
/// // What is malformed is found as in text.
/// let codes: Vec<_> = parsed.diagnostics.iter().map(|found| found.code.as_str()).collect();
/// assert_eq!(codes, ["E-PARSE-FRAME", "E-STREAM-TRUNCATED"]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn parse_tape<'t>(tape: &'t Tape, format: Format, options: &ReadOptions) -> Parsed<'t> {
    let Some(form) = format.dialect.text else { return Parsed::default() };
    let text = tape.as_str();
    // Where the beginning of a message is spelled, text is read as it comes.
    let keep = match tape.mask().has(Control::Start) {
        true => Keep::Copy,
        false => Keep::Whole(text),
    };
    let mut whole = Whole::new(form.name);
    let mut engine = Engine::new(form, options, keep).spelled(tape.mask());
    let mut at = 0;
    for (control, span) in tape.controls() {
        if at < span.start {
            engine.piece(&text[at..span.start], Span::new(at, span.start), &mut whole);
        }
        engine.control(*control, *span, &mut whole);
        at = span.end;
    }
    if at < text.len() {
        engine.piece(&text[at..], Span::new(at, text.len()), &mut whole);
    }
    engine.finish_pieces(text.len(), &mut whole);
    let diagnostics = std::mem::take(&mut whole.diagnostics);
    Parsed { document: whole.into_document(), diagnostics }
}

/// A reader: a push machine from lexemes to messages, one for each family of dialects.
///
/// It sees neither bytes nor ids, so text, token ids and streams cannot disagree.
pub(crate) trait Reader<'a> {
    /// Takes the next lexeme.
    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>);

    /// Takes all that is certain in `text`, which may be the `last` of it, and leaves the rest.
    ///
    /// Each reader has a copy of this loop of its own, in which its `lexeme` is known.
    fn text(&mut self, lexer: &mut Lexer, text: &mut &str, last: bool, out: &mut Out<'a, '_>) {
        while let Some(lexeme) = lexer.next(text, last) {
            if out.goes_on(lexeme) {
                self.lexeme(lexeme, out);
            }
        }
    }

    /// The message whose body is being read: its header. Not between messages, nor in a header.
    fn message(&self) -> Option<&Message<'a>>;

    /// The message whose body is being read, if any text is just more of it.
    fn body(&mut self) -> Option<&mut Draft<'a>> {
        None
    }

    /// Takes the end of the input, which is at byte `at`.
    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>);
}
