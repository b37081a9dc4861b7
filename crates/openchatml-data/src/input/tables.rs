//! Parquet and Arrow files.

use std::io::BufReader;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::{BatchLimits, FileKind, InputFile, Position, RowPlace, Rows};
use crate::error::DataError;
use crate::rows::size;
use crate::store::{Blob, BlobReader};

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The most rows of a batch of a Parquet file.
const MOST_ROWS: usize = 8192;

/// Reads the rows of a table in batches. A batch ends where a batch of the file ends, at a multiple
/// of some number of rows in it, or where the caller wants it. So batches do not depend on where
/// reading started.
pub(crate) struct Table {
    name: String,
    batches: Batches,
    held: Option<Held>,
    position: Position,
    limits: BatchLimits,
}

/// A batch of the file, of which some rows have been returned.
struct Held {
    batch: RecordBatch,
    returned: usize,
    /// The size of a row, and the number of rows of a batch of a good size.
    row_bytes: usize,
    rows: usize,
}

impl Held {
    fn new(batch: RecordBatch, limits: BatchLimits) -> Self {
        let row_bytes = size(&batch).div_ceil(batch.num_rows().max(1)).max(1);
        let rows = (limits.bytes / row_bytes).clamp(1, limits.rows.max(1));
        Self { batch, returned: 0, row_bytes, rows }
    }

    fn left(&self) -> usize {
        self.batch.num_rows() - self.returned
    }

    fn take(&mut self, most: usize) -> RecordBatch {
        let to_end = self.rows - self.returned % self.rows;
        let rows = to_end.min(most).min(self.left());
        let taken = self.batch.slice(self.returned, rows);
        self.returned += rows;
        taken
    }
}

/// A file that the Parquet reader reads.
struct Chunks(Arc<dyn Blob>);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Chunks {
    type T = BlobReader;

    fn get_read(&self, start: u64) -> parquet::errors::Result<BlobReader> {
        Ok(BlobReader::at(Arc::clone(&self.0), start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.0.read_at(start, length)?;
        if bytes.len() < length {
            let text = format!("the file ends at byte {}", start + bytes.len() as u64);
            return Err(ParquetError::EOF(text));
        }
        Ok(bytes)
    }
}

impl Table {
    /// Returns the columns of a table.
    pub(super) fn schema(file: &InputFile) -> Result<SchemaRef, DataError> {
        let failed = |error: ArrowError| DataError::input(&file.name, said(&error));
        match file.kind {
            FileKind::ArrowStream => {
                let reader = StreamReader::try_new(reader(file), None).map_err(failed)?;
                Ok(reader.schema())
            }
            FileKind::ArrowFile => {
                Ok(FileReader::try_new(reader(file), None).map_err(failed)?.schema())
            }
            _ => Ok(Arc::clone(parquet(file)?.schema())),
        }
    }

    pub(super) fn new(
        file: &InputFile,
        from: Position,
        limits: BatchLimits,
    ) -> Result<Self, DataError> {
        let failed = |error: ArrowError| DataError::at_row(&file.name, from.rows + 1, said(&error));
        let (batches, skipped): (Batches, u64) = match file.kind {
            FileKind::ArrowStream => {
                (Box::new(StreamReader::try_new(reader(file), None).map_err(failed)?), 0)
            }
            FileKind::ArrowFile => {
                (Box::new(FileReader::try_new(reader(file), None).map_err(failed)?), 0)
            }
            _ => rows_of_parquet(file, from.rows, limits)?,
        };
        let position = Position { rows: skipped, bytes: 0 };
        let mut table = Self { name: file.name.clone(), batches, held: None, position, limits };
        table.skip(from.rows - skipped)?;
        Ok(table)
    }

    /// Skips rows.
    fn skip(&mut self, rows: u64) -> Result<(), DataError> {
        let end = self.position.rows + rows;
        while self.position.rows < end {
            let left = usize::try_from(end - self.position.rows).unwrap_or(usize::MAX);
            if self.next(left)?.is_none() {
                return Err(self.failed("the file has fewer rows than before"));
            }
        }
        Ok(())
    }

    fn failed(&self, what: impl std::fmt::Display) -> DataError {
        DataError::at_row(&self.name, self.position.rows + 1, what)
    }

    pub(super) fn next(&mut self, most: usize) -> Result<Option<Rows>, DataError> {
        let held = loop {
            match self.held.take().filter(|held| held.left() > 0) {
                Some(held) => break self.held.insert(held),
                None => match self.batches.next() {
                    None => return Ok(None),
                    Some(batch) => {
                        let batch = batch.map_err(|error| self.failed(said(&error)))?;
                        self.held = Some(Held::new(batch, self.limits));
                    }
                },
            }
        };
        let batch = held.take(most.max(1));
        let bytes = held.row_bytes.saturating_mul(batch.num_rows());
        let count = u64::try_from(batch.num_rows()).unwrap_or_default();
        let first = self.position.rows + 1;
        let places = (first..first + count).map(|row| RowPlace { row, byte: 0 }).collect();
        self.position.rows += count;
        Ok(Some(Rows { batch, places, too_long: Vec::new(), bytes, end: self.position }))
    }
}

fn reader(file: &InputFile) -> BufReader<BlobReader> {
    BufReader::new(BlobReader::new(Arc::clone(&file.blob)))
}

fn parquet(file: &InputFile) -> Result<ParquetRecordBatchReaderBuilder<Chunks>, DataError> {
    let options = ArrowReaderOptions::new();
    let chunks = Chunks(Arc::clone(&file.blob));
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(chunks, options);
    builder.map_err(|error| DataError::input(&file.name, said(&error.into())))
}

/// Returns the rows after some of the first `from` ones, in batches of about the wanted size, and
/// the number of rows that it skips: whole batches.
fn rows_of_parquet(
    file: &InputFile,
    from: u64,
    limits: BatchLimits,
) -> Result<(Batches, u64), DataError> {
    let builder = parquet(file)?;
    let groups = builder.metadata().row_groups();
    let (bytes, rows) = groups.iter().fold((0, 0), |(bytes, rows), group| {
        (bytes + group.total_byte_size(), rows + group.num_rows())
    });
    let row = usize::try_from(bytes / rows.max(1)).unwrap_or_default().max(1);
    let size = (limits.bytes / row).clamp(1, MOST_ROWS.min(limits.rows.max(1)));
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let skipped = from / size * size;
    let reader = builder.with_batch_size(size).with_offset(skipped).build();
    let reader = reader.map_err(|error| DataError::input(&file.name, said(&error.into())))?;
    Ok((Box::new(reader), u64::try_from(skipped).unwrap_or(u64::MAX)))
}

/// Returns the message of a library without the name of its kind, which is that of the library.
fn said(error: &ArrowError) -> String {
    let text = error.to_string();
    let prefixes = [
        "External error: ",
        "External: ",
        "Parser error: ",
        "Parquet argument error: ",
        "Parquet error: ",
        "Io error: ",
        "Ipc error: ",
        "EOF: ",
    ];
    let mut rest = text.as_str();
    while let Some(cut) = prefixes.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = cut;
    }
    rest.to_owned()
}
