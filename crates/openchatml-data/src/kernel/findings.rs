//! What is wrong with conversations.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use openchatml::{Code, Diagnostic, lint};

use super::columns::{Cell, Structs, number, structs_field, word};
use super::options::KernelOptions;
use super::task::{Columns, Outcome, ReadDocument};
use crate::record::add_lints;

const FINGERPRINT_BYTES: i32 = 16;

/// The column `findings`, and the column `fingerprint` if duplicates are wanted.
pub(super) struct Findings<'k> {
    options: &'k KernelOptions,
    lints: &'k [Code],
    findings: Structs,
    /// A number that equal conversations share, to find duplicates.
    fingerprints: Option<FixedSizeBinaryBuilder>,
}

fn fields() -> Fields {
    let texts = ["code", "severity", "message"].map(|it| word(it, false));
    let spans = ["start", "end"].map(|it| number(it, false));
    texts.into_iter().chain(spans).collect()
}

impl<'k> Findings<'k> {
    pub(super) fn new(options: &'k KernelOptions, lints: &'k [Code]) -> Self {
        let wants = lints.contains(&Code::Duplicate);
        let fingerprints = wants.then(|| FixedSizeBinaryBuilder::new(FINGERPRINT_BYTES));
        Self { options, lints, findings: Structs::new(fields()), fingerprints }
    }

    pub(super) fn fields(lints: &[Code]) -> Vec<Field> {
        let mut columns = vec![structs_field("findings", fields())];
        if lints.contains(&Code::Duplicate) {
            let kind = DataType::FixedSizeBinary(FINGERPRINT_BYTES);
            columns.push(Field::new("fingerprint", kind, true));
        }
        columns
    }

    fn add_fingerprint(&mut self, fingerprint: Option<u128>) {
        let Some(fingerprints) = &mut self.fingerprints else { return };
        match fingerprint {
            None => fingerprints.append_null(),
            Some(number) => {
                let is_appended = fingerprints.append_value(number.to_le_bytes()).is_ok();
                debug_assert!(is_appended, "the width is fixed");
            }
        }
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
        if self.fingerprints.is_some() {
            let conversations = read.document.conversations();
            let has_messages = conversations.iter().any(|it| !it.messages.is_empty());
            self.add_fingerprint(has_messages.then(|| lint::fingerprint(&read.document)));
        }
        self.add(own)
    }

    fn push_unread(&mut self, found: Vec<Diagnostic>) -> Outcome {
        self.add_fingerprint(None);
        self.add(found)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut columns = vec![self.findings.finish()?];
        if let Some(mut fingerprints) = self.fingerprints {
            columns.push(Arc::new(fingerprints.finish()));
        }
        Ok(columns)
    }
}
