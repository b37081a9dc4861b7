//! A file that is written row by row.

use std::io::{self, Write};

use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::FileFormat;
use super::encode::Encoded;
use crate::error::DataError;
use crate::store::{Folder, NewFile};

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardFile {
    pub(crate) file: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// A file that is being written.
pub(crate) struct Shard {
    writer: Writer,
    file: String,
    /// The name for messages.
    name: String,
    rows: u64,
    /// The most bytes of a row group in memory.
    group_bytes: usize,
}

enum Writer {
    Lines(Summed),
    Zstd(Box<zstd::stream::write::Encoder<'static, Summed>>),
    Parquet(Box<ArrowWriter<Summed>>),
    Arrow(Box<FileWriter<Summed>>),
}

/// A file whose bytes are counted and summed.
struct Summed {
    file: Box<dyn NewFile>,
    sum: Sha256,
    bytes: u64,
}

impl Write for Summed {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buf)?;
        self.sum.update(&buf[..written]);
        self.bytes += u64::try_from(written).unwrap_or_default();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Shard {
    /// Starts a file in a folder. `schema` is that of its rows, if it is a table.
    pub(crate) fn create(
        folder: &Folder,
        file: &str,
        format: FileFormat,
        schema: Option<&SchemaRef>,
        group_bytes: usize,
    ) -> Result<Self, DataError> {
        let name = folder.name_of(file);
        let failed = |error: &dyn std::fmt::Display| DataError::output(&*name, error);
        let summed = Summed { file: folder.create(file)?, sum: Sha256::new(), bytes: 0 };
        let empty = SchemaRef::new(Schema::empty());
        let schema = schema.unwrap_or(&empty);
        let writer = match format {
            FileFormat::Jsonl | FileFormat::JsonlGzip => Writer::Lines(summed),
            FileFormat::JsonlZstd => {
                let encoder = zstd::stream::write::Encoder::new(summed, 3);
                Writer::Zstd(Box::new(encoder.map_err(|error| failed(&error))?))
            }
            FileFormat::Parquet => {
                let writer = ArrowWriter::try_new(summed, schema.clone(), Some(properties()));
                Writer::Parquet(Box::new(writer.map_err(|error| failed(&error))?))
            }
            FileFormat::Arrow => {
                let compression = Some(arrow_ipc::CompressionType::ZSTD);
                let options = IpcWriteOptions::default().try_with_compression(compression);
                let options = options.map_err(|error| failed(&error))?;
                let writer = FileWriter::try_new_with_options(summed, schema, options);
                Writer::Arrow(Box::new(writer.map_err(|error| failed(&error))?))
            }
        };
        Ok(Self { writer, file: file.to_owned(), name, rows: 0, group_bytes })
    }

    fn failed(&self) -> impl Fn(&dyn std::fmt::Display) -> DataError + use<> {
        let name = self.name.clone();
        move |error| DataError::output(&*name, error)
    }

    /// Appends rows.
    pub(crate) fn write(&mut self, encoded: &Encoded) -> Result<(), DataError> {
        let failed = self.failed();
        self.rows += encoded.rows();
        match (&mut self.writer, encoded) {
            (Writer::Lines(file), Encoded::Lines { bytes, .. }) => {
                file.write_all(bytes).map_err(|error| failed(&error))
            }
            (Writer::Zstd(file), Encoded::Lines { bytes, .. }) => {
                file.write_all(bytes).map_err(|error| failed(&error))
            }
            (Writer::Parquet(writer), Encoded::Batch(batch)) => {
                writer.write(batch).map_err(|error| failed(&error))?;
                if writer.in_progress_size() > self.group_bytes {
                    writer.flush().map_err(|error| failed(&error))?;
                }
                Ok(())
            }
            (Writer::Arrow(writer), Encoded::Batch(batch)) => {
                writer.write(batch).map_err(|error| failed(&error))
            }
            _ => Err(DataError::Internal("rows of another kind than their file".to_owned())),
        }
    }

    /// Stores the file permanently.
    pub(crate) fn finish(self) -> Result<ShardFile, DataError> {
        let failed = self.failed();
        let summed = match self.writer {
            Writer::Lines(file) => file,
            Writer::Zstd(encoder) => encoder.finish().map_err(|error| failed(&error))?,
            Writer::Parquet(writer) => writer.into_inner().map_err(|error| failed(&error))?,
            Writer::Arrow(mut writer) => {
                writer.finish().map_err(|error| failed(&error))?;
                writer.into_inner().map_err(|error| failed(&error))?
            }
        };
        let Summed { file, sum, bytes } = summed;
        file.finish().map_err(|error| failed(&error))?;
        let sha256 = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(ShardFile { file: self.file, rows: self.rows, bytes, sha256 })
    }
}

/// How columns are stored. Texts and ids hardly repeat, so a dictionary of them costs time.
fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let plain = |names: &[&str]| ColumnPath::new(names.iter().map(|&it| it.to_owned()).collect());
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_column_dictionary_enabled(plain(&["text"]), false)
        .set_column_dictionary_enabled(plain(&["ids", "list", "item"]), false)
        .build()
}
