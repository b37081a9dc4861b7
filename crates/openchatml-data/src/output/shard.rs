//! A file that is written row by row.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::arrow::ArrowFile;
use super::encode::Encoded;
use super::parquet::ParquetFile;
use super::{Failed, FileFormat};
use crate::error::DataError;
use crate::pool::Pool;
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
    rows: u64,
    failed: Failed,
}

enum Writer {
    Lines(Summed),
    Zstd(Box<zstd::stream::write::Encoder<'static, Summed>>),
    Parquet(Box<ParquetFile<Summed>>),
    Arrow(Box<ArrowFile<Summed>>),
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

/// The most threads that compress one file with Zstandard, because of their memory.
const MOST_COMPRESSORS: usize = 4;

/// The bytes that a thread compresses at once. The file depends on it, but not on the number of
/// threads.
const COMPRESSED_BYTES: u32 = 2 << 20;

/// Compresses with Zstandard on several threads, but as one frame: some readers read only the first
/// frame of a file.
fn zstd(file: Summed, threads: usize) -> io::Result<zstd::stream::write::Encoder<'static, Summed>> {
    use zstd::zstd_safe::CParameter;

    let mut encoder = zstd::stream::write::Encoder::new(file, 3)?;
    let threads = u32::try_from(threads.min(MOST_COMPRESSORS)).unwrap_or(1);
    encoder.set_parameter(CParameter::NbWorkers(threads))?;
    encoder.set_parameter(CParameter::JobSize(COMPRESSED_BYTES))?;
    Ok(encoder)
}

impl Shard {
    /// Starts a file in a folder. Files of lines have no schema.
    pub(crate) fn create(
        folder: &Folder,
        file: &str,
        format: FileFormat,
        schema: Option<&SchemaRef>,
        group_bytes: usize,
        pool: &Arc<Pool>,
    ) -> Result<Self, DataError> {
        let name = folder.name_of(file);
        let failed: Failed = Arc::new(move |error| DataError::output(&*name, error));
        let summed = Summed { file: folder.create(file)?, sum: Sha256::new(), bytes: 0 };
        let empty = SchemaRef::new(Schema::empty());
        let schema = schema.unwrap_or(&empty);
        let writer = match format {
            FileFormat::Jsonl | FileFormat::JsonlGzip => Writer::Lines(summed),
            FileFormat::JsonlZstd => {
                let encoder = zstd(summed, pool.threads()).map_err(|error| failed(&error))?;
                Writer::Zstd(Box::new(encoder))
            }
            FileFormat::Parquet => {
                let failed = Arc::clone(&failed);
                let file = ParquetFile::new(summed, schema, group_bytes, pool, failed)?;
                Writer::Parquet(Box::new(file))
            }
            FileFormat::Arrow => {
                let file = ArrowFile::new(summed, schema).map_err(|error| failed(&error))?;
                Writer::Arrow(Box::new(file))
            }
        };
        Ok(Self { writer, file: file.to_owned(), rows: 0, failed })
    }

    /// Appends rows.
    pub(crate) fn write(&mut self, encoded: &Encoded) -> Result<(), DataError> {
        let failed = &self.failed;
        self.rows += encoded.rows();
        match (&mut self.writer, encoded) {
            (Writer::Lines(file), Encoded::Lines { bytes, .. }) => {
                file.write_all(bytes).map_err(|error| failed(&error))
            }
            (Writer::Zstd(file), Encoded::Lines { bytes, .. }) => {
                file.write_all(bytes).map_err(|error| failed(&error))
            }
            (Writer::Parquet(file), Encoded::Batch(batch)) => file.write(batch),
            (Writer::Arrow(file), Encoded::Message { message, .. }) => {
                file.write(message).map_err(|error| failed(&error))
            }
            _ => Err(DataError::Internal("rows of another kind than their file".to_owned())),
        }
    }

    /// Stores the file permanently.
    pub(crate) fn finish(self) -> Result<ShardFile, DataError> {
        let failed = self.failed;
        let summed = match self.writer {
            Writer::Lines(file) => file,
            Writer::Zstd(encoder) => encoder.finish().map_err(|error| failed(&error))?,
            Writer::Parquet(file) => file.finish()?,
            Writer::Arrow(file) => file.finish().map_err(|error| failed(&error))?,
        };
        let Summed { file, sum, bytes } = summed;
        file.finish().map_err(|error| failed(&error))?;
        let sha256 = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(ShardFile { file: self.file, rows: self.rows, bytes, sha256 })
    }
}
