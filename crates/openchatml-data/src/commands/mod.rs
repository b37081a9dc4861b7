//! What can be done with data sets: one function for each command.

mod check;
mod convert;
mod dedup;
mod lsh;
mod pack;
mod sample;
mod split;
mod stats;

pub use self::check::{Checked, Example, Finding, RowFinding, RowFindings, check, check_rows};
pub use self::convert::{convert, tokenize};
pub use self::dedup::{Near, dedup};
pub use self::sample::{Size, sample};
pub use self::split::{Share, split};
pub use self::stats::{Histogram, RoleStats, Stats, stats};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::Field;
use openchatml::Diagnostic;

use crate::error::DataError;
use crate::input::{InputFile, RowPlace, Rows};
use crate::kernel::{Kernel, KernelOptions, Processed, Rejected, Tally};
use crate::output::{Encoded, Encoder, FileFormat, Kept, lines};
use crate::record::{Consent, RecordFormat};
use crate::rows::TextColumn;
use crate::run::{Fields, Inputs, Layout, Rejects, RunOptions, select};

/// A kernel for the rows of inputs.
struct Work<'o> {
    options: &'o RunOptions,
    fields: &'o Fields,
    kernel: Kernel,
    /// The columns that are kept.
    kept: Vec<Field>,
    has_lines: bool,
}

/// The result of some rows.
struct Piece {
    /// What the kernel wrote.
    batch: RecordBatch,
    /// The rows of the ready batch that it belongs to.
    rows: Vec<u32>,
    /// The places of all rows of the ready batch.
    places: Vec<RowPlace>,
    kept: Kept,
    rejects: Rejects,
    /// The rejected rows, in order, with the reasons.
    rejected: Vec<(RowPlace, Vec<Diagnostic>)>,
    tally: Tally,
}

impl<'o> Work<'o> {
    fn new(
        inputs: &Inputs<'o>,
        fields: &'o Fields,
        mut kernel: KernelOptions,
    ) -> Result<Self, DataError> {
        let kept = fields.kept(inputs.plan.schema.as_ref(), kernel.consent)?;
        kernel.lines = inputs.has_lines() && fields.column.is_none();
        if !inputs.has_lines() {
            kernel.column.clone_from(&fields.column);
        }
        kernel.keep.clone_from(&fields.keep);
        kernel.from = match fields.from {
            Some(format) => RecordFormat::Named(format),
            None => inputs.plan.detect(fields, &kernel)?,
        };
        let (options, kernel) = (inputs.options, Kernel::new(kernel));
        Ok(Self { options, fields, kernel, kept, has_lines: inputs.has_lines() })
    }

    fn consent(&self) -> Consent {
        self.kernel.options().consent
    }

    /// The format of the conversations, for the manifest.
    fn format(&self) -> String {
        match self.kernel.options().from {
            RecordFormat::Named(format) => format.to_string(),
            RecordFormat::Most(format) => format!("mostly {format}"),
            RecordFormat::Each(_) => "mixed".to_owned(),
        }
    }

    fn process(&self, file: &InputFile, mut rows: Rows) -> Result<Piece, DataError> {
        let too_long = std::mem::take(&mut rows.too_long);
        let ready = self.fields.ready(rows, self.has_lines, &self.kept, self.consent())?;
        let Processed { batch, rows, rejected, mut tally, .. } =
            self.kernel.process(&ready.batch)?;
        let mut refused = ready.refused;
        for (_, _, found) in &refused {
            tally.record(std::slice::from_ref(found), &[], true);
        }
        let mut all: Vec<(RowPlace, Vec<u8>, Vec<_>)> =
            refused.drain(..).map(|(place, line, found)| (place, line, vec![found])).collect();
        for Rejected { row, record, found } in rejected {
            let place = usize::try_from(row).ok().and_then(|row| ready.places.get(row));
            all.push((place.copied().unwrap_or_default(), record, found));
        }
        all.sort_by_key(|(place, ..)| place.row);
        let (mut rejects, on_reject) = (Rejects::default(), self.options.on_reject);
        let mut rejected = Vec::with_capacity(all.len());
        for (place, record, found) in all {
            rejects.add(&file.name, place, &record, &found, on_reject)?;
            rejected.push((place, found));
        }
        // A line that is too long is alone in its batch.
        for line in &too_long {
            let limit = self.options.line_limit();
            let found = rejects.add_long(&file.name, line, limit, on_reject)?;
            tally.record(std::slice::from_ref(&found), &[], true);
            rejected.push((line.place, vec![found]));
        }
        let kept = select(ready.kept, &rows)?;
        Ok(Piece { batch, rows, places: ready.places, kept, rejects, rejected, tally })
    }
}

/// Returns the kind of the output files: the wanted one, or that of the inputs.
fn format_of(inputs: &Inputs<'_>) -> FileFormat {
    let own = if inputs.has_lines() { FileFormat::Jsonl } else { FileFormat::Parquet };
    inputs.options.format.unwrap_or(own)
}

/// Writes rows of the inputs unchanged.
struct RowWriter {
    format: FileFormat,
    /// Unless the inputs have lines.
    encoder: Option<Encoder>,
}

impl RowWriter {
    fn new(inputs: &Inputs<'_>) -> Result<Self, DataError> {
        let format = format_of(inputs);
        let encoder = match &inputs.plan.schema {
            Some(schema) => Some(Encoder::new(format, schema, &[], None)?),
            None if format.has_lines() => None,
            None => {
                let text = "lines stay lines here: convert them to tables with `ocml data convert`";
                return Err(DataError::usage(text));
            }
        };
        Ok(Self { format, encoder })
    }

    fn layout(&self, options: &RunOptions, folders: Vec<String>) -> Layout {
        let tables = self.encoder.as_ref().filter(|encoder| !encoder.has_lines());
        let schema = tables.map(|encoder| encoder.schema.clone());
        Layout { format: self.format, schema, folders, group_bytes: options.group_bytes() }
    }

    /// Encodes rows of a batch.
    fn encode(&self, batch: &RecordBatch, rows: &[u32]) -> Result<Encoded, DataError> {
        if let Some(encoder) = &self.encoder {
            let rows = UInt32Array::from(rows.to_vec());
            let taken = arrow_select::take::take_record_batch(batch, &rows);
            let taken = taken.map_err(|error| DataError::Internal(error.to_string()))?;
            return encoder.encode(&taken, &Kept::nothing());
        }
        let texts = TextColumn::new(batch.column(0).as_ref());
        let mut bytes = Vec::new();
        for row in rows {
            let row = usize::try_from(*row).unwrap_or(usize::MAX);
            bytes
                .extend_from_slice(texts.as_ref().and_then(|it| it.bytes(row)).unwrap_or_default());
            bytes.push(b'\n');
        }
        lines(bytes, u64::try_from(rows.len()).unwrap_or_default(), self.format)
    }
}

/// Rejects the lines of a batch that are too long, and nothing else.
fn reject_long(
    options: &RunOptions,
    file: &InputFile,
    rows: &Rows,
) -> Result<(Rejects, Tally), DataError> {
    let (mut rejects, mut tally) = (Rejects::default(), Tally::default());
    for line in &rows.too_long {
        let found = rejects.add_long(&file.name, line, options.line_limit(), options.on_reject)?;
        tally.record(std::slice::from_ref(&found), &[], true);
    }
    for _ in &rows.places {
        tally.record(&[], &[], false);
    }
    Ok((rejects, tally))
}
