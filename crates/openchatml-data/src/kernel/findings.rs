//! What is wrong with conversations.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, Field, Fields};
use openchatml::{Code, Diagnostic};

use super::columns::{Cell, Structs, number, structs_field, word};
use super::options::KernelOptions;
use super::task::{Columns, Outcome, ReadDocument};
use crate::record::add_lints;

/// The column `findings`.
pub(super) struct Findings<'k> {
    options: &'k KernelOptions,
    lints: &'k [Code],
    findings: Structs,
}

fn fields() -> Fields {
    let texts = ["code", "severity", "message"].map(|it| word(it, false));
    let spans = ["start", "end"].map(|it| number(it, false));
    texts.into_iter().chain(spans).collect()
}

impl<'k> Findings<'k> {
    pub(super) fn new(options: &'k KernelOptions, lints: &'k [Code]) -> Self {
        Self { options, lints, findings: Structs::new(fields()) }
    }

    pub(super) fn fields() -> Vec<Field> {
        vec![structs_field("findings", fields())]
    }

    fn add(&mut self, mut found: Vec<Diagnostic>) -> Outcome {
        let _ = self.options.consent.judge(&mut found, &mut Vec::new());
        found.sort_by_key(|found| found.span.start);
        self.findings.restart_row();
        for found in &found {
            self.findings.push([
                Cell::Word(Some(found.code.as_str())),
                Cell::Word(Some(found.severity.as_str())),
                Cell::Text(found.message.clone()),
                Cell::Number(Some(found.span.start)),
                Cell::Number(Some(found.span.end)),
            ]);
        }
        self.findings.end_row();
        Outcome::written(found)
    }
}

impl Columns for Findings<'_> {
    fn push(&mut self, read: ReadDocument<'_>) -> Outcome {
        let mut own = read.found;
        let reported = own.len();
        add_lints(&read.document, self.lints, &mut own);
        for found in &mut own[reported..] {
            read.slot.place(found);
        }
        self.add(own)
    }

    fn push_unread(&mut self, found: Vec<Diagnostic>) -> Outcome {
        self.add(found)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(vec![self.findings.finish()?])
    }
}
