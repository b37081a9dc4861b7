//! Parquet files. Row groups are encoded on the threads of the run, and written in order.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::Failed;
use crate::error::DataError;
use crate::pool::{Pending, Pool};
use crate::rows::size;

/// The most row groups that are encoded at once, because of their memory.
const MOST_GROUPS: usize = 4;

/// A file whose row groups are encoded on the threads of a run.
pub(super) struct ParquetFile<W: Write> {
    writer: SerializedFileWriter<W>,
    groups: Arc<Groups>,
    pool: Arc<Pool>,
    /// The rows of the next row group.
    batches: Vec<RecordBatch>,
    bytes: usize,
    group_bytes: usize,
    /// The row groups that are being encoded.
    pending: VecDeque<Pending<Vec<ArrowColumnChunk>>>,
    /// The number of row groups before the next one.
    count: usize,
    failed: Failed,
}

/// Encodes row groups.
struct Groups {
    schema: SchemaRef,
    factory: ArrowRowGroupWriterFactory,
}

impl Groups {
    fn encode(
        &self,
        number: usize,
        batches: &[RecordBatch],
    ) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let mut writers = self.factory.create_column_writers(number)?;
        for batch in batches {
            let mut next = writers.iter_mut();
            for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                for leaf in compute_leaves(field, column)? {
                    let missing = || ParquetError::General("a column has no writer".to_owned());
                    next.next().ok_or_else(missing)?.write(&leaf)?;
                }
            }
        }
        writers.into_iter().map(|writer| writer.close()).collect()
    }
}

impl<W: Write + Send> ParquetFile<W> {
    /// Starts a file. A row group ends with the batch that reaches `group_bytes` in memory.
    pub(super) fn new(
        writer: W,
        schema: &SchemaRef,
        group_bytes: usize,
        pool: &Arc<Pool>,
        failed: Failed,
    ) -> Result<Self, DataError> {
        let writer = ArrowWriter::try_new(writer, Arc::clone(schema), Some(properties()))
            .and_then(ArrowWriter::into_serialized_writer);
        let (writer, factory) = writer.map_err(|error| failed(&error))?;
        let groups = Arc::new(Groups { schema: Arc::clone(schema), factory });
        let (pool, pending) = (Arc::clone(pool), VecDeque::new());
        let batches = Vec::new();
        Ok(Self { writer, groups, pool, batches, bytes: 0, group_bytes, pending, count: 0, failed })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        self.bytes += size(batch);
        self.batches.push(batch.clone());
        if self.bytes < self.group_bytes {
            return Ok(());
        }
        self.encode();
        while self.pending.len() > self.pool.threads().min(MOST_GROUPS) {
            self.append()?;
        }
        Ok(())
    }

    /// Starts to encode the rows so far as a row group.
    fn encode(&mut self) {
        let batches = std::mem::take(&mut self.batches);
        self.bytes = 0;
        let (groups, failed, number) =
            (Arc::clone(&self.groups), Arc::clone(&self.failed), self.count);
        self.count += 1;
        let encode = move || groups.encode(number, &batches).map_err(|error| failed(&error));
        self.pending.push_back(self.pool.start(encode));
    }

    /// Writes the oldest row group.
    fn append(&mut self) -> Result<(), DataError> {
        let Some(chunks) = self.pending.pop_front() else { return Ok(()) };
        let chunks = chunks.wait()?;
        let failed = &self.failed;
        let mut group = self.writer.next_row_group().map_err(|error| failed(&error))?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group).map_err(|error| failed(&error))?;
        }
        group.close().map(drop).map_err(|error| failed(&error))
    }

    /// Writes everything that is left, and the index.
    pub(super) fn finish(mut self) -> Result<W, DataError> {
        if !self.batches.is_empty() {
            self.encode();
        }
        while !self.pending.is_empty() {
            self.append()?;
        }
        self.writer.into_inner().map_err(|error| (self.failed)(&error))
    }
}

/// How columns are stored. Texts and ids hardly repeat, so a dictionary of them costs time. The
/// least and the greatest of them tell nothing.
fn properties() -> WriterProperties {
    let path = |names: &[&str]| ColumnPath::new(names.iter().map(|&it| it.to_owned()).collect());
    let mut properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    for names in [&["text"][..], IDS, MASK] {
        properties = properties
            .set_column_dictionary_enabled(path(names), false)
            .set_column_statistics_enabled(path(names), EnabledStatistics::None);
    }
    // Long runs of the same number.
    properties.set_column_encoding(path(MASK), Encoding::DELTA_BINARY_PACKED).build()
}

const IDS: &[&str] = &["ids", "list", "item"];
const MASK: &[&str] = &["mask", "list", "item"];
