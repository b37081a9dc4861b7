//! Laws that must hold for every document in any format.
//!
//! A law checks a [`Case`] and returns how it is [`Broken`]. It depends only on the text, so that a
//! failing text can be shrunk. [`survey`] runs a law over random documents of
//! [`grammar`](crate::grammar) and reports each kind of failure once, with a small text.

mod consent;
mod fix;
mod hidden;
mod meaning;
mod pairs;
mod same;
mod shrink;
mod survey;

pub use self::survey::{Finding, survey};

use openchatml::{Document, Format, Mode, Parsed, ReadOptions, Role, parse};

use crate::Source;
use crate::grammar::{GeneratorOptions, Sample};

/// A text in one format, and another format to write it in.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The text.
    pub text: &'c str,
    /// Its format.
    pub from: Format,
    /// The other format.
    pub to: Format,
    /// Whether the text is a completion.
    pub continues: bool,
    /// The seed for other choices of a law.
    pub choice_seed: u64,
}

/// A violation of a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The message, independent of the case.
    pub what: &'static str,
    /// The place in a document, without details of the case: cases with the same cause are probably
    /// the same mistake. Empty if only the text can determine it.
    pub cause: String,
    /// The expected and the actual result.
    pub detail: String,
}

impl Broken {
    pub(crate) fn new(what: &'static str, detail: String) -> Self {
        Self { what, cause: String::new(), detail }
    }
}

/// Whether a law holds.
pub type Verdict = Result<(), Broken>;

/// A law.
#[derive(Clone, Copy)]
pub struct Law {
    /// Its name.
    pub name: &'static str,
    /// The group in one word. Laws of one group are fuzzed together.
    pub group: &'static str,
    /// The options for generating documents.
    generator_options: fn(&mut Source<'_>) -> GeneratorOptions,
    /// How often the text is a completion.
    completions: Completions,
    check: Check,
}

/// How often texts are completions, for formats with a text form.
#[derive(Clone, Copy)]
enum Completions {
    None,
    Some,
    All,
}

/// The check of a law.
#[derive(Clone, Copy)]
enum Check {
    /// Checks any text.
    Text(fn(&Case<'_>) -> Verdict),
    /// Checks a text against the expectation of the generator.
    Sample(fn(&Sample) -> Verdict),
    /// Checks two documents that differ only in hidden text.
    Pair(fn(&Case<'_>, &Case<'_>) -> Verdict),
}

use Check::{Pair, Sample as OfSample, Text};
use Completions::{All, None as Never, Some as Often};

const fn law(
    (group, name): (&'static str, &'static str),
    generator_options: fn(&mut Source<'_>) -> GeneratorOptions,
    completions: Completions,
    check: Check,
) -> Law {
    Law { name, group, generator_options, completions, check }
}

/// All laws.
pub static ALL: &[Law] = &[
    law(("reading", "nocrash"), GeneratorOptions::any, Often, Text(same::nocrash)),
    law(("reading", "meaning"), GeneratorOptions::well_formed, Never, OfSample(meaning::meaning)),
    law(("reading", "violations"), odd, Never, OfSample(meaning::violations)),
    law(("reading", "chunks"), GeneratorOptions::any, Often, Text(same::chunks)),
    law(("writing", "strict"), GeneratorOptions::any, Never, Text(same::strictness)),
    law(("writing", "roundtrip"), GeneratorOptions::any, Never, Text(same::roundtrip)),
    law(("writing", "identity"), GeneratorOptions::any, Often, Text(same::identity)),
    law(("writing", "fmt"), GeneratorOptions::any, Never, Text(same::fmt)),
    law(("visibility", "leak"), GeneratorOptions::any, Often, Text(hidden::leak)),
    law(("visibility", "hidden"), GeneratorOptions::any, Often, Text(hidden::hidden)),
    law(("visibility", "secret"), GeneratorOptions::well_formed, Often, Pair(hidden::secret)),
    law(("visibility", "detected"), GeneratorOptions::well_formed, Never, Text(hidden::detected)),
    law(("visibility", "completion"), GeneratorOptions::any, All, Text(hidden::completion)),
    law(("fixes", "fix"), GeneratorOptions::any, Often, Text(fix::fix)),
    law(("losses", "consent"), GeneratorOptions::any, Often, Text(consent::consent)),
    law(("losses", "pairs"), GeneratorOptions::any, Never, Text(pairs::pairs)),
    law(("losses", "tools"), GeneratorOptions::any, Never, Text(pairs::tools)),
];

/// Options for documents with oddities but without damage.
fn odd(source: &mut Source<'_>) -> GeneratorOptions {
    GeneratorOptions { odd: true, ..GeneratorOptions::well_formed(source) }
}

impl Law {
    /// Returns the law with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|law| law.name == name)
    }
}

impl Case<'_> {
    /// Returns the options for reading the text.
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = lenient();
        options.continues = self.continues.then_some(Role::Assistant);
        options
    }

    /// Reads a text with the options of the case.
    pub(crate) fn read<'t>(&self, text: &'t str) -> Parsed<'t> {
        parse(text, self.from, &self.options())
    }

    /// Reads the text leniently.
    pub(crate) fn parse(&self) -> Parsed<'_> {
        self.read(self.text)
    }

    /// Chooses one of these with the seed.
    pub(crate) fn choose<T: Copy>(&self, items: &[T]) -> T {
        let count = u64::try_from(items.len()).expect("a short list");
        items[usize::try_from(self.choice_seed % count).expect("less than the list has")]
    }
}

/// Returns lenient options.
pub(crate) fn lenient() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    options
}

pub(crate) fn strict() -> ReadOptions {
    let mut options = lenient();
    options.mode = Mode::Strict;
    options
}

pub(crate) fn read(text: &str, format: Format) -> Parsed<'_> {
    parse(text, format, &lenient())
}

/// Describes a document briefly.
pub(crate) fn brief(document: &Document<'_>) -> String {
    let Some(conversation) = document.as_conversation() else { return format!("{document:?}") };
    let mut out =
        format!("header: {}, tools: {}", conversation.header.is_some(), conversation.tools.len());
    for message in &conversation.messages {
        out.push_str(&format!("\n    {message:?} {:?}", message.body.text()));
    }
    out
}

/// A generated document for a law, with its other choices.
struct DrawnDocument {
    samples: [Sample; 2],
    to: Format,
    continues: bool,
    choice_seed: u64,
}

impl DrawnDocument {
    fn new(law: &Law, source: &mut Source<'_>, formats: &[&'static str]) -> Self {
        let all: Vec<_> = Format::all().collect();
        let to = crate::pick(source, &all);
        let choice_seed = u64::from(source.int_in_range(0..=u32::MAX).unwrap_or(0));
        let generator_options = (law.generator_options)(source);
        let wants_completion = match law.completions {
            Completions::None => false,
            Completions::Some => crate::one_in(source, 4),
            Completions::All => true,
        };
        let samples = Sample::pair(source, formats, generator_options);
        if wants_completion
            && let [Some(one), Some(two)] = samples.each_ref().map(Sample::completion)
        {
            return Self { samples: [one, two], to, continues: true, choice_seed };
        }
        Self { samples, to, continues: false, choice_seed }
    }

    fn case(&self) -> Case<'_> {
        self.case_of(&self.samples[0])
    }

    fn case_of<'c>(&self, sample: &'c Sample) -> Case<'c> {
        let from = sample.format.parse().expect("a format");
        let Self { to, continues, choice_seed, .. } = *self;
        Case { text: &sample.text, from, to, continues, choice_seed }
    }

    fn check(&self, law: &Law) -> Verdict {
        match law.check {
            Check::Text(check) => check(&self.case()),
            Check::Sample(check) => check(&self.samples[0]),
            Check::Pair(check) => {
                let [one, two] = self.samples.each_ref().map(|sample| self.case_of(sample));
                check(&one, &two)
            }
        }
    }
}

/// Runs a law of this group on one random document.
///
/// # Panics
///
/// The document breaks the law.
pub fn holds(group: &str, source: &mut Source<'_>) {
    let laws: Vec<_> = ALL.iter().filter(|law| law.group == group).collect();
    let law = crate::pick(source, &laws);
    let formats: Vec<_> = crate::grammar::formats().collect();
    let drawn = DrawnDocument::new(law, source, &formats);
    if let Err(Broken { what, detail, .. }) = drawn.check(law) {
        let Case { from, to, text, .. } = drawn.case();
        panic!("{}: {what}: {from} to {to}: {text:?}\n{detail}", law.name);
    }
}
