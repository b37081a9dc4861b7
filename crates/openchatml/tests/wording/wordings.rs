//! The distinct wordings of diagnostics.

use std::collections::{BTreeMap, BTreeSet};

use openchatml::convert::Lost;
use openchatml::{Applicability, Code, Diagnostic, Severity};

use crate::literals::Literal;

/// The placeholder for quoted input.
const INPUT: &str = "…";

/// The wording of a diagnostic, without quoted input.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wording {
    code: &'static str,
    message: String,
    help: Option<String>,
    fix: Option<&'static str>,
}

pub(crate) struct Wordings {
    /// The texts between back quotes that are not quoted input: keys, flags, formats.
    known: BTreeSet<String>,
    /// The wordings with their severities.
    seen: BTreeMap<Wording, BTreeSet<Severity>>,
}

impl Wordings {
    pub(crate) fn new(literals: &[Literal]) -> Self {
        let quoted = literals.iter().flat_map(|literal| literal.text.split('`').skip(1).step_by(2));
        let known = quoted.filter(|text| !text.is_empty()).map(str::to_owned).collect();
        Self { known, seen: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, found: &Diagnostic) {
        let fix = found.fix.as_ref().map(|fix| match fix.applicability {
            Applicability::Safe => "safe",
            _ => "suggested",
        });
        let mut message = self.plain(&found.message);
        // The message ends with the name of a loss, which is replaced by a placeholder.
        let lost = |lost: &&Lost| message.ends_with(lost.as_str());
        if found.code == Code::RenderUnsupported
            && let Some(lost) = Lost::ALL.iter().find(lost)
        {
            message.truncate(message.len() - lost.as_str().len());
            message.push_str("(loss)");
        }
        let wording = Wording {
            code: found.code.as_str(),
            message,
            help: found.help.as_deref().map(|help| self.plain(help)),
            fix,
        };
        self.seen.entry(wording).or_default().insert(found.severity);
    }

    /// `text` with [`INPUT`] for what it quotes, and N for numbers.
    fn plain(&self, text: &str) -> String {
        let parts = text.split('`').enumerate();
        let parts = parts.map(|(index, part)| match index % 2 {
            0 => without_numbers(part),
            _ if self.known.contains(part) => part.to_owned(),
            _ => INPUT.to_owned(),
        });
        parts.collect::<Vec<_>>().join("`")
    }

    /// Returns the list of wordings, by code. Wordings that differ only in quoted input are listed
    /// once.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let mut code = "";
        for (wording, severities) in &self.seen {
            if self.seen.keys().any(|other| other != wording && wording.is_case_of(other)) {
                continue;
            }
            if wording.code != code {
                code = wording.code;
                out.push_str(&format!("\n{code}\n"));
            }
            let severities: Vec<_> = severities.iter().map(|it| it.as_str()).collect();
            out.push_str(&format!("  {}: {}\n", severities.join(" or "), wording.message));
            if let Some(help) = &wording.help {
                out.push_str(&format!("    help: {help}\n"));
            }
            if let Some(fix) = wording.fix {
                out.push_str(&format!("    fix: {fix}\n"));
            }
        }
        out
    }

    /// Whether a message or a help text contains `literal`, with anything for its `{…}`.
    pub(crate) fn contain(&self, literal: &str) -> bool {
        let literal = literal.replace("{{", "{").replace("}}", "}");
        let mut pieces = Vec::new();
        let mut rest = literal.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            pieces.push(without_numbers(before));
            rest = after.split_once('}').map_or("", |it| it.1);
        }
        pieces.push(without_numbers(rest));
        let is_in = |text: &str| {
            let mut rest = text;
            pieces.iter().all(|piece| match rest.split_once(piece.as_str()) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
        };
        self.seen.keys().any(|it| is_in(&it.message) || it.help.as_deref().is_some_and(is_in))
    }
}

impl Wording {
    /// Whether `other` is the same wording with [`INPUT`] in place of a word between back quotes.
    fn is_case_of(&self, other: &Self) -> bool {
        let rest = |it: &Self| (it.code, it.help.is_some(), it.fix);
        let help = |it: &Self| it.help.clone().unwrap_or_default();
        rest(self) == rest(other)
            && is_case_of(&self.message, &other.message)
            && is_case_of(&help(self), &help(other))
    }
}

fn is_case_of(one: &str, other: &str) -> bool {
    let [mut one, mut other] = [one, other].map(|text| text.split('`').enumerate());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some((index, one)), Some((_, other)))
                if one == other || index % 2 == 1 && other == INPUT => {}
            _ => return false,
        }
    }
}

fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut was_digit = false;
    for c in text.chars() {
        let is_digit = c.is_ascii_digit();
        match is_digit {
            true if was_digit => {}
            true => out.push('N'),
            false => out.push(c),
        }
        was_digit = is_digit;
    }
    out
}
