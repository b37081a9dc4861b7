//! Documents written from the grammars of the specifications.
//!
//! Nothing here uses the readers, writers or token tables of the library: spellings are listed
//! again, and texts are concatenated from strings. A document can therefore be one that no writer
//! of the library writes, and the expectation of the generator is independent.

mod anthropic;
mod apertus;
mod canonical;
mod frames;
mod gemini;
mod generator;
pub mod json;
mod library;
mod objects;
mod oddities;
mod openai;
mod plan;
mod records;
mod responses;
mod sharegpt;
mod sides;
mod turns;
mod wire;
mod words;

pub use self::generator::{GeneratorOptions, Shown, data};

use self::generator::Generator;
use self::plan::Step;
use crate::{Source, pick};

/// A generated document.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of its format.
    pub format: &'static str,
    /// The document.
    pub text: String,
    /// The expected messages, if the document is grammatical.
    pub said: Option<Vec<ExpectedMessage>>,
    /// The start of the first message of the assistant in bytes, if it is known: its first words
    /// may be quoted earlier.
    pub spoken: Option<usize>,
    /// The deliberate deviations from the grammar.
    pub flaws: Vec<&'static str>,
    /// The deviations that strict reading must report, if the text was not damaged.
    pub violations: Vec<&'static str>,
}

/// The message that the generator expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedMessage {
    /// The role, in the words of OpenChatML 2.2 §4.
    pub role: &'static str,
    /// The name of the speaker: an alias, or the name of the tool.
    pub name: Option<String>,
    /// The text.
    pub text: String,
    /// Whether a user may see it.
    pub shown: Shown,
}

impl ExpectedMessage {
    fn of(step: &Step) -> Self {
        let shown = step.act.shown();
        Self { role: step.act.role(), name: None, text: step.text.clone(), shown }
    }
}

/// A document before it is damaged.
#[derive(Debug, Default)]
struct Draft {
    text: String,
    said: Vec<ExpectedMessage>,
    spoken: Option<usize>,
}

/// Writes a document with a generator.
type Writer = fn(&mut Generator<'_>) -> Draft;

/// A format, with facts that are independent of the library.
struct Grammar {
    format: &'static str,
    write: Writer,
    /// The end of a prompt after which the assistant continues: ChatML, "Grammar"; for others, the
    /// generation prompts of the templates.
    opening: Option<&'static str>,
}

const fn text(format: &'static str, write: Writer, opening: &'static str) -> Grammar {
    Grammar { format, write, opening: Some(opening) }
}

const fn json(format: &'static str, write: Writer) -> Grammar {
    Grammar { format, write, opening: None }
}

/// The formats with a generator. A generator is an independent check: it is written from a
/// specification and not derived from tables of the library. Dialects without one are tested by
/// conformance cases and properties.
const GRAMMARS: &[Grammar] = &[
    text("openchatml-2.2", |generator| frames::write(&frames::OPENCHATML_2_2, generator), FRAME),
    text("openchatml-2.0", |generator| frames::write(&frames::OPENCHATML_2_0, generator), FRAME),
    text("harmony", |generator| frames::write(&frames::HARMONY, generator), FRAME),
    text("chatml-wire:text", |generator| frames::write(&frames::CHATML_WIRE, generator), FRAME),
    text("openchatml-0.1", |generator| turns::write(&turns::OPENCHATML_0_1, generator), TURN),
    text("chatml", |generator| turns::write(&turns::CHATML, generator), TURN),
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
    json("records", records::write),
];

const FRAME: &str = "<|start|>assistant";
const TURN: &str = "<|im_start|>assistant\n";

/// The names of all formats that can be generated.
pub fn formats() -> impl Iterator<Item = &'static str> {
    GRAMMARS.iter().map(|it| it.format)
}

impl Sample {
    /// Generates a document of one of these formats from the rest of `source`.
    pub fn draw(
        source: &mut Source<'_>,
        formats: &[&'static str],
        generator_options: GeneratorOptions,
    ) -> Self {
        let [sample, _] = Self::pair(source, formats, generator_options);
        sample
    }

    /// Generates two documents that differ only in hidden text, from the rest of `source`.
    ///
    /// Texts are not damaged, because damage can make hidden text visible.
    pub fn pair(
        source: &mut Source<'_>,
        formats: &[&'static str],
        generator_options: GeneratorOptions,
    ) -> [Self; 2] {
        let format = pick(source, formats);
        let bytes = source.bytes(source.len()).unwrap_or_default();
        let (bytes, secrets) = bytes.split_at(bytes.len() - bytes.len() / 4);
        let (one, two) = secrets.split_at(secrets.len() / 2);
        [(one, 's'), (two, 't')].map(|(secret, hidden_prefix)| {
            let generator = Generator::new(
                Source::new(bytes),
                Source::new(secret),
                generator_options,
                hidden_prefix,
            );
            Self::write(format, generator)
        })
    }

    /// Returns the part after the first prompt of the assistant as a completion. `None` if there is
    /// no such prompt.
    #[must_use]
    pub fn completion(&self) -> Option<Self> {
        let opening = GRAMMARS.iter().find(|it| it.format == self.format)?.opening?;
        let from = self.spoken.unwrap_or_default();
        let (_, text) = self.text.get(from..)?.split_once(opening)?;
        let (text, flaws) = (text.to_owned(), self.flaws.clone());
        let (said, spoken, violations) = (None, None, Vec::new());
        Some(Self { format: self.format, text, said, spoken, flaws, violations })
    }

    fn write(format: &'static str, mut generator: Generator<'_>) -> Self {
        let grammar = GRAMMARS.iter().find(|it| it.format == format);
        let mut draft = (grammar.expect("a format of the table").write)(&mut generator);
        let is_damaged = generator.generator_options.damaged;
        if is_damaged {
            draft.text = oddities::damage(&mut generator, &draft.text);
        }
        let is_exact = !is_damaged && generator.flaws.is_empty();
        let said = is_exact.then_some(draft.said);
        if is_damaged {
            generator.violations.clear();
        }
        let Generator { flaws, violations, .. } = generator;
        let spoken = draft.spoken.filter(|_| !is_damaged);
        Self { format, text: draft.text, said, spoken, flaws, violations }
    }
}
