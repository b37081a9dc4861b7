//! Runs a law over many documents, and reports each kind of failure once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use openchatml::{Carrier, Format};

use super::shrink::shrink;
use super::{Broken, Case, Check, DrawnDocument, Law, Verdict};
use crate::Source;
use crate::grammar::{data, json};
use crate::source::random_bytes;

/// A kind of failure of a law.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The law.
    pub law: &'static str,
    /// The format of the text.
    pub from: Format,
    /// The other formats with this failure.
    pub to: Vec<String>,
    /// A text that breaks it.
    pub text: String,
    /// The failure.
    pub broken: Broken,
    /// The deliberate deviations in the generated text.
    pub flaws: Vec<&'static str>,
    /// The seed of that text.
    pub seed: u64,
    /// The number of documents with this failure.
    pub count: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            law,
            from,
            to,
            text,
            broken: Broken { what, cause, detail },
            flaws,
            seed,
            count,
        } = self;
        writeln!(
            f,
            "{law}: {what}: {cause} ({from} to {}; {count} documents; seed {seed}; {flaws:?})",
            to.join(" ")
        )?;
        writeln!(f, "  {text:?}\n  {detail}")
    }
}

/// Runs a law over a random document of these formats for each seed.
///
/// ```
/// use openchatml_testkit::{grammar, laws};
///
/// let formats: Vec<_> = grammar::formats().collect();
/// let nocrash = laws::Law::named("nocrash").unwrap();
/// assert!(laws::survey(nocrash, 0..10, &formats).is_empty());
/// ```
pub fn survey(
    law: &Law,
    seeds: impl IntoIterator<Item = u64>,
    formats: &[&'static str],
) -> Vec<Finding> {
    let mut survey = Survey { law, findings: BTreeMap::new(), shrunk: BTreeMap::new() };
    for seed in seeds {
        let bytes = random_bytes(seed);
        let drawn = DrawnDocument::new(law, &mut Source::new(&bytes), formats);
        if let Err(broken) = run(|| drawn.check(law)) {
            survey.add(seed, &drawn, broken);
        }
    }
    let mut findings: Vec<_> = survey.findings.into_values().collect();
    findings.sort_by_key(|it| (it.broken.what, it.from.to_string(), it.text.len()));
    findings
}

/// The message, the format, and the cause or the shape of the text.
type Kind = (&'static str, String, String);

/// The maximum number of texts that are shrunk for each message and format.
const SHRUNK: usize = 40;

struct Survey<'l> {
    law: &'l Law,
    findings: BTreeMap<Kind, Finding>,
    /// The number of shrunk texts for each message and format.
    shrunk: BTreeMap<(&'static str, String), usize>,
}

impl Survey<'_> {
    fn add(&mut self, seed: u64, drawn: &DrawnDocument, broken: Broken) {
        let Case { text, from, to, .. } = drawn.case();
        let (what, name) = (broken.what, from.to_string());
        let kind = (what, name.clone(), broken.cause.clone());
        if !broken.cause.is_empty()
            && let Some(known) = self.findings.get_mut(&kind)
        {
            known.count(to);
            if text.len() < known.text.len() {
                (known.text, known.broken, known.seed) = (text.to_owned(), broken, seed);
            }
            return;
        }
        let shrunk = self.shrunk.entry((what, name)).or_default();
        *shrunk += usize::from(broken.cause.is_empty());
        if *shrunk > SHRUNK {
            // Probably a known failure.
            let mut known = self.findings.values_mut();
            if let Some(known) = known.find(|it| it.broken.what == what && it.from == from) {
                known.count(to);
            }
            return;
        }
        let (text, broken) = self.smaller(drawn, broken);
        let cause = match broken.cause.as_str() {
            "" => shape(&text),
            cause => cause.to_owned(),
        };
        let flaws = drawn.samples[0].flaws.clone();
        let law = self.law.name;
        let new = Finding { law, from, to: Vec::new(), text, broken, flaws, seed, count: 0 };
        self.findings.entry((kind.0, kind.1, cause)).or_insert(new).count(to);
    }

    /// Returns the smallest text that breaks the law in the same way, if the law is about texts.
    fn smaller(&self, drawn: &DrawnDocument, broken: Broken) -> (String, Broken) {
        let case = drawn.case();
        let Check::Text(check) = self.law.check else { return (case.text.to_owned(), broken) };
        let check = |text: &str| {
            let verdict = run(|| check(&Case { text, ..case }));
            verdict.err().filter(|it| it.what == broken.what && it.cause == broken.cause)
        };
        let is_json = case.from.carrier() == Carrier::Json;
        let text = shrink(case.text, is_json, |text| check(text).is_some());
        let broken = check(&text).unwrap_or(broken);
        (text, broken)
    }
}

/// Returns the shape of a text: its control tokens, or the keys of its JSON.
fn shape(text: &str) -> String {
    if let Some((value, _)) = json::read(text) {
        return skeleton(&value);
    }
    let mut shape = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let token = rest.strip_prefix("<|").and_then(|rest| rest.split_once("|>"));
        let len = match token.filter(|(name, _)| name.len() < 20) {
            Some((name, _)) => name.len() + "<||>".len(),
            None => c.len_utf8(),
        };
        if token.is_some() && len > 1 {
            shape.push_str(&rest[..len]);
        } else if !shape.ends_with('~') {
            shape.push('~');
        }
        rest = &rest[len..];
    }
    shape
}

fn skeleton(value: &json::Json) -> String {
    match value {
        json::Json::List(items) => {
            let items: BTreeSet<_> = items.iter().map(skeleton).collect();
            format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
        }
        json::Json::Object(members) => {
            let member = |(key, value): &(String, json::Json)| {
                let key = if data(key).is_empty() { key.as_str() } else { "$" };
                format!("{key}:{}", skeleton(value))
            };
            let members: BTreeSet<_> = members.iter().map(member).collect();
            format!("{{{}}}", members.into_iter().collect::<Vec<_>>().join(","))
        }
        _ => "_".to_owned(),
    }
}

impl Finding {
    fn count(&mut self, to: Format) {
        self.count += 1;
        let to = to.to_string();
        if !self.to.contains(&to) {
            self.to.push(to);
        }
    }
}

fn run(check: impl FnOnce() -> Verdict) -> Verdict {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(Broken::new("panic", said.unwrap_or_default()))
    })
}
