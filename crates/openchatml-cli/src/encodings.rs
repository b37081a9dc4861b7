//! The encodings that the command line names.

use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use openchatml::{Code, Control, Diagnostic, Span, TextFormat};
use openchatml_tokens::{Encoding, HuggingFace, O200kHarmony, Tiktoken, Tokenizer};

use crate::args::{Bounds, Choice, O200K_HARMONY, ReadArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{Origin, finding};

/// The encoder of a thread.
pub(crate) trait Usable: Encoding + Debug + Send + Sync {}

impl<E: Encoding + Debug + Send + Sync> Usable for E {}

/// An encoding for one thread.
pub(crate) type OneEncoding = Box<dyn Usable>;

/// The encodings for several threads.
#[derive(Clone, Debug)]
pub(crate) struct Encodings {
    name: Arc<str>,
    kind: Kind,
    /// Whether control tokens without an id may be written as ordinary text.
    may_spell: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Each thread has its own cache.
    O200kHarmony,
    /// All threads share one encoding.
    File(Arc<dyn Usable>),
}

/// The purpose of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Reading, and perhaps writing: any control token of the format may occur.
    Reading,
    /// Writing or counting.
    Writing,
}

impl Encodings {
    /// Returns the encoding with this name or in this file.
    ///
    /// # Errors
    ///
    /// There is no such file, or it contains no encoding.
    pub(crate) fn open(name: &str, may_spell: bool, console: &Console) -> Result<Self, Failure> {
        let of = |kind| Self { name: name.into(), kind, may_spell };
        if name == O200K_HARMONY {
            return Ok(of(Kind::O200kHarmony));
        }
        // A model's folder contains its encoding in this file.
        let mut path = Path::new(name).to_owned();
        if path.is_dir() {
            path.push("tokenizer.json");
        }
        if !path.exists() {
            let text = format!("`{name}` is neither an encoding ({O200K_HARMONY}) nor a file");
            return Err(Failure::Usage(text));
        }
        let file = Origin::File(path).read(Bounds::default().input_bytes, console)?;
        let is_json = file.trim_ascii_start().starts_with(b"{");
        let encoding: Result<Arc<dyn Usable>, _> = match is_json {
            true => HuggingFace::from_json(&file).map(|encoding| {
                if !encoding.changes().is_empty() {
                    let changes = encoding.changes().join(", ");
                    console.detail(&format!(
                        "{name}: this encoding changes text before it encodes it: {changes}"
                    ));
                }
                Arc::new(encoding) as _
            }),
            false => Tiktoken::from_known(&file).map(|encoding| Arc::new(encoding) as _),
        };
        let kind = if is_json { "tokenizer.json" } else { "rank file" };
        let refused = |error| Failure::Refused(format!("{name}: unusable {kind}: {error}"));
        encoding.map(|encoding| of(Kind::File(encoding))).map_err(refused)
    }

    /// Returns the encodings of a command that reads ids, or that `writes` or counts them.
    ///
    /// # Errors
    ///
    /// There is no such file, or it contains no encoding.
    pub(crate) fn wanted(
        read: &ReadArgs,
        writes: bool,
        console: &Console,
    ) -> Result<Option<Self>, Failure> {
        let is_needed = writes || matches!(read.from, Choice::Tokens(_));
        let name = read.encoding.as_deref().unwrap_or(O200K_HARMONY);
        let open = || Self::open(name, read.spell_control_tokens, console);
        is_needed.then(open).transpose()
    }

    /// Returns an encoding for a thread.
    pub(crate) fn one(&self) -> OneEncoding {
        match &self.kind {
            Kind::O200kHarmony => Box::new(O200kHarmony::default()),
            Kind::File(encoding) => Box::new(Arc::clone(encoding)),
        }
    }

    /// Whether it is the encoding of gpt-oss, which is used if no other is named.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.kind, Kind::O200kHarmony)
    }

    /// Whether control tokens without an id may be written as ordinary text.
    pub(crate) fn may_spell(&self) -> bool {
        self.may_spell
    }

    /// Returns a tokenizer for this text format.
    ///
    /// # Errors
    ///
    /// The encoding has no ids for control tokens that the format requires, and they must not be
    /// spelled.
    pub(crate) fn tokenizer(
        &self,
        format: TextFormat,
        purpose: Use,
    ) -> Result<Tokenizer<OneEncoding>, Failure> {
        let tokenizer = Tokenizer::new(format, self.one());
        let lacks = lacks(&tokenizer, |control| is_needed(control, purpose));
        if self.may_spell || lacks.is_empty() {
            return Ok(tokenizer);
        }
        let dialect = format.dialect().id;
        let has_them = matches!(self.kind, Kind::File(_))
            && lacks_none(&Tokenizer::new(format, O200kHarmony::default()), purpose);
        let other = match has_them {
            true => format!("`--encoding {O200K_HARMONY}`, which has them"),
            false => format!(
                "the encoding of a model that speaks `{dialect}` with `--encoding FILE` (its \
                 tokenizer.json)"
            ),
        };
        Err(Failure::Usage(format!(
            "the encoding `{}` has no ids for the control tokens {} of `{dialect}`: use {other}, or write the tokens as ordinary text with `--spell-control-tokens`",
            self.name,
            listed(&lacks),
        )))
    }

    /// Returns the error of a document for which these control tokens were spelled.
    pub(crate) fn refuse_spelled(
        &self,
        format: TextFormat,
        spelled: &[Control],
    ) -> Result<(), Box<Diagnostic>> {
        if self.may_spell || spelled.is_empty() {
            return Ok(());
        }
        let spelling = |control: &Control| format.controls().spelling(*control);
        let spelled: Vec<_> = spelled.iter().filter_map(spelling).collect();
        let text = format!(
            "this document needs {}, but the encoding `{}` can only write it as ordinary text",
            listed(&spelled),
            self.name,
        );
        let help = "name an encoding with ids for all control tokens with `--encoding`, or allow ordinary text with `--spell-control-tokens`";
        Err(Box::new(finding(Code::RenderUnsupported, Span::at(0), text).help(help)))
    }
}

/// Returns the spellings of the required control tokens without an id.
fn lacks<E: Encoding>(
    tokenizer: &Tokenizer<E>,
    needed: impl Fn(Control) -> bool,
) -> Vec<&'static str> {
    let controls = tokenizer.format().controls().entries();
    let lacking = controls.iter().filter(|(control, spelling)| {
        needed(*control) && tokenizer.encoding().control(spelling).is_none()
    });
    lacking.map(|(_, spelling)| *spelling).collect()
}

fn lacks_none<E: Encoding>(tokenizer: &Tokenizer<E>, purpose: Use) -> bool {
    lacks(tokenizer, |control| is_needed(control, purpose)).is_empty()
}

/// Whether every document requires a control token. Other tokens are checked in the output.
fn is_needed(control: Control, purpose: Use) -> bool {
    match control {
        // These occur in the text of messages, and only in a few.
        Control::Literal | Control::EndLiteral | Control::Marker(_) => false,
        // These occur in documents that are not conversations. A reader must expect them.
        Control::FimPrefix | Control::FimMiddle | Control::FimSuffix | Control::FileSeparator => {
            purpose == Use::Reading
        }
        _ => true,
    }
}

/// Lists some of these in backquotes, and the number of the others.
fn listed(spellings: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = spellings.iter().take(SHOWN).map(|it| format!("`{it}`")).collect();
    match spellings.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The tokenizers of a format for several threads.
#[derive(Clone, Debug)]
pub(crate) struct Tokenizers {
    format: TextFormat,
    encodings: Encodings,
    /// The unused tokenizers. Each may have its own cache.
    idle: Arc<Mutex<Vec<Tokenizer<OneEncoding>>>>,
}

impl Tokenizers {
    /// Creates tokenizers for a text format.
    ///
    /// # Errors
    ///
    /// As for [`Encodings::tokenizer`].
    pub(crate) fn new(
        format: TextFormat,
        purpose: Use,
        encodings: Encodings,
    ) -> Result<Self, Failure> {
        let first = encodings.tokenizer(format, purpose)?;
        Ok(Self { format, encodings, idle: Arc::new(Mutex::new(vec![first])) })
    }

    /// Rejects a document for which these control tokens were written as ordinary text, unless the
    /// user allows it.
    ///
    /// # Errors
    ///
    /// The error of the document.
    pub(crate) fn refuse_spelled(&self, spelled: &[Control]) -> Result<(), Box<Diagnostic>> {
        self.encodings.refuse_spelled(self.format, spelled)
    }

    /// Passes a tokenizer to a function.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&Tokenizer<OneEncoding>) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let tokenizer = known.unwrap_or_else(|| Tokenizer::new(self.format, self.encodings.one()));
        let done = act(&tokenizer);
        idle().push(tokenizer);
        done
    }
}
