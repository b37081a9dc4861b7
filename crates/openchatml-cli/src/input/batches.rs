//! Reads a JSONL file in batches.

use std::collections::VecDeque;
use std::io::{self, Read as _};

use memchr::{memchr, memchr_iter, memrchr};

use super::Opened;
use crate::failure::Failure;

/// The size of one read.
const CHUNK_BYTES: usize = 256 << 10;

/// The number of lines to look at for format detection, without blank lines.
const LOOK_LINES: usize = 1000;

/// The maximum position of a line for format detection.
const LOOK_BYTES: usize = 1 << 20;

/// The number of bytes of a line that is too long that are kept for messages.
const SHOWN_BYTES: usize = 256;

/// Some lines of a file with their line breaks.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The lines, or the beginning of one line that is too long.
    pub(crate) bytes: Vec<u8>,
    /// The span in the file.
    pub(crate) offset: usize,
    /// The number of the first line, from 1.
    pub(crate) first_line: usize,
    /// Whether the batch is a line that exceeds the limit of a document.
    pub(crate) is_too_long: bool,
}

/// A line of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'b> {
    /// The content without the line break.
    pub(crate) bytes: &'b [u8],
    /// The content with the line break, if there is one.
    pub(crate) raw: &'b [u8],
    /// The position in the file.
    pub(crate) offset: usize,
    /// The number, from 1.
    pub(crate) number: usize,
}

impl Batch {
    /// Returns the lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut rest = self.bytes.as_slice();
        let mut offset = self.offset;
        (self.first_line..).map_while(move |number| {
            let end = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (raw, after) = rest.split_at_checked(end).filter(|_| end > 0)?;
            rest = after;
            let at = offset;
            offset += raw.len();
            let bytes = raw.strip_suffix(b"\n").unwrap_or(raw);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            Some(Line { bytes, raw, offset: at, number })
        })
    }
}

impl Line<'_> {
    /// Whether the batch is empty.
    pub(crate) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// Reads all available lines at once, so that slow input is passed on immediately.
pub(crate) struct Batches {
    from: Opened,
    /// Bytes that were read but not returned.
    held: Vec<u8>,
    /// The number of bytes that contain no line break.
    scanned: usize,
    offset: usize,
    line: usize,
    most: usize,
    is_done: bool,
    /// Lines that were peeked at but not returned.
    ahead: VecDeque<Batch>,
}

impl Batches {
    /// Creates a reader for lines of at most `most` bytes.
    pub(crate) fn new(from: Opened, most: usize) -> Self {
        let (held, ahead) = (Vec::new(), VecDeque::new());
        Self { from, held, scanned: 0, offset: 0, line: 1, most, is_done: false, ahead }
    }

    /// Returns the first lines that are not blank without consuming them. They do not depend on the
    /// chunks of the input.
    pub(crate) fn look(&mut self) -> Result<Vec<Line<'_>>, Failure> {
        let (mut lines, mut bytes) = (0, 0);
        while lines < LOOK_LINES && bytes < LOOK_BYTES {
            let Some(batch) = self.read()? else { break };
            lines += batch.lines().filter(|line| !line.is_blank()).count();
            bytes = batch.offset + batch.bytes.len();
            self.ahead.push_back(batch);
        }
        let lines = self.ahead.iter().flat_map(Batch::lines).filter(|line| !line.is_blank());
        Ok(lines.take_while(|line| line.offset < LOOK_BYTES).take(LOOK_LINES).collect())
    }

    /// Returns the next lines, if there are any.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>, Failure> {
        match self.ahead.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<Batch>, Failure> {
        loop {
            if let Some(end) = memrchr(b'\n', &self.held[self.scanned..]) {
                return Ok(Some(self.take(self.scanned + end + 1)));
            }
            self.scanned = self.held.len();
            if self.is_done {
                let rest = self.held.len();
                return Ok((rest > 0).then(|| self.take(rest)));
            }
            if self.held.len() > self.most {
                return self.skip_line().map(Some);
            }
            self.fill()?;
        }
    }

    /// Returns the first `len` buffered bytes.
    fn take(&mut self, len: usize) -> Batch {
        let rest = self.held.split_off(len);
        let bytes = std::mem::replace(&mut self.held, rest);
        let lines = memchr_iter(b'\n', &bytes).count() + usize::from(!bytes.ends_with(b"\n"));
        let (offset, first_line) = (self.offset, self.line);
        self.offset += len;
        self.line += lines;
        self.scanned = 0;
        Batch { bytes, offset, first_line, is_too_long: false }
    }

    /// Skips to the end of a line that is too long.
    fn skip_line(&mut self) -> Result<Batch, Failure> {
        let shown = self.held[..self.held.len().min(SHOWN_BYTES)].to_vec();
        let (offset, first_line) = (self.offset, self.line);
        let batch = Batch { bytes: shown, offset, first_line, is_too_long: true };
        loop {
            let end = memchr(b'\n', &self.held);
            let used = end.map_or(self.held.len(), |end| end + 1);
            self.held.drain(..used);
            self.offset += used;
            self.scanned = 0;
            if end.is_some() || self.is_done {
                self.line += 1;
                return Ok(batch);
            }
            self.fill()?;
        }
    }

    /// Reads available data.
    fn fill(&mut self) -> Result<(), Failure> {
        let held = self.held.len();
        self.held.resize(held + CHUNK_BYTES, 0);
        let read = loop {
            match self.from.read(&mut self.held[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.held.truncate(held + *read.as_ref().unwrap_or(&0));
        let read = read.map_err(|error| self.from.failed(&error))?;
        self.is_done = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Opened;
    use super::Batches;

    fn batches(read: impl std::io::Read + Send + 'static, most: usize) -> Batches {
        let (read, quoted) = (Box::new(read), String::new());
        Batches::new(Opened { read, ahead: Vec::new(), given: 0, bar: None, quoted }, most)
    }

    /// Gives a byte at a time.
    struct Slowly(std::io::Cursor<Vec<u8>>);

    impl std::io::Read for Slowly {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let most = buf.len().min(1);
            self.0.read(&mut buf[..most])
        }
    }

    fn read(text: &[u8], most: usize) -> Vec<(usize, usize, Vec<u8>, bool)> {
        let mut batches = batches(std::io::Cursor::new(text.to_vec()), most);
        let mut all = Vec::new();
        while let Some(batch) = batches.next().unwrap() {
            for line in batch.lines() {
                all.push((line.number, line.offset, line.bytes.to_vec(), batch.is_too_long));
            }
        }
        all
    }

    #[test]
    fn lines_have_numbers_and_offsets() {
        let lines = read(b"a\r\n\nbc", 100);
        let expected: [(usize, usize, &[u8]); 3] = [(1, 0, b"a"), (2, 3, b""), (3, 4, b"bc")];
        let lines: Vec<_> = lines.iter().map(|line| (line.0, line.1, line.2.as_slice())).collect();
        assert_eq!(lines, expected);
        assert!(read(b"", 100).is_empty());
    }

    #[test]
    fn peeked_lines_do_not_depend_on_chunks() {
        let many = (0..2000).map(|number| format!("{number}\n\n")).collect::<String>();
        for (text, count) in [("a\n\nb", 2), ("a\n\nb\n", 2), (many.as_str(), 1000), ("\n", 0)] {
            let mut at_once = batches(std::io::Cursor::new(text.as_bytes().to_vec()), 100);
            let mut slowly = batches(Slowly(std::io::Cursor::new(text.into())), 100);
            let looked = |batches: &mut Batches| {
                let lines = batches.look().unwrap();
                lines.iter().map(|it| (it.number, it.bytes.to_vec())).collect::<Vec<_>>()
            };
            let lines = looked(&mut at_once);
            assert_eq!(lines.len(), count);
            assert_eq!(lines, looked(&mut slowly));
            // They are given on, too.
            let mut given = Vec::new();
            while let Some(batch) = slowly.next().unwrap() {
                given.extend(batch.bytes);
            }
            assert_eq!(given, text.as_bytes());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let text = [b"a\n".as_slice(), &[b'x'; 1 << 20], b"\nb\n"].concat();
        let lines = read(&text, 1000);
        let shape: Vec<_> = lines.iter().map(|line| (line.0, line.1, line.3)).collect();
        assert_eq!(shape, [(1, 0, false), (2, 2, true), (3, (1 << 20) + 3, false)]);
        assert_eq!(lines[1].2.len(), 256);
    }
}
