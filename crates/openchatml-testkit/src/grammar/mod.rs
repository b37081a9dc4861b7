//! Documents written from the grammars of the specifications.
//!
//! Nothing here uses the readers, writers or token tables of the library: spellings are written out
//! again, and texts are put together as strings. So a document may be one that no writer of the
//! library writes, and what the generator knows about it is an expectation of its own.

mod anthropic;
mod apertus;
mod canonical;
mod frames;
mod gemini;
pub mod json;
mod library;
mod objects;
mod oddities;
mod openai;
mod pen;
mod plan;
mod responses;
mod sharegpt;
mod turns;
mod wire;
mod words;

pub use self::pen::{Knobs, Shown, data};

use self::pen::Pen;
use self::plan::Step;
use crate::{Source, pick};

/// A generated document.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of its format.
    pub format: &'static str,
    /// The document.
    pub text: String,
    /// What it says, if nothing in it deviates from its grammar.
    pub said: Option<Vec<Said>>,
    /// Where the first message of the assistant begins, in bytes, if that is known: the words that
    /// begin it may be quoted before.
    pub spoken: Option<usize>,
    /// In what it deviates from its grammar, where that was written on purpose.
    pub flaws: Vec<&'static str>,
    /// Those of them that strict reading must find, if the text was not damaged.
    pub violations: Vec<&'static str>,
}

/// What the generator knows of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The role, in the words of OpenChatML 2.2 §4.
    pub role: &'static str,
    /// The name of who speaks: an alias, or the name of the tool.
    pub name: Option<String>,
    /// Its text.
    pub text: String,
    /// Whether a user may see it.
    pub shown: Shown,
}

impl Said {
    fn of(step: &Step) -> Self {
        let shown = step.act.shown();
        Self { role: step.act.role(), name: None, text: step.text.clone(), shown }
    }
}

/// A document before it is damaged.
#[derive(Debug, Default)]
struct Draft {
    text: String,
    said: Vec<Said>,
    spoken: Option<usize>,
}

/// Writes a document with a pen.
type Writer = fn(&mut Pen<'_>) -> Draft;

/// A format, and what is known of it apart from the library.
struct Grammar {
    format: &'static str,
    write: Writer,
    /// What a prompt ends in, so that the assistant speaks next: ChatML, "Grammar"; the generation
    /// prompts of the templates of the others.
    opening: Option<&'static str>,
}

const fn text(format: &'static str, write: Writer, opening: &'static str) -> Grammar {
    Grammar { format, write, opening: Some(opening) }
}

const fn json(format: &'static str, write: Writer) -> Grammar {
    Grammar { format, write, opening: None }
}

/// The formats that have a writer here. Such a writer is a second opinion: it is written by hand
/// from a specification, so that no table of the library can be what it is derived from. A dialect
/// without one is tested by its conformance cases and by the properties.
const GRAMMARS: &[Grammar] = &[
    text("openchatml-2.2", |pen| frames::write(&frames::OPENCHATML_2_2, pen), FRAME),
    text("openchatml-2.0", |pen| frames::write(&frames::OPENCHATML_2_0, pen), FRAME),
    text("harmony", |pen| frames::write(&frames::HARMONY, pen), FRAME),
    text("chatml-wire:text", |pen| frames::write(&frames::CHATML_WIRE, pen), FRAME),
    text("openchatml-0.1", |pen| turns::write(&turns::OPENCHATML_0_1, pen), TURN),
    text("chatml", |pen| turns::write(&turns::CHATML, pen), TURN),
    text("apertus", apertus::write, "<|assistant_start|>"),
    json("json", canonical::write),
    json("openchatml-2.2:json", objects::write_2_2),
    json("openchatml-2.0:json", objects::write_2_0),
    json("chatml-wire", wire::write),
    json("harmony:json", library::write),
    json("apertus:json", apertus::write_json),
    json("openai", openai::write),
    json("responses", responses::write),
    json("anthropic", anthropic::write),
    json("gemini", gemini::write),
    json("sharegpt", sharegpt::write),
];

const FRAME: &str = "<|start|>assistant";
const TURN: &str = "<|im_start|>assistant\n";

/// The names of all formats that can be generated.
pub fn formats() -> impl Iterator<Item = &'static str> {
    GRAMMARS.iter().map(|it| it.format)
}

impl Sample {
    /// A document of one of these formats, made of the rest of `source`.
    pub fn draw(source: &mut Source<'_>, formats: &[&'static str], knobs: Knobs) -> Self {
        let [sample, _] = Self::pair(source, formats, knobs);
        sample
    }

    /// Two documents that differ in hidden text only, made of the rest of `source`.
    ///
    /// Where the text is damaged, what was hidden may not be hidden any more.
    pub fn pair(source: &mut Source<'_>, formats: &[&'static str], knobs: Knobs) -> [Self; 2] {
        let format = pick(source, formats);
        let bytes = source.bytes(source.len()).unwrap_or_default();
        let (bytes, secrets) = bytes.split_at(bytes.len() - bytes.len() / 4);
        let (one, two) = secrets.split_at(secrets.len() / 2);
        [(one, 's'), (two, 't')].map(|(secret, veil)| {
            let pen = Pen::new(Source::new(bytes), Source::new(secret), knobs, veil);
            Self::write(format, pen)
        })
    }

    /// What follows the first words that make the assistant speak, as a model would say it. `None`
    /// if there are none.
    #[must_use]
    pub fn completion(&self) -> Option<Self> {
        let opening = GRAMMARS.iter().find(|it| it.format == self.format)?.opening?;
        let from = self.spoken.unwrap_or_default();
        let (_, text) = self.text.get(from..)?.split_once(opening)?;
        let (text, flaws) = (text.to_owned(), self.flaws.clone());
        let (said, spoken, violations) = (None, None, Vec::new());
        Some(Self { format: self.format, text, said, spoken, flaws, violations })
    }

    fn write(format: &'static str, mut pen: Pen<'_>) -> Self {
        let grammar = GRAMMARS.iter().find(|it| it.format == format);
        let mut draft = (grammar.expect("a format of the table").write)(&mut pen);
        let is_damaged = pen.knobs.damaged;
        if is_damaged {
            draft.text = oddities::damage(&mut pen, &draft.text);
        }
        let is_exact = !is_damaged && pen.flaws.is_empty();
        let said = is_exact.then_some(draft.said);
        if is_damaged {
            pen.violations.clear();
        }
        let Pen { flaws, violations, .. } = pen;
        let spoken = draft.spoken.filter(|_| !is_damaged);
        Self { format, text: draft.text, said, spoken, flaws, violations }
    }
}
