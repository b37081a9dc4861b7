//! The bytes of a file from its beginning to its end, unpacked.

use std::io::{self, Read};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use super::{Compression, InputFile, Position};
use crate::error::DataError;
use crate::store::{Blob, BlobReader, append_from};

/// The size of one read of a decoder.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// The bytes of a file.
pub(super) enum Bytes {
    Plain(BlobReader),
    /// What a decoder unpacks.
    Unpacked(Box<dyn Read + Send>),
}

impl Bytes {
    /// Starts to read a file at a position.
    pub(super) fn open(
        file: &InputFile,
        compression: Compression,
        position: Position,
    ) -> Result<Self, DataError> {
        let failed = |error| DataError::at(&file.name, position.rows + 1, position.bytes, error);
        let mut from = Self::of(&file.blob, compression).map_err(failed)?;
        match &mut from {
            Self::Plain(from) => {
                let start = io::SeekFrom::Start(position.bytes);
                io::Seek::seek(from, start).map_err(failed)?;
            }
            Self::Unpacked(from) => {
                let mut before = from.by_ref().take(position.bytes);
                io::copy(&mut before, &mut io::sink()).map_err(failed)?;
            }
        }
        Ok(from)
    }

    fn of(blob: &Arc<dyn Blob>, compression: Compression) -> io::Result<Self> {
        let whole = BlobReader::new(Arc::clone(blob));
        Ok(match compression {
            Compression::None => Self::Plain(whole),
            Compression::Gzip => Self::Unpacked(Box::new(MultiGzDecoder::new(whole))),
            Compression::Zstd => Self::Unpacked(Box::new(zstd::stream::read::Decoder::new(whole)?)),
        })
    }

    /// Reads the first bytes of a file. What cannot be unpacked is omitted: whoever reads the file
    /// reports it.
    pub(super) fn head(blob: &Arc<dyn Blob>, compression: Compression) -> Vec<u8> {
        let mut head = Vec::new();
        if let Ok(mut from) = Self::of(blob, compression) {
            let _ = from.append(&mut head);
        }
        head
    }

    /// Reads a chunk to the end of `out`. Returns 0 at the end of the file.
    pub(super) fn append(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(from) => from.append(out),
            Self::Unpacked(from) => append_from(from.as_mut(), CHUNK_BYTES, out),
        }
    }
}
