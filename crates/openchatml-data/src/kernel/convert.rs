//! Conversations as texts of a format.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::LargeStringBuilder;
use arrow_schema::{ArrowError, DataType, Field};
use openchatml::convert::{Conversion, convert};
use openchatml::{Code, Document, Format, Span};

use super::options::KernelOptions;
use super::task::{Columns, Outcome, ReadDocument};
use crate::record::{finding, is_json};

/// The column `text`.
pub(super) struct Texts<'k> {
    options: &'k KernelOptions,
    to: Format,
    texts: LargeStringBuilder,
    /// What follows each text.
    end: &'static str,
}

impl<'k> Texts<'k> {
    /// Prepares room for `rows` texts that take about `bytes` together.
    pub(super) fn new(options: &'k KernelOptions, to: Format, rows: usize, bytes: usize) -> Self {
        Self { options, to, texts: LargeStringBuilder::with_capacity(rows, bytes), end: "" }
    }

    /// Writes this after each text.
    pub(super) fn with_end(self, end: &'static str) -> Self {
        Self { end, ..self }
    }

    pub(super) fn fields() -> Vec<Field> {
        vec![Field::new("text", DataType::LargeUtf8, false)]
    }
}

impl Columns for Texts<'_> {
    fn push(&mut self, mut read: ReadDocument<'_>) -> Outcome {
        if read.is_lost(self.options) {
            let _ = self.options.consent.judge(&mut read.found, &mut Vec::new());
            return Outcome::refused(read.found);
        }
        if matches!(read.document, Document::Pair(_)) && !is_json(self.to) {
            return read.refuse_for(pair(&format!("{} has no pairs", self.to)));
        }
        read.found.extend(read.slot.dropped_fields());
        let (document, mut losses, kept) = read.prepare(self.to, self.options);
        let converted = convert(&document, self.to, &self.options.render);
        read.document = document;
        let Conversion { output, losses: mut more, .. } = match converted {
            Ok(converted) => converted,
            Err(error) => return read.refuse(error, &kept),
        };
        more.iter_mut().for_each(|loss| kept.name(loss));
        losses.append(&mut more);
        let outcome = read.judge(losses, self.options);
        if outcome.is_written {
            // Writing to the builder cannot fail.
            let _ = self.texts.write_str(&output);
            self.texts.append_value(self.end);
        }
        outcome
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(vec![Arc::new(self.texts.finish())])
    }
}

/// A preference pair where one conversation is needed.
pub(super) fn pair(why: &str) -> openchatml::Diagnostic {
    let text = format!("the record has two conversations, `chosen` and `rejected`, but {why}");
    let help = "write them as records (`-t records`), or each side on its own with `ocml convert`";
    finding(Code::RenderUnsupported, Span::at(0), text).help(help)
}
