//! Rows as the bytes of lines, or as batches of tables.

use std::io::Write as _;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::{FileFormat, arrow};
use crate::error::DataError;
use crate::rows::{JsonColumn, TextColumn, key, size};

/// Rows in the form of their file.
#[derive(Clone, Debug)]
pub(crate) enum Encoded {
    Lines {
        bytes: Buffer,
        rows: u64,
    },
    /// Rows of a Parquet file.
    Batch(RecordBatch),
    /// Rows of an Arrow file.
    Message {
        message: Arc<arrow::Encoded>,
        rows: u64,
    },
}

impl Encoded {
    /// The number of rows.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Lines { rows, .. } | Self::Message { rows, .. } => *rows,
            Self::Batch(batch) => u64::try_from(batch.num_rows()).unwrap_or_default(),
        }
    }
}

/// What is kept of the rows of the input, beside the conversations.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// Columns of a table.
    Columns(Vec<ArrayRef>),
    /// Fields of lines: for each row, names and values as JSON.
    Fields(Vec<Vec<(String, String)>>),
}

impl Kept {
    /// Keeps nothing of any row.
    pub(crate) fn nothing() -> Self {
        Self::Columns(Vec::new())
    }
}

/// Returns the error for a field that the output has already.
fn taken(name: &str) -> DataError {
    let what = "it cannot be kept: the output has a column of this name";
    DataError::Column { column: name.to_owned(), what: what.to_owned() }
}

/// Encodes rows for output files.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    format: FileFormat,
    /// The columns of the files.
    pub(crate) schema: SchemaRef,
    /// If the column `text` has JSON, which is the lines: the key of messages that are a bare list.
    holder: Option<&'static str>,
    /// Whether the column `text` has lines with their ends, which are the output.
    pub(crate) are_lines: bool,
    /// The number of columns before those that are kept.
    own: usize,
}

impl Encoder {
    /// Encodes rows with columns of this schema, and with kept columns.
    pub(crate) fn new(
        format: FileFormat,
        own: &Schema,
        kept: &[Field],
        holder: Option<&'static str>,
    ) -> Result<Self, DataError> {
        let names = || own.fields().iter().map(|field| field.name());
        if let Some(field) = kept.iter().find(|kept| names().any(|name| name == kept.name())) {
            return Err(taken(field.name()));
        }
        let all = own.fields().iter().cloned().chain(kept.iter().cloned().map(Arc::new));
        let mut schema = Schema::new(all.collect::<Fields>());
        if format == FileFormat::Arrow {
            schema = arrow::without_dictionaries(&schema);
        }
        let schema = Arc::new(schema);
        Ok(Self { format, schema, holder, are_lines: false, own: own.fields().len() })
    }

    /// Whether the files have lines.
    pub(crate) fn has_lines(&self) -> bool {
        self.format.has_lines()
    }

    /// Encodes rows.
    pub(crate) fn encode(&self, batch: &RecordBatch, kept: &Kept) -> Result<Encoded, DataError> {
        if !self.format.has_lines() {
            return self.table(batch, kept);
        }
        let rows = u64::try_from(batch.num_rows()).unwrap_or_default();
        if self.are_lines {
            return lines(lines_of(batch)?, rows, self.format);
        }
        let mut out = String::with_capacity(size(batch));
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| {
            Ok((key(field.name()), JsonColumn::new(array.as_ref(), field.name())?))
        });
        let columns: Vec<_> = columns.collect::<Result<_, DataError>>()?;
        let texts = batch.columns().first().and_then(|array| TextColumn::new(array.as_ref()));
        let more = self.kept_columns(kept)?;
        for row in 0..batch.num_rows() {
            let start = out.len();
            let json = self.holder.zip(texts.as_ref().and_then(|texts| texts.text(row)));
            match json {
                Some((_, object)) if object.ends_with('}') => {
                    out.push_str(&object[..object.len() - 1]);
                }
                Some((holder, list)) if list.ends_with(']') => {
                    out.push('{');
                    out.push_str(&key(holder));
                    out.push_str(list);
                }
                _ => {
                    out.push('{');
                    for (key, values) in &columns {
                        push_field(key, values, row, start, &mut out);
                    }
                }
            }
            for (key, values) in &more {
                push_field(key, values, row, start, &mut out);
            }
            if let Kept::Fields(rows) = kept {
                for (name, value) in rows.get(row).into_iter().flatten() {
                    self.check_name(name)?;
                    out.push_str(if out.len() == start + 1 { "" } else { "," });
                    out.push_str(&key(name));
                    out.push_str(value);
                }
            }
            out.push_str("}\n");
        }
        lines(out.into_bytes(), rows, self.format)
    }

    /// Checks that a field can be kept beside the columns of the output.
    fn check_name(&self, name: &str) -> Result<(), DataError> {
        let is_taken = match self.holder {
            Some(holder) => holder == name,
            None => self.schema.fields().iter().take(self.own).any(|field| field.name() == name),
        };
        match is_taken {
            true => Err(taken(name)),
            false => Ok(()),
        }
    }

    fn kept_columns<'k>(&self, kept: &'k Kept) -> Result<Vec<(String, JsonColumn<'k>)>, DataError> {
        let Kept::Columns(columns) = kept else { return Ok(Vec::new()) };
        let fields = self.schema.fields().iter().skip(self.own).zip(columns);
        let fields = fields.map(|(field, array)| {
            Ok((key(field.name()), JsonColumn::new(array.as_ref(), field.name())?))
        });
        fields.collect()
    }

    /// Returns the rows of a table.
    fn table(&self, batch: &RecordBatch, kept: &Kept) -> Result<Encoded, DataError> {
        let internal = |error: arrow_schema::ArrowError| DataError::Internal(error.to_string());
        let mut columns = batch.columns().to_vec();
        match kept {
            Kept::Columns(more) => columns.extend(more.iter().cloned()),
            Kept::Fields(rows) => {
                for field in self.schema.fields().iter().skip(self.own) {
                    columns.push(column_of_fields(field.name(), rows));
                }
            }
        }
        if self.format == FileFormat::Arrow {
            columns =
                columns.iter().map(arrow::plain).collect::<Result<_, _>>().map_err(internal)?;
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(internal)?;
        if self.format == FileFormat::Arrow {
            let rows = u64::try_from(batch.num_rows()).unwrap_or_default();
            let message = arrow::encode(&batch).map_err(internal)?;
            return Ok(Encoded::Message { message, rows });
        }
        Ok(Encoded::Batch(batch))
    }
}

/// Returns the lines in the column `text`, without copying them.
fn lines_of(batch: &RecordBatch) -> Result<Buffer, DataError> {
    let texts = batch.columns().first().and_then(|array| array.as_string_opt::<i64>());
    let texts = texts.ok_or_else(|| DataError::Internal("no column of texts".to_owned()))?;
    let bounds = [texts.value_offsets().first(), texts.value_offsets().last()];
    let [start, end] = bounds.map(|at| at.and_then(|at| usize::try_from(*at).ok()).unwrap_or(0));
    Ok(texts.values().slice_with_length(start, end - start))
}

/// Finishes the bytes of lines.
pub(crate) fn lines(
    bytes: impl Into<Buffer>,
    rows: u64,
    format: FileFormat,
) -> Result<Encoded, DataError> {
    let bytes: Buffer = bytes.into();
    let bytes = match format {
        FileFormat::JsonlGzip if !bytes.is_empty() => gzip(&bytes)?.into(),
        _ => bytes,
    };
    Ok(Encoded::Lines { bytes, rows })
}

/// Compresses bytes as a member of a gzip file. The members of a file are compressed on all
/// threads.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    let level = flate2::Compression::default();
    let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(bytes.len() / 3), level);
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map_err(|error| DataError::Internal(error.to_string()))
}

/// Adds a field to an object, unless its value is null.
fn push_field(key: &str, values: &JsonColumn<'_>, row: usize, start: usize, out: &mut String) {
    let before = out.len();
    out.push_str(if before == start + 1 { "" } else { "," });
    out.push_str(key);
    if !values.write(row, out) {
        out.truncate(before);
    }
}

/// Returns a field of lines as a column of texts: strings as they are, `null` as no value, and other
/// values as JSON.
fn column_of_fields(name: &str, rows: &[Vec<(String, String)>]) -> ArrayRef {
    let mut texts = LargeStringBuilder::new();
    for fields in rows {
        match fields.iter().find(|(key, _)| key == name) {
            None => texts.append_null(),
            Some((_, value)) if value == "null" => texts.append_null(),
            Some((_, value)) => match serde_json::from_str::<String>(value) {
                Ok(text) => texts.append_value(text),
                Err(_) => texts.append_value(value),
            },
        }
    }
    Arc::new(texts.finish())
}

/// The column of a kept field of lines.
pub(crate) fn field_of_lines(name: &str) -> Field {
    Field::new(name, DataType::LargeUtf8, true)
}
