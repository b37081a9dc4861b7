//! Reads a JSONL file, or a JSON array of documents, in batches.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::Opened;
use super::records::{Scanner, Step};
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
    /// The position in the file.
    pub(crate) offset: usize,
    /// The number of the first line, from 1.
    pub(crate) first_line: usize,
    /// Whether the batch is a line that exceeds the limit of a document.
    pub(crate) is_too_long: bool,
    /// The values of a JSON array, which are processed like lines: where each ends in the bytes,
    /// and where its text begins and ends.
    records: Option<Vec<Range<usize>>>,
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
    /// Returns the lines, or the values of an array. The number of a value is that of the line in
    /// which it begins.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let records = self.records.as_deref().map(|records| self.values(records));
        let lines = records.is_none().then(|| self.lines_of_text());
        records.into_iter().flatten().chain(lines.into_iter().flatten())
    }

    fn values<'b>(&'b self, records: &'b [Range<usize>]) -> impl Iterator<Item = Line<'b>> {
        let (mut number, mut counted) = (self.first_line, 0);
        records.iter().map(move |record| {
            number += memchr_iter(b'\n', &self.bytes[counted..record.start]).count();
            counted = record.start;
            let bytes = &self.bytes[record.clone()];
            Line { bytes, raw: bytes, offset: self.offset + record.start, number }
        })
    }

    fn lines_of_text(&self) -> impl Iterator<Item = Line<'_>> {
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
    /// Whether the line contains only white space.
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
    /// The state in the array whose values are the documents.
    array: Option<Array>,
    /// The failure after the lines that were peeked at.
    failure: Option<Failure>,
}

/// The state in a JSON array.
#[derive(Debug, Default)]
struct Array {
    scanner: Scanner,
    /// The complete values in the buffered bytes.
    records: Vec<Range<usize>>,
    /// Where the next value begins in the buffered bytes.
    start: usize,
    /// Whether the last value was followed by a comma.
    is_after_comma: bool,
    /// Whether the array has ended.
    is_closed: bool,
}

impl Batches {
    /// Creates a reader for lines of at most `most` bytes.
    pub(crate) fn new(from: Opened, most: usize) -> Self {
        let (held, ahead) = (Vec::new(), VecDeque::new());
        let array = from.is_array.then(Array::default);
        Self {
            from,
            held,
            scanned: 0,
            offset: 0,
            line: 1,
            most,
            is_done: false,
            ahead,
            array,
            failure: None,
        }
    }

    /// Returns the first lines that are not blank without consuming them. They do not depend on the
    /// chunks of the input.
    pub(crate) fn look(&mut self) -> Result<Vec<Line<'_>>, Failure> {
        let (mut lines, mut bytes) = (0, 0);
        while lines < LOOK_LINES && bytes < LOOK_BYTES {
            let batch = match self.read() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                // What comes before is read first.
                Err(failure) if !self.ahead.is_empty() => {
                    self.failure = Some(failure);
                    break;
                }
                Err(failure) => return Err(failure),
            };
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
            None => self.failure.take().map_or_else(|| self.read(), Err),
        }
    }

    /// Returns the next values of an array, if there are any.
    fn read_records(&mut self, mut array: Array) -> Result<Option<Batch>, Failure> {
        let batch = loop {
            while self.scanned < self.held.len() {
                let at = self.scanned;
                self.scanned += 1;
                match array.scanner.step(self.held[at]) {
                    Step::Inside => {}
                    Step::Open => {
                        // Between two arrays, there is no text.
                        if array.is_closed {
                            array.end_record(&self.held, at, Step::Inside);
                        }
                        array.start = at + 1;
                    }
                    step @ (Step::Comma | Step::Close) => {
                        array.end_record(&self.held, at, step);
                        array.start = at + 1;
                    }
                    // Text after the array is a malformed value.
                    Step::Outside => {}
                }
            }
            if self.is_done {
                if array.scanner.is_open() && self.held.is_empty() {
                    let text = format!("{}: the array is cut off: it has no `]`", self.from.quoted);
                    return Err(Failure::Refused(text));
                }
                array.end_record(&self.held, self.held.len(), Step::Inside);
                array.start = self.held.len();
            }
            if !array.records.is_empty() || self.is_done && array.scanner.is_open() {
                break Some(self.take_records(&mut array));
            }
            if self.is_done {
                break None;
            }
            if self.held.len() > self.most {
                break Some(self.skip_record(&mut array)?);
            }
            self.fill()?;
        };
        self.array = Some(array);
        Ok(batch)
    }

    /// Returns the buffered bytes up to the last complete value.
    fn take_records(&mut self, array: &mut Array) -> Batch {
        let len = array.start.min(self.held.len());
        let records = std::mem::take(&mut array.records);
        let rest = self.held.split_off(len);
        let bytes = std::mem::replace(&mut self.held, rest);
        let (offset, first_line) = (self.offset, self.line);
        self.offset += len;
        self.line += memchr_iter(b'\n', &bytes).count();
        self.scanned -= len;
        array.start = 0;
        Batch { bytes, offset, first_line, is_too_long: false, records: Some(records) }
    }

    /// Skips to the end of a value that is too long.
    fn skip_record(&mut self, array: &mut Array) -> Result<Batch, Failure> {
        let shown = self.held[..self.held.len().min(SHOWN_BYTES)].to_vec();
        let (offset, first_line) = (self.offset, self.line);
        let records = Some(std::iter::once(0..shown.len()).collect());
        let batch = Batch { bytes: shown, offset, first_line, is_too_long: true, records };
        loop {
            self.line += memchr_iter(b'\n', &self.held[..self.scanned]).count();
            self.offset += self.scanned;
            self.held.drain(..self.scanned);
            self.scanned = 0;
            while self.scanned < self.held.len() {
                self.scanned += 1;
                let step = array.scanner.step(self.held[self.scanned - 1]);
                if matches!(step, Step::Comma | Step::Close) {
                    array.start = self.scanned;
                    return Ok(batch);
                }
            }
            if self.is_done {
                array.start = self.held.len();
                return Ok(batch);
            }
            self.fill()?;
        }
    }

    fn read(&mut self) -> Result<Option<Batch>, Failure> {
        if let Some(array) = self.array.take() {
            return self.read_records(array);
        }
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
        Batch { bytes, offset, first_line, is_too_long: false, records: None }
    }

    /// Skips to the end of a line that is too long.
    fn skip_line(&mut self) -> Result<Batch, Failure> {
        let shown = self.held[..self.held.len().min(SHOWN_BYTES)].to_vec();
        let (offset, first_line) = (self.offset, self.line);
        let batch = Batch { bytes: shown, offset, first_line, is_too_long: true, records: None };
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

impl Array {
    /// Adds the value that ends at byte `end`, unless there is only white space.
    fn end_record(&mut self, held: &[u8], end: usize, step: Step) {
        let text = held.get(self.start..end).unwrap_or_default();
        let start = self.start + text.len() - text.trim_ascii_start().len();
        let len = text.trim_ascii().len();
        if len > 0 {
            self.records.push(start..start + len);
        } else if step == Step::Comma || step == Step::Close && self.is_after_comma {
            // A value is missing: the byte in its place is a malformed one.
            self.records.push(end..end + 1);
        }
        self.is_after_comma = step == Step::Comma;
        self.is_closed |= step == Step::Close;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Opened;
    use super::Batches;

    fn batches(read: impl std::io::Read + Send + 'static, most: usize) -> Batches {
        let (read, quoted) = (Box::new(read), String::new());
        Batches::new(
            Opened { read, ahead: Vec::new(), given: 0, is_array: false, bar: None, quoted },
            most,
        )
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

    /// The values of an array: their lines, places and bytes, and whether each is too long.
    fn records(text: &[u8], most: usize, is_slow: bool) -> Vec<(usize, usize, String, bool)> {
        let source = std::io::Cursor::new(text.to_vec());
        let mut opened = match is_slow {
            true => batches(Slowly(source), most).from,
            false => batches(source, most).from,
        };
        opened.is_array = true;
        let mut batches = Batches::new(opened, most);
        let mut all = Vec::new();
        while let Some(batch) = batches.next().unwrap() {
            for line in batch.lines() {
                let text = String::from_utf8_lossy(line.bytes).into_owned();
                all.push((line.number, line.offset, text, batch.is_too_long));
            }
        }
        all
    }

    #[test]
    fn values_of_an_array_have_lines_and_places() {
        let text = b"\n[\n {\"a\": [1, \"],\"]},\n{\n},[]\n]\n".as_slice();
        let expected = [(3, 4, "{\"a\": [1, \"],\"]}"), (4, 22, "{\n}"), (5, 26, "[]")];
        for is_slow in [false, true] {
            let found = records(text, 1000, is_slow);
            let found: Vec<_> = found.iter().map(|it| (it.0, it.1, it.2.as_str())).collect();
            assert_eq!(found, expected);
            for (_, offset, text_of) in found {
                assert!(text[offset..].starts_with(text_of.as_bytes()));
            }
        }
        // What follows the array, and what is missing in it, is a value too.
        assert_eq!(records(b"[{}] x", 1000, true)[1].2, "x");
        assert_eq!(records(b"[]", 1000, true), []);
        for (text, expected) in [
            (&b"[{},,[]]"[..], [(4, ","), (5, "[]")]),
            (b"[{}, ]", [(1, "{}"), (5, "]")]),
            (b"[{}],[]", [(1, "{}"), (4, ",")]),
        ] {
            for is_slow in [false, true] {
                let found = records(text, 1000, is_slow);
                let found: Vec<_> = found.iter().map(|it| (it.1, it.2.as_str())).collect();
                let last = &found[found.len() - 2..];
                assert_eq!(last, expected, "{}", String::from_utf8_lossy(text));
            }
        }
    }

    #[test]
    fn an_array_that_is_cut_off_is_an_error_after_its_values() {
        for text in [&b"[{}"[..], b"[{},", b"[{}, \n", b"[{},{\"a\":[{}"] {
            let mut opened = batches(std::io::Cursor::new(text.to_vec()), 1000).from;
            opened.is_array = true;
            let mut batches = Batches::new(opened, 1000);
            assert!(!batches.look().unwrap().is_empty());
            let mut count = 0;
            let error = loop {
                match batches.next() {
                    Ok(Some(batch)) => count += batch.lines().count(),
                    Ok(None) => panic!("no error"),
                    Err(error) => break error,
                }
            };
            assert!(count > 0 && error.to_string().contains("cut off"));
        }
    }

    #[test]
    fn a_value_that_is_too_long_is_forgotten() {
        let text = [b"[{},\"".as_slice(), &[b'x'; 1 << 20], b"\",\n{}]"].concat();
        let found = records(&text, 1000, false);
        let shape: Vec<_> = found.iter().map(|it| (it.0, it.1, it.3)).collect();
        assert_eq!(shape[0], (1, 1, false));
        assert!(shape[1].2 && shape.len() == 3, "{shape:?}");
        assert_eq!((shape[2].0, found[2].2.as_str()), (2, "{}"));
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
