//! The result of a document: its output and its messages.

use std::fmt::Write as _;

use openchatml::convert::{Loss, Lost, Sidecar};
use openchatml::{Carrier, Code, Diagnostic, Dropped, Format, Severity};

use super::converter::{Converted, Converter};
use crate::args::{Consent, Verbosity};
use crate::failure::UNKNOWN;
use crate::input::{Page, Slot, finding};
use crate::output::{escape, pretty};
use crate::report::{Losses, Style, Tally, write_object};

/// The result of a converted document.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The document in the target format; empty if it is rejected.
    pub(super) output: Option<String>,
    /// The messages to print.
    pub(super) report: String,
    pub(super) tally: Tally,
    pub(super) losses: Losses,
    /// The data that would be lost without permission, by the names of `--allow-loss`. If there is
    /// any, nothing is written.
    pub(super) refused: Vec<String>,
    /// The text for the file of rejected documents.
    pub(super) reject: Option<String>,
    /// The text for the sidecar.
    pub(super) sidecar: Option<Sidecar>,
    /// Whether the output is a JSON object with both sides of a pair, in any format.
    pub(super) is_pair: bool,
}

impl Outcome {
    /// The carrier of the output of this converter.
    pub(super) fn carrier(&self, converter: &Converter) -> Carrier {
        if self.is_pair { Carrier::Json } else { converter.carrier() }
    }
}

/// How to judge, report and write documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputRules {
    pub(super) shape: DocumentLayout,
    pub(super) consent: Consent,
    pub(super) is_strict: bool,
    /// Whether rejected documents are written to a file.
    pub(super) keeps_rejects: bool,
    pub(super) verbosity: Verbosity,
}

/// The form of a written document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentLayout {
    /// Unchanged.
    Document,
    /// Indented, if it is JSON.
    Pretty,
    /// A line of JSONL.
    Line,
}

impl OutputRules {
    /// Converts the document in `slot`. `before` are the diagnostics from before the conversion.
    pub(super) fn convert(
        self,
        converter: &Converter,
        page: &Page<'_>,
        slot: &Slot<'_>,
        format: Format,
        before: &[Diagnostic],
    ) -> Outcome {
        let Converted { mut output, found, mut losses, sidecar, is_pair } =
            converter.convert(&slot.text, format);
        let mut all = before.to_vec();
        for mut found in found {
            slot.place(&mut found);
            all.push(found);
        }
        for loss in &mut losses {
            loss.span = slot.span(loss.span);
        }
        if converter.carrier() == Carrier::Json {
            all.extend(slot.other_fields.iter().map(beside_text));
        }
        let mut refused = self.judge(&mut all);
        let mut is_forbidden = false;
        for found in all.iter_mut().filter(|found| found.code == Code::Loss) {
            // A loss of the record that contains the document.
            if !self.consent.allows_loss(Lost::Field) {
                found.severity = Severity::Error;
                is_forbidden = true;
            }
        }
        let (allowed, forbidden): (Vec<_>, Vec<_>) =
            losses.into_iter().partition(|loss| self.consent.allows_loss(loss.lost));
        all.extend(forbidden.iter().map(|loss| loss.to_diagnostic(Severity::Error)));
        let lost =
            forbidden.iter().map(|loss| loss.lost).chain(is_forbidden.then_some(Lost::Field));
        for word in lost.map(Lost::word) {
            if !refused.contains(&word) {
                refused.push(word);
            }
        }
        if !refused.is_empty()
            || self.is_strict && all.iter().any(|found| found.severity == Severity::Error)
        {
            output = None;
        }
        let mut outcome = self.reported(page, &all);
        outcome.refused = refused;
        match output {
            Some(text) => {
                self.tell_losses(page, allowed, &mut outcome);
                outcome.output = Some(text);
                outcome.sidecar = sidecar;
                outcome.is_pair = is_pair;
            }
            None => outcome.reject = self.reject(page, &all),
        }
        outcome
    }

    /// Creates the result of a document that cannot be read, because of the diagnostics `found`. It
    /// has no output, whatever losses are allowed.
    pub(super) fn unreadable(self, page: &Page<'_>, found: &[Diagnostic]) -> Outcome {
        Outcome { reject: self.reject(page, found), ..self.reported(page, found) }
    }

    /// Creates the result of a line that has no output, because of the diagnostics `found`.
    pub(super) fn refuse(self, page: &Page<'_>, found: &[Diagnostic]) -> Outcome {
        let mut all = found.to_vec();
        let refused = self.judge(&mut all);
        Outcome { refused, reject: self.reject(page, &all), ..self.reported(page, &all) }
    }

    /// Changes diagnostics that drop input with permission to warnings. Returns the names of input
    /// that is dropped without permission.
    fn judge(self, all: &mut [Diagnostic]) -> Vec<String> {
        let mut refused: Vec<String> = Vec::new();
        for found in all {
            match found.dropped {
                Some(dropped) if self.consent.allows_drop(dropped) => {
                    found.severity = found.severity.min(Severity::Warning);
                }
                Some(dropped) if !refused.iter().any(|word| word == dropped.as_str()) => {
                    refused.push(dropped.as_str().to_owned());
                }
                _ => {}
            }
        }
        refused
    }

    /// Returns a rejected document with its diagnostics as a line of JSON.
    fn reject(self, page: &Page<'_>, all: &[Diagnostic]) -> Option<String> {
        if !self.keeps_rejects {
            return None;
        }
        let mut found = String::new();
        for (index, diagnostic) in all.iter().enumerate() {
            found.push_str(if index == 0 { "" } else { "," });
            write_object(page, diagnostic, &mut found);
        }
        Some(reject(page, &found))
    }

    /// Prints the diagnostics, depending on the verbosity.
    fn reported(self, page: &Page<'_>, all: &[Diagnostic]) -> Outcome {
        let mut outcome = Outcome { tally: Tally::of(all), ..Outcome::default() };
        for found in all {
            let is_shown = match found.severity {
                Severity::Error => true,
                Severity::Warning => self.verbosity > Verbosity::Quiet,
                Severity::Note => self.verbosity > Verbosity::Normal,
            };
            if is_shown {
                Style::Text.write(page, found, &mut outcome.report);
            }
        }
        outcome
    }

    /// Prints the losses: the number of each, and the places if more output is requested.
    fn tell_losses(self, page: &Page<'_>, mut losses: Vec<Loss>, outcome: &mut Outcome) {
        if self.verbosity < Verbosity::Verbose {
            // Every prompt omits earlier reasoning: a warning each time would hide other warnings.
            losses.retain(|loss| loss.lost != Lost::History);
            outcome.tally.warnings += losses.len();
            return outcome.losses.count(&losses, page);
        }
        outcome.tally.warnings += losses.len();
        for loss in losses {
            let found = loss.to_diagnostic(Severity::Warning);
            Style::Text.write(page, &found, &mut outcome.report);
        }
    }

    /// Writes the result of the document in `slot`.
    pub(super) fn write(
        self,
        text: &str,
        page: &Page<'_>,
        slot: &Slot<'_>,
        carrier: Carrier,
        out: &mut String,
    ) {
        match (carrier, self.shape) {
            (Carrier::Json, DocumentLayout::Pretty) => out.push_str(&pretty(text)),
            (Carrier::Json, _) => out.push_str(text),
            (_, DocumentLayout::Line) if slot.is_field() => slot.replace(page.text, text, out),
            (_, DocumentLayout::Line) => {
                out.push_str("{\"text\":\"");
                escape(text, out);
                out.push_str("\"}");
            }
            _ => return out.push_str(text),
        }
        out.push('\n');
    }
}

/// The data next to the text of a line. Only another such line can contain it.
fn beside_text((key, span): &(String, openchatml::Span)) -> Diagnostic {
    let text = format!("unknown key `{key}` next to `text`: it will be dropped");
    let mut found = finding(Code::UnknownKey, *span, text);
    found.dropped = Some(Dropped::Key);
    found
}

/// Reports that nothing was written, the reason, and how to allow the loss.
pub(super) fn refusal(name: &str, what: &str, refused: &[String]) -> String {
    let names = refused.join(",");
    format!("{name}: {what} because input would be lost; to allow it: --allow-loss={names}")
}

/// A line of the file of rejected documents: a document with its diagnostics as JSON objects.
fn reject(page: &Page<'_>, found: &str) -> String {
    let mut out = String::from("{\"file\":\"");
    escape(page.name, &mut out);
    // Writing to a `String` cannot fail.
    let _ = write!(out, "\",\"line\":{},\"diagnostics\":[{found}],\"input\":\"", page.first_line());
    escape(page.text, &mut out);
    if let Some(raw) = page.raw() {
        out.push_str("\",\"input_hex\":\"");
        for byte in raw {
            let _ = write!(out, "{byte:02x}");
        }
    }
    out.push_str("\"}\n");
    out
}

/// Returns the same for a document in an unknown format; `reasons` is the reason.
pub(super) fn unknown_reject(page: &Page<'_>, reasons: &[String]) -> String {
    let mut found = format!("{{\"code\":\"{UNKNOWN}\",\"severity\":\"error\",\"message\":\"");
    escape(reasons.first().map_or("", String::as_str), &mut found);
    found.push_str("\"}");
    reject(page, &found)
}
