//! Files with one JSON array, whose elements are the records.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::BinaryViewBuilder;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use memchr::memchr2;

use super::bytes::Bytes;
use super::lines::{SHOWN_BYTES, line_schema, to_u64};
use super::{BatchLimits, Compression, InputFile, LongLine, Position, RowPlace, Rows};
use crate::error::DataError;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Whether a file is one JSON array of records, from its first bytes. A list of messages is a
/// record itself: a line of JSONL.
pub(super) fn is_array(head: &[u8]) -> bool {
    let head = head.strip_prefix(BOM).unwrap_or(head);
    let Some(inner) = head.trim_ascii_start().strip_prefix(b"[") else { return false };
    match inner.trim_ascii_start().first() {
        Some(b'"' | b']') | None => true,
        Some(b'{') => !is_message(inner.trim_ascii_start()),
        Some(_) => false,
    }
}

/// Whether a file can be an array, from its first few bytes.
pub(super) fn may_be_array(first: &[u8]) -> bool {
    let first = first.strip_prefix(BOM).unwrap_or(first).trim_ascii_start();
    first.first().is_none_or(|byte| *byte == b'[')
}

/// Whether the object at the beginning of a text is a message, from its keys. Keys that are not in
/// the text are unknown.
fn is_message(object: &[u8]) -> bool {
    const OF_MESSAGES: &[&[u8]] = &[b"role", b"from"];
    const OF_RECORDS: &[&[u8]] = &[b"messages", b"conversations", b"conversation", b"chosen"];
    let mut scan = Scan::default();
    let (mut at, mut has_role) = (0, false);
    while at < object.len() {
        let start = at;
        let before = scan.depth;
        at += scan.step(&object[at..]);
        // A string is whole if the scan is outside of it again.
        if before == 1 && object[start] == b'"' && !scan.in_string {
            let rest = object[at..].trim_ascii_start();
            let key = &object[start + 1..at - 1];
            if rest.first() == Some(&b':') {
                has_role |= OF_MESSAGES.contains(&key);
                if OF_RECORDS.contains(&key) {
                    return false;
                }
            }
        }
        if scan.depth == 0 && !scan.in_string {
            break;
        }
    }
    has_role
}

/// Finds the end of a JSON value, without checking it.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Reads the next part of a value: a string as far as there is one, or a byte. Returns its
    /// length. `bytes` is not empty.
    fn step(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if !self.in_string {
            match bytes[0] {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b'"' => self.in_string = true,
                _ => {}
            }
            if !self.in_string {
                return 1;
            }
            at = 1;
        }
        while at < bytes.len() {
            if std::mem::take(&mut self.is_escaped) {
                at += 1;
                continue;
            }
            match memchr2(b'"', b'\\', &bytes[at..]) {
                None => return bytes.len(),
                Some(found) if bytes[at + found] == b'"' => {
                    self.in_string = false;
                    return at + found + 1;
                }
                Some(found) => {
                    self.is_escaped = true;
                    at += found + 1;
                }
            }
        }
        at
    }
}

/// Reads the elements of an array in batches. Where a batch ends depends only on the elements and
/// the limits.
pub(crate) struct Elements {
    name: String,
    from: Bytes,
    schema: SchemaRef,
    limits: BatchLimits,
    /// Bytes that were read, but belong to no batch yet.
    held: Vec<u8>,
    /// Whether the file has no more bytes.
    is_read: bool,
    /// Whether the array has ended.
    is_done: bool,
    position: Position,
    /// The number of elements of the batch that is being read.
    found: u64,
}

impl Elements {
    pub(super) fn new(
        file: &InputFile,
        compression: Compression,
        position: Position,
        limits: BatchLimits,
    ) -> Result<Self, DataError> {
        let from = Bytes::open(file, compression, position)?;
        let (name, schema) = (file.name.clone(), line_schema());
        let held = Vec::new();
        Ok(Self {
            name,
            from,
            schema,
            limits,
            held,
            is_read: false,
            is_done: false,
            position,
            found: 0,
        })
    }

    fn failed(&self, at: usize, what: &str) -> DataError {
        let byte = self.position.bytes + to_u64(at);
        DataError::at(&self.name, self.position.rows + self.found + 1, byte, what)
    }

    pub(super) fn next(&mut self, most: usize) -> Result<Option<Rows>, DataError> {
        let most = most.min(self.limits.rows);
        let (mut found, mut places) = (Vec::new(), Vec::new());
        // The end of the last element, in the held bytes.
        let mut end = 0;
        self.found = 0;
        while !self.is_done && places.len() < most && end < self.limits.bytes {
            let Some(start) = self.start(end)? else { break };
            let row = self.position.rows + self.found + 1;
            let Some(stop) = self.stop(start)? else {
                if !places.is_empty() {
                    // The elements before it are a batch of their own.
                    break;
                }
                let place = RowPlace { row, byte: self.position.bytes + to_u64(start) };
                return self.skip(start, place).map(Some);
            };
            places.push(RowPlace { row, byte: self.position.bytes + to_u64(start) });
            found.push((start, stop - start));
            end = stop;
            self.found += 1;
        }
        if places.is_empty() {
            return Ok(None);
        }
        self.batch(end, found, places).map(Some)
    }

    /// Returns the start of the next element after the one that ends at `end`. `None` if there is
    /// no other.
    fn start(&mut self, end: usize) -> Result<Option<usize>, DataError> {
        let is_first = self.position == Position::default() && end == 0;
        let mut at = end;
        if is_first {
            // The kind of the file was found by its beginning.
            while self.held.len() < BOM.len() && self.fill()? {}
            at += if self.held.starts_with(BOM) { BOM.len() } else { 0 };
        }
        at = self.skip_space(at)?;
        match (is_first, self.held.get(at)) {
            (true, Some(b'[')) | (false, Some(b',')) => {}
            (false, Some(b']')) => return self.end(at + 1).map(|()| None),
            (true, _) => return Err(self.failed(at, "the array has no beginning")),
            (false, Some(_)) => {
                return Err(self.failed(at, "there is no `,` or `]` after a record of the array"));
            }
            (false, None) => {
                return Err(self.failed(at, "the file ends inside of its array of records"));
            }
        }
        at = self.skip_space(at + 1)?;
        match self.held.get(at) {
            None => Err(self.failed(at, "the file ends inside of its array of records")),
            Some(b']') if is_first => self.end(at + 1).map(|()| None),
            Some(b']' | b',' | b'}' | b':') => {
                Err(self.failed(at, "there is no record before this place of the array"))
            }
            Some(_) => Ok(Some(at)),
        }
    }

    /// Checks that nothing follows the array.
    fn end(&mut self, at: usize) -> Result<(), DataError> {
        let at = self.skip_space(at)?;
        self.is_done = true;
        match self.held.get(at) {
            None => Ok(()),
            Some(_) => Err(self.failed(at, "something follows the array of records")),
        }
    }

    /// Returns the first position that is no white space. It may be the end of the file.
    fn skip_space(&mut self, mut at: usize) -> Result<usize, DataError> {
        loop {
            match self.held.get(at).copied() {
                Some(byte) if byte.is_ascii_whitespace() => at += 1,
                Some(_) => return Ok(at),
                None => {
                    if !self.fill()? {
                        return Ok(at);
                    }
                }
            }
        }
    }

    /// Returns the end of the element that starts at `start`, or `None` if it is too long.
    fn stop(&mut self, start: usize) -> Result<Option<usize>, DataError> {
        let mut scan = Scan::default();
        let mut at = start;
        loop {
            while at < self.held.len() {
                if scan.depth == 0 && !scan.in_string && at > start && ends(self.held[at]) {
                    return Ok(Some(at).filter(|at| at - start <= self.limits.line));
                }
                at += scan.step(&self.held[at..]);
                // An object, a list or a string ends with its last byte.
                if scan.depth == 0
                    && !scan.in_string
                    && matches!(self.held[at - 1], b'}' | b']' | b'"')
                {
                    return Ok(Some(at).filter(|at| at - start <= self.limits.line));
                }
            }
            if at - start > self.limits.line {
                return Ok(None);
            }
            if !self.fill()? {
                return Err(self.failed(start, "the file ends inside of this record"));
            }
        }
    }

    /// Skips an element that is too long.
    fn skip(&mut self, start: usize, place: RowPlace) -> Result<Rows, DataError> {
        let shown = start + SHOWN_BYTES.min(self.held.len() - start);
        let beginning = self.held[start..shown].to_vec();
        let first = self.position.bytes + to_u64(start);
        self.drop_front(start);
        let mut scan = Scan::default();
        let mut bytes = 0;
        loop {
            let mut at = 0;
            let mut is_over = false;
            while at < self.held.len() && !is_over {
                if bytes + at > 0 && scan.depth == 0 && !scan.in_string && ends(self.held[at]) {
                    is_over = true;
                    break;
                }
                at += scan.step(&self.held[at..]);
                is_over = scan.depth == 0
                    && !scan.in_string
                    && matches!(self.held[at - 1], b'}' | b']' | b'"');
            }
            bytes += at;
            self.drop_front(at);
            if is_over {
                self.position.rows += 1;
                let line = LongLine { place, bytes: to_u64(bytes), beginning };
                let batch = RecordBatch::new_empty(Arc::clone(&self.schema));
                let (places, too_long) = (Vec::new(), vec![line]);
                return Ok(Rows { batch, places, too_long, bytes: 0, end: self.position });
            }
            if !self.fill()? {
                let what = "the file ends inside of this record";
                return Err(DataError::at(&self.name, place.row, first, what));
            }
        }
    }

    /// Drops the first held bytes.
    fn drop_front(&mut self, len: usize) {
        self.held.drain(..len);
        self.position.bytes += to_u64(len);
    }

    /// Returns the elements in the first `len` held bytes. Line breaks in them become spaces, so
    /// that each can be written as a line; in valid JSON, they have no meaning.
    fn batch(
        &mut self,
        len: usize,
        found: Vec<(usize, usize)>,
        places: Vec<RowPlace>,
    ) -> Result<Rows, DataError> {
        let internal = |error: arrow_schema::ArrowError| DataError::Internal(error.to_string());
        let rest = self.held.split_off(len);
        let mut bytes = std::mem::replace(&mut self.held, rest);
        for byte in &mut bytes {
            *byte = if matches!(*byte, b'\n' | b'\r') { b' ' } else { *byte };
        }
        let mut records = BinaryViewBuilder::with_capacity(found.len());
        let block = records.append_block(Buffer::from_vec(bytes));
        for (start, len) in found {
            let [start, len] = [start, len].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
            records.try_append_view(block, start, len).map_err(internal)?;
        }
        self.position.rows += to_u64(places.len());
        self.position.bytes += to_u64(len);
        let column = Arc::new(records.finish());
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![column]);
        let batch = batch.map_err(internal)?;
        Ok(Rows { batch, places, too_long: Vec::new(), bytes: len, end: self.position })
    }

    /// Reads a chunk of the file. Returns false at its end.
    fn fill(&mut self) -> Result<bool, DataError> {
        if self.is_read {
            return Ok(false);
        }
        let held = self.held.len();
        let read = self.from.append(&mut self.held);
        let byte = self.position.bytes + to_u64(held);
        let failed =
            |error| DataError::at(&self.name, self.position.rows + self.found + 1, byte, error);
        self.is_read = read.map_err(failed)? == 0;
        Ok(!self.is_read)
    }
}

/// Whether a byte ends a number or a word.
fn ends(byte: u8) -> bool {
    byte == b',' || byte == b']' || byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::is_array;

    #[test]
    fn arrays_of_records_are_told_from_lists_of_messages() {
        for text in [
            "[]",
            "\u{feff} [\n  {\"messages\": [{\"role\": \"user\"}]}",
            r#"[{"conversations":[{"from":"human","value":"Hi"}]}]"#,
            r#"[{"id":1,"role":"x","messages":[]}]"#,
            r#"[{"instruction":"role","output":"\"role\":"}]"#,
            r#"["<|im_start|>user"]"#,
        ] {
            assert!(is_array(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "{}",
            r#"[{"role":"user","content":"Hi"}]"#,
            r#"[{"content":"messages","role":"user"}]"#,
            r#"[{"from":"human","value":"Hi"}]"#,
            "[[",
            "[1]",
        ] {
            assert!(!is_array(text.as_bytes()), "{text}");
        }
    }
}
