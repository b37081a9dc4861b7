//! What comes of a document: what is written, and what is said about it.

use openchatml::convert::{Loss, Sidecar};
use openchatml::{Carrier, Code, Diagnostic, Format, Severity};

use super::converter::{Converted, Converter};
use crate::args::Verbosity;
use crate::input::{Page, Slot, finding};
use crate::output::{escape, pretty};
use crate::report::{Losses, Style, Tally};

/// What is known of a document once it is converted.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The document in the target format; nothing if it is refused.
    pub(super) output: Option<String>,
    /// What is to be said.
    pub(super) report: String,
    pub(super) tally: Tally,
    pub(super) losses: Losses,
    /// What is to be kept beside the output.
    pub(super) sidecar: Option<Sidecar>,
}

/// How documents are judged, told about and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) shape: Shape,
    pub(super) no_loss: bool,
    pub(super) is_strict: bool,
    pub(super) verbosity: Verbosity,
}

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As it is.
    Document,
    /// For somebody to read, if it is JSON.
    Pretty,
    /// As a line of JSONL.
    Line,
}

impl Manner {
    /// Converts the document in `slot`. `before` was found before it was looked at.
    pub(super) fn convert(
        self,
        converter: &Converter,
        page: &Page<'_>,
        slot: &Slot<'_>,
        format: Format,
        before: &[Diagnostic],
    ) -> Outcome {
        let Converted { mut output, found, mut losses, sidecar } =
            converter.convert(&slot.text, format);
        let mut all = before.to_vec();
        for mut found in found {
            slot.place(&mut found);
            all.push(found);
        }
        for loss in &mut losses {
            loss.span = slot.span(loss.span);
        }
        let field = slot.other_field.as_deref();
        let field = field.filter(|_| converter.carrier() == Carrier::Json);
        if self.no_loss {
            let errors = self.losses(&losses, field, Severity::Error);
            output = output.filter(|_| errors.is_empty());
            all.extend(errors);
        }
        if self.is_strict && all.iter().any(|found| found.severity == Severity::Error) {
            output = None;
        }
        let mut outcome = self.told(page, &all);
        if let Some(text) = output {
            self.tell_losses(page, &losses, field, &mut outcome);
            outcome.output = Some(text);
            outcome.sidecar = sidecar;
        }
        outcome
    }

    /// A document that nothing can come of, because of what was `found`.
    pub(super) fn refuse(self, page: &Page<'_>, found: &[Diagnostic]) -> Outcome {
        self.told(page, found)
    }

    /// Says what was found, as far as that is wanted.
    fn told(self, page: &Page<'_>, all: &[Diagnostic]) -> Outcome {
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

    /// Says what was lost: how often each, and where if more is wanted.
    fn tell_losses(
        self,
        page: &Page<'_>,
        losses: &[Loss],
        field: Option<&str>,
        outcome: &mut Outcome,
    ) {
        outcome.tally.warnings += losses.len() + usize::from(field.is_some());
        if self.verbosity < Verbosity::Verbose {
            outcome.losses.count(losses, page);
            if let Some(field) = field {
                outcome.losses.count_document(field_dropped(field));
            }
            return;
        }
        for found in self.losses(losses, field, Severity::Warning) {
            Style::Text.write(page, &found, &mut outcome.report);
        }
    }

    /// Losses as findings.
    fn losses(self, losses: &[Loss], field: Option<&str>, severity: Severity) -> Vec<Diagnostic> {
        let mut all: Vec<_> = losses.iter().map(|loss| loss.to_diagnostic(severity)).collect();
        all.extend(field.map(|field| {
            let found = finding(Code::Loss, openchatml::Span::at(0), field_dropped(field));
            Diagnostic { severity, ..found }
        }));
        all
    }

    /// Writes a document that came of the one in `slot`.
    pub(super) fn write(
        self,
        text: &str,
        page: &Page<'_>,
        slot: &Slot<'_>,
        carrier: Carrier,
        out: &mut String,
    ) {
        match (carrier, self.shape) {
            (Carrier::Json, Shape::Pretty) => out.push_str(&pretty(text)),
            (Carrier::Json, _) => out.push_str(text),
            (_, Shape::Line) if slot.is_field() => slot.replace(page.text, text, out),
            (_, Shape::Line) => {
                out.push_str("{\"text\":\"");
                escape(text, out);
                out.push_str("\"}");
            }
            _ => return out.push_str(text),
        }
        out.push('\n');
    }
}

fn field_dropped(field: &str) -> String {
    format!("field `{field}` and any others beside `text` dropped")
}
