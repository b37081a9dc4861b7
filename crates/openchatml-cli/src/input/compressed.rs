//! Reads compressed files as the text inside, and names the kinds of files that are not text.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;
use openchatml_data::foreign_kind;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

type Source = Box<dyn Read + Send>;

/// The beginnings of tables, and what to do with them.
const TABLES: &[(&[u8], &str)] = &[
    (
        b"PAR1",
        "it is a Parquet file: read it with `ocml data`, or write its records as JSONL first",
    ),
    (
        b"ARROW1",
        "it is an Arrow file: read it with `ocml data`, or write its records as JSONL first",
    ),
];

const GZIP: &[u8] = b"\x1F\x8B";

const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";

/// The number of bytes that tell the kind of a file.
const MAGIC_BYTES: usize = 16;

/// A source that is unpacked if it is compressed. Nothing is read before the first call.
pub(super) enum Unpacked {
    Unread(Source),
    Plain(io::Chain<Cursor<Vec<u8>>, Source>),
    Gzip(Box<MultiGzDecoder<io::Chain<Cursor<Vec<u8>>, Source>>>),
    Zstd(Box<Frames>),
}

impl Unpacked {
    pub(super) fn new(source: Source) -> Self {
        Self::Unread(source)
    }

    /// Decides by its first bytes what the source is.
    ///
    /// # Errors
    ///
    /// The source cannot be read, or is neither text nor compressed text.
    fn begin(&mut self) -> io::Result<()> {
        let Self::Unread(source) = self else { return Ok(()) };
        let mut first = Vec::new();
        source.take(MAGIC_BYTES as u64).read_to_end(&mut first)?;
        let table = TABLES.iter().find(|(magic, _)| first.starts_with(magic));
        if let Some(what) = table.map(|(_, what)| *what).or_else(|| foreign_kind(&first)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let (is_gzip, is_zstd) = (first.starts_with(GZIP), first.starts_with(ZSTD));
        let empty: Source = Box::new(io::empty());
        let whole = Cursor::new(first).chain(std::mem::replace(source, empty));
        *self = if is_gzip {
            Self::Gzip(Box::new(MultiGzDecoder::new(whole)))
        } else if is_zstd {
            Self::Zstd(Box::new(Frames::new(Box::new(whole))))
        } else {
            Self::Plain(whole)
        };
        Ok(())
    }
}

impl Read for Unpacked {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.begin()?;
        match self {
            Self::Unread(source) => source.read(buf),
            Self::Plain(source) => source.read(buf),
            Self::Gzip(source) => source.read(buf),
            Self::Zstd(source) => source.read(buf),
        }
    }
}

/// The frames of a file that is compressed with zstd, one after the other.
pub(super) struct Frames {
    source: Source,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl Frames {
    fn new(source: Source) -> Self {
        Self { source, decoder: FrameDecoder::new(), is_inside: false }
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let mut first = Vec::new();
            self.source.by_ref().take(1).read_to_end(&mut first)?;
            if first.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(Cursor::new(first).chain(&mut self.source)) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }
}

impl Read for Frames {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            self.is_inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            }
            match self.decoder.can_collect() {
                0 => self.is_inside = false,
                _ => return self.decoder.read(buf),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _, Write as _};

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::Unpacked;

    fn read(bytes: Vec<u8>) -> Result<String, String> {
        let mut text = String::new();
        let mut source = Unpacked::new(Box::new(Cursor::new(bytes)));
        source.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
    }

    #[test]
    fn files_are_unpacked_however_many_parts_they_have() {
        let long = "one and two\n".repeat(100_000);
        for pack in [gzip, zstd] {
            assert_eq!(read(pack("")).unwrap(), "");
            assert_eq!(read(pack(&long)).unwrap(), long);
            let parts = [pack("a\n"), pack(""), pack(&long)].concat();
            assert_eq!(read(parts).unwrap(), format!("a\n{long}"));
            let mut cut_off = pack(&long);
            cut_off.truncate(cut_off.len() / 2);
            assert!(read(cut_off).is_err());
        }
        // A frame that decoders skip.
        let skipped = [b"\x50\x2A\x4D\x18\x03\0\0\0abc".as_slice(), &zstd("b")].concat();
        assert_eq!(read([zstd("a"), skipped].concat()).unwrap(), "ab");
    }

    #[test]
    fn text_is_read_as_it_is() {
        for text in ["", "a", "{}", "\u{feff}é\n", "PAR"] {
            assert_eq!(read(text.into()).unwrap(), text);
        }
    }

    #[test]
    fn other_files_are_named() {
        let cases: [(&[u8], &str); 6] = [
            (b"PAR1\0\0", "Parquet"),
            (b"PK\x03\x04", "ZIP"),
            (b"{\0\"\0a\0", "UTF-16"),
            (b"\0{\0\"\0a", "UTF-16"),
            (b"\xFF\xFE{\0", "UTF-16"),
            (b"\xFE\xFF\0{", "UTF-16"),
        ];
        for (bytes, name) in cases {
            assert!(read(bytes.to_vec()).unwrap_err().contains(name), "{name}");
        }
    }
}
