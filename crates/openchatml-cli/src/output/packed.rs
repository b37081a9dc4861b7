//! Compresses output if the name of its file says so.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::file_name::Compression;

/// The number of bytes of a frame of zstd before it is compressed.
const FRAME_BYTES: usize = 4 << 20;

/// Compresses bytes.
pub(super) enum Packer {
    Gzip(GzEncoder<Vec<u8>>),
    /// The bytes of the next frame.
    Zstd(Vec<u8>),
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packer")
    }
}

impl Packer {
    /// Returns the packer for a file, if its name ends like that of a compressed one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Some(match Compression::of(path)? {
            Compression::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), Level::default())),
            Compression::Zstd => Self::Zstd(Vec::new()),
        })
    }

    /// Takes bytes, and returns those that are ready to be written.
    pub(super) fn pack(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Zstd(held) => {
                held.extend_from_slice(bytes);
                match held.len() < FRAME_BYTES {
                    true => Ok(Vec::new()),
                    false => Ok(frame(&std::mem::take(held))),
                }
            }
        }
    }

    /// Returns the last bytes.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(held) => Ok(frame(&held)),
        }
    }
}

fn frame(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}
