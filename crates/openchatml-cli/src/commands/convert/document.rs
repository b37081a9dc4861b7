//! The result of a document: its output and its messages.

use openchatml::convert::{Loss, Lost, Sidecar};
use openchatml::{Carrier, Diagnostic, Dropped, Format, Severity};
use openchatml_data::record::{Consent, reject};

use super::converter::{Converted, Converter};
use crate::args::Verbosity;
use crate::input::{Page, Slot};
use crate::output::{escape, pretty};
use crate::report::{Losses, Style, Tally};
use crate::visible::visible_line;

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
        let Converted { mut output, found, mut losses, sidecar, is_pair, is_completion } =
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
            all.extend(slot.dropped_fields());
            losses.extend(slot.lost_fields());
        }
        let mut consent = self.consent;
        if converter.writes_prompts() && !consent.forbids_losses() {
            // As in a run, a model can be asked to go on with it.
            consent.allow_loss(Lost::Pairing);
        }
        if is_completion && !consent.forbids_losses() {
            consent.tell(Dropped::Text);
        }
        let refused = consent.judge(&mut all, &mut losses);
        if !refused.is_empty()
            || self.is_strict && all.iter().any(|found| found.severity == Severity::Error)
        {
            output = None;
        }
        let mut outcome = self.reported(page, &all);
        outcome.refused = refused;
        match output {
            Some(text) => {
                self.tell_losses(page, losses, &mut outcome);
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
        let refused = self.consent.judge(&mut all, &mut Vec::new());
        Outcome { refused, reject: self.reject(page, &all), ..self.reported(page, &all) }
    }

    /// Returns a rejected document with its diagnostics as a line of JSON.
    fn reject(self, page: &Page<'_>, all: &[Diagnostic]) -> Option<String> {
        self.keeps_rejects.then(|| reject(page, all))
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

/// Reports that nothing was written, the reason, and how to allow the loss.
pub(super) fn refusal(name: &str, what: &str, refused: &[String]) -> String {
    let (name, names) = (visible_line(name), refused.join(","));
    format!("{name}: {what} because input would be lost; to allow it: --allow-loss={names}")
}
