//! One function from Arrow batches to Arrow batches, for files of any kind and for other engines.

mod columns;
mod convert;
mod counts;
mod each_row;
mod findings;
mod fingerprint;
mod options;
mod read;
mod tally;
mod task;
mod tokenize;

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use openchatml::{Diagnostic, Severity};
use openchatml_tokens::Tokenizer;

use self::convert::Texts;
use self::counts::Counts;
use self::findings::Findings;
use self::fingerprint::Fingerprints;
pub use self::options::{
    EncodingOfThread, KernelOptions, SharedEncoding, Task, TokenizeOptions, Tokens, TooLong,
};
use self::read::Records;
pub(crate) use self::read::{fields_of, join_fields, records};
pub use self::tally::{Count, Tally};
use self::task::{Columns, Outcome, ReadDocument};
use self::tokenize::{Ids, OneTokenizer};
use crate::error::DataError;
use crate::record::{Decoded, RecordFormat, RecordReader, document_of_record, document_of_text};

/// Converts, tokenizes, checks or counts the conversations in a column of Arrow batches.
///
/// The columns of the output depend only on the options. Conversations that cannot be written are
/// [rejected](Rejected) with the reasons. A kernel can be used by many threads at once.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::cast::AsArray;
/// use arrow_array::{ArrayRef, RecordBatch, StringArray};
/// use openchatml::Format;
/// use openchatml_data::kernel::{Kernel, KernelOptions, Task};
///
/// let mut options = KernelOptions::new(Task::Convert { to: Format::CHATML });
/// options.column = Some("chat".to_owned());
/// let kernel = Kernel::new(options);
///
/// let rows = [r#"{"messages":[{"role":"user","content":"Hi!"}]}"#, "not a conversation"];
/// let chat: ArrayRef = Arc::new(StringArray::from_iter_values(rows));
/// let processed = kernel.process(&RecordBatch::try_from_iter([("chat", chat)])?)?;
///
/// assert_eq!(processed.batch.schema(), *kernel.schema());
/// let texts = processed.batch.column(0).as_string::<i64>();
/// assert_eq!(texts.value(0), "<|im_start|>user\nHi!<|im_end|>\n");
/// assert_eq!(processed.rows, [0]);
/// assert_eq!(processed.rejected[0].row, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Kernel {
    options: KernelOptions,
    schema: SchemaRef,
    reader: RecordReader,
    /// What follows each text.
    end: &'static str,
    /// The unused tokenizers. Each may have a cache of its own.
    idle: Mutex<Vec<OneTokenizer>>,
}

/// The result of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Processed {
    /// A row for each conversation that was not rejected.
    pub batch: RecordBatch,
    /// For each of these rows, the row of the input.
    pub rows: Vec<u32>,
    /// The rejected rows.
    pub rejected: Vec<Rejected>,
    /// What was found and lost.
    pub tally: Tally,
}

/// A row that was rejected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rejected {
    /// The row of the input.
    pub row: u32,
    /// The record: the text of the column, or the row as a JSON object.
    pub record: Vec<u8>,
    /// The reasons. Their places refer to the record.
    pub found: Vec<Diagnostic>,
}

/// The most bytes that are prepared for the texts of a batch, which can be part of a larger one.
const MOST_ROOM: usize = 2 << 20;

impl Kernel {
    /// Creates a kernel.
    pub fn new(options: KernelOptions) -> Self {
        let fields = match &options.task {
            Task::Convert { .. } => Texts::fields(),
            Task::Tokenize(_) => Ids::fields(),
            Task::Check { lints } => Findings::fields(lints),
            Task::Count(_) => Counts::fields(),
            Task::Fingerprint { hashes } => Fingerprints::fields(*hashes),
        };
        let is_detected = !matches!(options.from, RecordFormat::Named(_));
        let reader = RecordReader { options: options.read.clone(), is_detected };
        let schema = Arc::new(Schema::new(fields));
        Self { options, schema, reader, end: "", idle: Mutex::default() }
    }

    /// Ends each text with a line feed, so that all texts of a batch together are lines.
    pub(crate) fn with_line_feeds(self) -> Self {
        Self { end: "\n", ..self }
    }

    /// Returns the schema of the output.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the options.
    pub fn options(&self) -> &KernelOptions {
        &self.options
    }

    /// Processes a batch.
    ///
    /// # Errors
    ///
    /// The column with the conversations is missing, or has a type that is not supported.
    pub fn process(&self, batch: &RecordBatch) -> Result<Processed, DataError> {
        let tokens = match &self.options.task {
            Task::Tokenize(options) => Some(&options.tokens),
            Task::Count(tokens) => tokens.as_ref(),
            _ => None,
        };
        let tokenizer = tokens.map(|tokens| self.tokenizer(tokens));
        let processed = self.process_with(batch, tokenizer.as_ref());
        self.idle().extend(tokenizer);
        processed
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<OneTokenizer>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokenizer(&self, tokens: &Tokens) -> OneTokenizer {
        let known = self.idle().pop();
        known.unwrap_or_else(|| Tokenizer::new(tokens.format, (tokens.encoding)()))
    }

    fn process_with(
        &self,
        batch: &RecordBatch,
        tokenizer: Option<&OneTokenizer>,
    ) -> Result<Processed, DataError> {
        let options = &self.options;
        let mut columns: Box<dyn Columns + '_> = match (&options.task, tokenizer) {
            (Task::Tokenize(tokenize), Some(tokenizer)) => {
                Box::new(Ids::new(options, tokenize, tokenizer))
            }
            (Task::Tokenize(_), None) => {
                return Err(DataError::Internal("no tokenizer".to_owned()));
            }
            (Task::Convert { to }, _) => {
                let bytes = batch.get_array_memory_size().min(MOST_ROOM);
                Box::new(Texts::new(options, *to, batch.num_rows(), bytes).with_end(self.end))
            }
            (Task::Check { lints }, _) => Box::new(Findings::new(options, lints)),
            (Task::Count(tokens), tokenizer) => {
                Box::new(Counts::new(options, tokens.as_ref().zip(tokenizer)))
            }
            (Task::Fingerprint { hashes }, _) => Box::new(Fingerprints::new(options, *hashes)),
        };
        let records = Records::new(batch, options)?;
        let (mut rows, mut rejected, mut tally) = (Vec::new(), Vec::new(), Tally::default());
        let are_documents = records.are_documents(options);
        let mut buffer = String::new();
        for (row, at) in (0_u32..).zip(0..batch.num_rows()) {
            let record = records.get(at, &mut buffer);
            let mut outcome = match &record {
                Ok(record) => self.record(record, are_documents, &mut *columns),
                Err(found) => columns.push_unread(vec![*found.clone()]),
            };
            if !outcome.is_written {
                // Nothing of it is lost: it is rejected as a whole.
                outcome.losses.clear();
            }
            tally.record(&outcome.found, &outcome.losses, !outcome.is_written);
            if outcome.is_written {
                rows.push(row);
            } else {
                let record = record.map_or_else(|_| Vec::new(), <[u8]>::to_vec);
                rejected.push(Rejected { row, record, found: outcome.found });
            }
        }
        let internal = |error: arrow_schema::ArrowError| DataError::Internal(error.to_string());
        let columns = columns.finish().map_err(internal)?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(internal)?;
        Ok(Processed { batch, rows, rejected, tally })
    }

    /// Reads a record, and writes its document.
    fn record(&self, record: &[u8], is_document: bool, columns: &mut dyn Columns) -> Outcome {
        let decoded = Decoded::record(record, 0);
        let mut found = decoded.found.clone();
        if decoded.is_no_text() {
            return columns.push_unread(found);
        }
        let document = match is_document {
            true => document_of_text(&decoded.text, self.options.from),
            false => document_of_record(&decoded.text, self.options.from),
        };
        let (slot, format) = match document {
            Ok(document) => document,
            Err(wrong) => {
                found.push(*wrong);
                return columns.push_unread(found);
            }
        };
        let slot_text = slot.text.clone();
        let (parsed, _) = self.reader.parse_as(&slot_text, format);
        let has_errors = parsed.diagnostics.iter().any(|it| it.severity == Severity::Error);
        for mut own in parsed.diagnostics {
            slot.place(&mut own);
            found.push(own);
        }
        columns.push(ReadDocument { document: parsed.document, found, slot, has_errors })
    }
}
