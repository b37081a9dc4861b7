//! What must hold of every document, whoever wrote it: laws over texts of any format.
//!
//! A law looks at a [`Case`] and says how it is [`Broken`]. It sees the text only, so a text that
//! breaks it can be made smaller while it still does: [`survey`] runs a law over random documents of
//! [`grammar`](crate::grammar) and tells each way in which it is broken once, with a small text.

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
use crate::grammar::{Knobs, Sample};

/// A text in one format, and another format to write it in.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The text.
    pub text: &'c str,
    /// Its format.
    pub from: Format,
    /// The other format.
    pub to: Format,
    /// Whether the text is what a model said after a prompt.
    pub continues: bool,
    /// For what else a law chooses.
    pub dice: u64,
}

/// How a case breaks a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What is wrong, in words that do not depend on the case.
    pub what: &'static str,
    /// Where in a document that is, without what differs from document to document: cases with the
    /// same cause are likely the same mistake. Empty if only the text itself can tell.
    pub cause: String,
    /// What was expected and what happened.
    pub detail: String,
}

impl Broken {
    pub(crate) fn new(what: &'static str, detail: String) -> Self {
        Self { what, cause: String::new(), detail }
    }
}

/// Whether a law holds.
pub type Verdict = Result<(), Broken>;

/// What must hold.
#[derive(Clone, Copy)]
pub struct Law {
    /// Its name.
    pub name: &'static str,
    /// What it is about, in a word: laws of one group are fuzzed together.
    pub group: &'static str,
    /// What kind of documents it is about.
    knobs: fn(&mut Source<'_>) -> Knobs,
    /// How many texts are completions.
    completions: Completions,
    check: Check,
}

/// How many texts are what a model said after a prompt, of those whose format has a text form.
#[derive(Clone, Copy)]
enum Completions {
    None,
    Some,
    All,
}

/// What a law looks at.
#[derive(Clone, Copy)]
enum Check {
    /// The text, whatever it is.
    Text(fn(&Case<'_>) -> Verdict),
    /// What the generator knows of the text.
    Sample(fn(&Sample) -> Verdict),
    /// Two documents that differ in hidden text only.
    Pair(fn(&Case<'_>, &Case<'_>) -> Verdict),
}

use Check::{Pair, Sample as OfSample, Text};
use Completions::{All, None as Never, Some as Often};

const fn law(
    (group, name): (&'static str, &'static str),
    knobs: fn(&mut Source<'_>) -> Knobs,
    completions: Completions,
    check: Check,
) -> Law {
    Law { name, group, knobs, completions, check }
}

/// All laws.
pub static ALL: &[Law] = &[
    law(("reading", "nocrash"), Knobs::any, Often, Text(same::nocrash)),
    law(("reading", "meaning"), Knobs::well_formed, Never, OfSample(meaning::meaning)),
    law(("reading", "violations"), odd, Never, OfSample(meaning::violations)),
    law(("reading", "chunks"), Knobs::any, Often, Text(same::chunks)),
    law(("writing", "strict"), Knobs::any, Never, Text(same::strictness)),
    law(("writing", "roundtrip"), Knobs::any, Never, Text(same::roundtrip)),
    law(("writing", "identity"), Knobs::any, Often, Text(same::identity)),
    law(("writing", "fmt"), Knobs::any, Never, Text(same::fmt)),
    law(("visibility", "leak"), Knobs::any, Often, Text(hidden::leak)),
    law(("visibility", "hidden"), Knobs::any, Often, Text(hidden::hidden)),
    law(("visibility", "secret"), Knobs::well_formed, Often, Pair(hidden::secret)),
    law(("visibility", "detected"), Knobs::well_formed, Never, Text(hidden::detected)),
    law(("visibility", "completion"), Knobs::any, All, Text(hidden::completion)),
    law(("fixes", "fix"), Knobs::any, Often, Text(fix::fix)),
    law(("losses", "consent"), Knobs::any, Often, Text(consent::consent)),
    law(("losses", "pairs"), Knobs::any, Never, Text(pairs::pairs)),
    law(("losses", "tools"), Knobs::any, Never, Text(pairs::tools)),
];

/// Documents with something odd in them, and not damaged.
fn odd(source: &mut Source<'_>) -> Knobs {
    Knobs { odd: true, ..Knobs::well_formed(source) }
}

impl Law {
    /// The law of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|law| law.name == name)
    }
}

impl Case<'_> {
    /// How its text is read.
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = lenient();
        options.continues = self.continues.then_some(Role::Assistant);
        options
    }

    /// Reads a text as the case's own.
    pub(crate) fn read<'t>(&self, text: &'t str) -> Parsed<'t> {
        parse(text, self.from, &self.options())
    }

    /// The document, read leniently.
    pub(crate) fn parse(&self) -> Parsed<'_> {
        self.read(self.text)
    }

    /// One of these, as the dice say.
    pub(crate) fn choose<T: Copy>(&self, items: &[T]) -> T {
        let count = u64::try_from(items.len()).expect("a short list");
        items[usize::try_from(self.dice % count).expect("less than the list has")]
    }
}

/// How texts are read.
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

/// A document with its messages in a few words each.
pub(crate) fn brief(document: &Document<'_>) -> String {
    let Some(conversation) = document.as_conversation() else { return format!("{document:?}") };
    let mut out =
        format!("header: {}, tools: {}", conversation.header.is_some(), conversation.tools.len());
    for message in &conversation.messages {
        out.push_str(&format!("\n    {message:?} {:?}", message.body.text()));
    }
    out
}

/// A document for a law, and what else the law chooses.
struct Drawn {
    samples: [Sample; 2],
    to: Format,
    continues: bool,
    dice: u64,
}

impl Drawn {
    fn new(law: &Law, source: &mut Source<'_>, formats: &[&'static str]) -> Self {
        let all: Vec<_> = Format::all().collect();
        let to = crate::pick(source, &all);
        let dice = u64::from(source.int_in_range(0..=u32::MAX).unwrap_or(0));
        let knobs = (law.knobs)(source);
        let wants_completion = match law.completions {
            Completions::None => false,
            Completions::Some => crate::one_in(source, 4),
            Completions::All => true,
        };
        let samples = Sample::pair(source, formats, knobs);
        if wants_completion
            && let [Some(one), Some(two)] = samples.each_ref().map(Sample::completion)
        {
            return Self { samples: [one, two], to, continues: true, dice };
        }
        Self { samples, to, continues: false, dice }
    }

    fn case(&self) -> Case<'_> {
        self.case_of(&self.samples[0])
    }

    fn case_of<'c>(&self, sample: &'c Sample) -> Case<'c> {
        let from = sample.format.parse().expect("a format");
        let Self { to, continues, dice, .. } = *self;
        Case { text: &sample.text, from, to, continues, dice }
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

/// Runs a law of this group over one random document.
///
/// # Panics
///
/// If the document breaks it.
pub fn holds(group: &str, source: &mut Source<'_>) {
    let laws: Vec<_> = ALL.iter().filter(|law| law.group == group).collect();
    let law = crate::pick(source, &laws);
    let formats: Vec<_> = crate::grammar::formats().collect();
    let drawn = Drawn::new(law, source, &formats);
    if let Err(Broken { what, detail, .. }) = drawn.check(law) {
        let Case { from, to, text, .. } = drawn.case();
        panic!("{}: {what}: {from} to {to}: {text:?}\n{detail}", law.name);
    }
}
