//! The inputs of a run, and the order in which they are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use openchatml::Format;

use super::fields::Fields;
use super::manifest::{InputEnd, InputRange};
use crate::error::DataError;
use crate::input::{BatchLimits, InputFile, Position, Rows, Source};
use crate::kernel::{KernelOptions, records};
use crate::record::{Consent, RecordFormat, of_document, of_documents, of_record, of_records};
use crate::store::{Blob, expand};

/// The number of rows to look at for the detection of their format.
const LOOK_ROWS: usize = 1000;

/// The number of bytes to look at.
const LOOK_BYTES: usize = 1 << 20;

/// The inputs of a run.
pub(crate) struct Plan {
    pub(crate) inputs: Vec<InputFile>,
    /// The columns, unless the inputs have lines.
    pub(crate) schema: Option<SchemaRef>,
    pub(crate) limits: BatchLimits,
    /// The number of bytes that were read.
    pub(crate) read: Arc<AtomicU64>,
}

/// Counts the bytes that are read from a file.
struct Counted {
    blob: Arc<dyn Blob>,
    read: Arc<AtomicU64>,
}

impl Counted {
    fn count(&self, bytes: usize) {
        self.read.fetch_add(u64::try_from(bytes).unwrap_or_default(), Ordering::Relaxed);
    }
}

impl Blob for Counted {
    fn len(&self) -> u64 {
        self.blob.len()
    }

    fn version(&self) -> &str {
        self.blob.version()
    }

    fn read_at(&self, start: u64, len: usize) -> std::io::Result<Bytes> {
        let bytes = self.blob.read_at(start, len)?;
        self.count(bytes.len());
        Ok(bytes)
    }

    fn is_stream(&self) -> bool {
        self.blob.is_stream()
    }

    fn chunk(&self) -> usize {
        self.blob.chunk()
    }

    fn append_at(&self, start: u64, len: usize, out: &mut Vec<u8>) -> std::io::Result<usize> {
        let read = self.blob.append_at(start, len, out)?;
        self.count(read);
        Ok(read)
    }
}

impl Plan {
    /// Opens all inputs.
    ///
    /// # Errors
    ///
    /// There are none, one cannot be read, or they are of different kinds.
    pub(crate) fn new(locations: &[String], limits: BatchLimits) -> Result<Self, DataError> {
        let read = Arc::new(AtomicU64::new(0));
        let mut inputs: Vec<InputFile> = Vec::new();
        let mut schema: Option<SchemaRef> = None;
        for name in expand(locations)? {
            let mut input = InputFile::open(&name)?;
            let name = input.name.clone();
            let own = input.schema()?;
            if let Some(first) = inputs.first() {
                if first.has_lines() != input.has_lines() {
                    let what = format!(
                        "it is of another kind than `{}`: process them in two runs",
                        first.name
                    );
                    return Err(DataError::input(&name, what));
                }
                same_schema(schema.as_ref(), own.as_ref(), &first.name, &name)?;
            } else {
                schema = own;
            }
            input.blob = Arc::new(Counted { blob: input.blob, read: Arc::clone(&read) });
            inputs.push(input);
        }
        match inputs.is_empty() {
            true => Err(DataError::usage("there are no inputs")),
            false => Ok(Self { inputs, schema, limits, read }),
        }
    }

    pub(crate) fn has_lines(&self) -> bool {
        self.schema.is_none()
    }

    /// Returns the first input that can be read only once.
    pub(crate) fn stream(&self) -> Option<&InputFile> {
        self.inputs.iter().find(|input| input.blob.is_stream())
    }

    /// The size of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.inputs.iter().map(|input| input.blob.len()).sum()
    }

    /// Returns the format of the records: that of most of the first ones.
    ///
    /// # Errors
    ///
    /// There is not enough evidence for any format.
    pub(crate) fn detect(
        &self,
        fields: &Fields,
        options: &KernelOptions,
    ) -> Result<RecordFormat, DataError> {
        for input in &self.inputs {
            let limits = BatchLimits { rows: LOOK_ROWS, bytes: LOOK_BYTES, ..self.limits };
            let mut source = input.rows(Position::default(), limits)?;
            let mut all = Consent::default();
            all.allow_all_drops();
            let (mut texts, mut are_documents) = (Vec::new(), false);
            while texts.len() < LOOK_ROWS
                && texts.iter().map(String::len).sum::<usize>() < LOOK_BYTES
            {
                let Some(rows) = source.next(LOOK_ROWS)? else { break };
                let ready = fields.ready(rows, input.has_lines(), &[], all)?;
                let (more, documents) = records(&ready.batch, options)?;
                texts.extend(more);
                are_documents = documents;
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            if texts.is_empty() {
                continue;
            }
            let found = match are_documents {
                true => {
                    of_documents(&texts.iter().map(|text| of_document(text)).collect::<Vec<_>>())
                }
                false => {
                    let alone: Vec<_> = texts.iter().map(|text| of_record(text)).collect();
                    of_records(&texts, &alone)
                }
            };
            return found.ok_or_else(|| {
                let what = match texts[0].trim_ascii() {
                    "{" => {
                        "its records take several lines each: write each on one line, for example \
                         with `jq -c .`"
                    }
                    _ => "the format of its records is not certain: name it with `--from`",
                };
                DataError::input(&input.name, what)
            });
        }
        Ok(RecordFormat::Each(Format::JSON))
    }
}

fn same_schema(
    first: Option<&SchemaRef>,
    other: Option<&SchemaRef>,
    first_name: &str,
    name: &str,
) -> Result<(), DataError> {
    let (Some(first), Some(other)) = (first, other) else { return Ok(()) };
    let wrong = |what: String| Err(DataError::input(name, what));
    for field in first.fields() {
        match other.field_with_name(field.name()) {
            Err(_) => {
                return wrong(format!(
                    "it has no column `{}`, unlike `{first_name}`",
                    field.name()
                ));
            }
            Ok(own) if own.data_type() != field.data_type() => {
                return wrong(format!(
                    "its column `{}` has the type {}, but that of `{first_name}` has {}",
                    field.name(),
                    own.data_type(),
                    field.data_type()
                ));
            }
            Ok(_) => {}
        }
    }
    let known = |name: &str| first.field_with_name(name).is_ok();
    match other.fields().iter().find(|field| !known(field.name())) {
        Some(more) => wrong(format!("it has the column `{}`, unlike `{first_name}`", more.name())),
        None if first.fields().len() == other.fields().len() => Ok(()),
        None => wrong("a column occurs twice".to_owned()),
    }
}

/// An item of a run.
pub(crate) enum Item {
    /// Rows of the input file with this number.
    Rows(usize, Rows),
    /// The end of a shard.
    End(ShardEnd),
}

/// The inputs of a shard, and where they end.
#[derive(Clone, Debug)]
pub(crate) struct ShardEnd {
    pub(crate) shard: u64,
    pub(crate) inputs: Vec<InputRange>,
    pub(crate) end: InputEnd,
}

/// Reads the inputs in order, in shards of a number of rows. Where a shard and its batches end
/// depends only on the inputs and the limits.
pub(crate) struct Reader<'p> {
    plan: &'p Plan,
    shard_rows: u64,
    cancel: &'p AtomicBool,
    shard: u64,
    /// The number of rows that the current shard can still have.
    left: u64,
    ranges: Vec<InputRange>,
    end: InputEnd,
    source: Option<Source>,
    is_done: bool,
}

impl<'p> Reader<'p> {
    /// Starts to read the shard with this number at a place.
    pub(crate) fn new(
        plan: &'p Plan,
        shard_rows: u64,
        (shard, end): (u64, InputEnd),
        cancel: &'p AtomicBool,
    ) -> Self {
        let (left, ranges) = (shard_rows, Vec::new());
        Self { plan, shard_rows, cancel, shard, left, ranges, end, source: None, is_done: false }
    }

    /// Returns the next item, and the size of its rows.
    pub(crate) fn next(&mut self) -> Result<Option<(Item, usize)>, DataError> {
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(DataError::Interrupted);
            }
            if self.left == 0 {
                return Ok(Some((Item::End(self.end_shard()), 0)));
            }
            let Some(input) = self.plan.inputs.get(self.end.file) else {
                // The last shard, unless it is empty and not the only one.
                if self.is_done || self.ranges.is_empty() && self.shard > 0 {
                    return Ok(None);
                }
                self.is_done = true;
                return Ok(Some((Item::End(self.end_shard()), 0)));
            };
            let position = Position { rows: self.end.rows, bytes: self.end.bytes };
            let source = match &mut self.source {
                Some(source) => source,
                none => none.insert(input.rows(position, self.plan.limits)?),
            };
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            match source.next(most)? {
                None => {
                    self.source = None;
                    self.end = InputEnd { file: self.end.file + 1, rows: 0, bytes: 0 };
                }
                Some(rows) => {
                    let (file, bytes) = (self.end.file, rows.bytes);
                    self.add(&input.name, position, &rows);
                    return Ok(Some((Item::Rows(file, rows), bytes)));
                }
            }
        }
    }

    /// Adds rows to the current shard.
    fn add(&mut self, file: &str, start: Position, rows: &Rows) {
        let count = rows.count();
        self.left = self.left.saturating_sub(count);
        (self.end.rows, self.end.bytes) = (rows.end.rows, rows.end.bytes);
        match self.ranges.last_mut().filter(|range| range.file == file) {
            Some(range) => {
                range.rows += count;
                range.end_byte = rows.end.bytes;
            }
            None => self.ranges.push(InputRange {
                file: file.to_owned(),
                first_row: start.rows + 1,
                rows: count,
                first_byte: start.bytes,
                end_byte: rows.end.bytes,
            }),
        }
    }

    fn end_shard(&mut self) -> ShardEnd {
        let inputs = std::mem::take(&mut self.ranges);
        let shard = self.shard;
        self.shard += 1;
        self.left = self.shard_rows;
        ShardEnd { shard, inputs, end: self.end }
    }
}
