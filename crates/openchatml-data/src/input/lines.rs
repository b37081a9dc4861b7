//! Files in which each line is a record.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::BinaryViewBuilder;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use memchr::memchr;

use super::bytes::{Bytes, CHUNK_BYTES};
use super::{BatchLimits, Compression, InputFile, LongLine, Position, RowPlace, Rows};
use crate::error::DataError;

/// The number of bytes of a line that is too long that are kept for messages.
pub(super) const SHOWN_BYTES: usize = 256;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Reads lines in batches. Where a batch ends depends only on the lines and the limits.
pub(crate) struct Lines {
    name: String,
    from: Bytes,
    schema: SchemaRef,
    limits: BatchLimits,
    /// Bytes that were read, but belong to no batch yet.
    held: Vec<u8>,
    is_done: bool,
    position: Position,
}

/// The lines of a batch that is being read.
#[derive(Default)]
struct Found {
    /// Where each line is in the held bytes.
    lines: Vec<(usize, usize)>,
    places: Vec<RowPlace>,
}

impl Lines {
    pub(super) fn new(
        file: &InputFile,
        compression: Compression,
        position: Position,
        limits: BatchLimits,
    ) -> Result<Self, DataError> {
        let from = Bytes::open(file, compression, position)?;
        Ok(Self {
            name: file.name.clone(),
            from,
            schema: line_schema(),
            limits,
            held: Vec::new(),
            is_done: false,
            position,
        })
    }

    pub(super) fn next(&mut self, most: usize) -> Result<Option<Rows>, DataError> {
        let most = most.min(self.limits.rows);
        let mut found = Found::default();
        let (mut at, mut scanned) = (0, 0);
        let mut is_too_long = false;
        while found.lines.len() < most && at < self.limits.bytes {
            let Some(end) = memchr(b'\n', &self.held[scanned..]).map(|end| scanned + end) else {
                scanned = self.held.len();
                if self.is_done {
                    if at < scanned {
                        self.line(at, scanned, scanned, &mut found);
                        at = scanned;
                    }
                    break;
                }
                if self.held.len() - at <= self.limits.line {
                    self.fill()?;
                    continue;
                }
                is_too_long = true;
                break;
            };
            if end - at > self.limits.line {
                is_too_long = true;
                break;
            }
            self.line(at, end, end + 1, &mut found);
            (at, scanned) = (end + 1, end + 1);
        }
        let mut too_long = Vec::new();
        // The lines before it are a batch of their own.
        if is_too_long && found.lines.is_empty() {
            self.held.drain(..at);
            at = 0;
            too_long.push(self.skip_line()?);
        }
        if at == 0 && too_long.is_empty() {
            return Ok(None);
        }
        self.batch(at, found, too_long).map(Some)
    }

    /// Adds the line between two positions, unless it is blank.
    fn line(&mut self, start: usize, end: usize, next: usize, found: &mut Found) {
        let RowPlace { row, byte } = self.place();
        let has_bom = byte == 0 && self.held[start..end].starts_with(BOM);
        let skipped = if has_bom { BOM.len() } else { 0 };
        let line = &self.held[start + skipped..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.trim_ascii().is_empty() {
            found.lines.push((start + skipped, line.len()));
            found.places.push(RowPlace { row, byte: byte + to_u64(skipped) });
        }
        self.position.rows += 1;
        self.position.bytes += to_u64(next - start);
    }

    /// The place of the next line.
    fn place(&self) -> RowPlace {
        RowPlace { row: self.position.rows + 1, byte: self.position.bytes }
    }

    /// Returns the lines in the first `len` held bytes, without copying them.
    fn batch(
        &mut self,
        len: usize,
        found: Found,
        too_long: Vec<LongLine>,
    ) -> Result<Rows, DataError> {
        let internal = |error: arrow_schema::ArrowError| DataError::Internal(error.to_string());
        // Room for the next batch, so that it is not moved while it is read.
        let mut rest = Vec::with_capacity(self.limits.bytes + CHUNK_BYTES);
        rest.extend_from_slice(&self.held[len..]);
        self.held.truncate(len);
        let bytes = std::mem::replace(&mut self.held, rest);
        let mut lines = BinaryViewBuilder::with_capacity(found.lines.len());
        let block = lines.append_block(Buffer::from_vec(bytes));
        for (start, len) in found.lines {
            let [start, len] = [start, len].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
            lines.try_append_view(block, start, len).map_err(internal)?;
        }
        let column = Arc::new(lines.finish());
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![column]);
        let batch = batch.map_err(internal)?;
        Ok(Rows { batch, places: found.places, too_long, bytes: len, end: self.position })
    }

    /// Skips to the end of a line that is too long.
    fn skip_line(&mut self) -> Result<LongLine, DataError> {
        let beginning = self.held[..self.held.len().min(SHOWN_BYTES)].to_vec();
        let place = self.place();
        let mut bytes = 0;
        loop {
            let end = memchr(b'\n', &self.held);
            let used = end.map_or(self.held.len(), |end| end + 1);
            self.held.drain(..used);
            bytes += to_u64(used);
            if end.is_some() || self.is_done {
                self.position.rows += 1;
                self.position.bytes += bytes;
                return Ok(LongLine { place, bytes, beginning });
            }
            self.fill()?;
        }
    }

    /// Reads a chunk of the file.
    fn fill(&mut self) -> Result<(), DataError> {
        let held = self.held.len();
        let read = self.from.append(&mut self.held);
        let byte = self.position.bytes + to_u64(held);
        let failed = |error| DataError::at(&self.name, self.position.rows + 1, byte, error);
        self.is_done = read.map_err(failed)? == 0;
        Ok(())
    }
}

/// The column of lines.
pub(super) fn line_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("line", DataType::BinaryView, false)]))
}

pub(super) fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
