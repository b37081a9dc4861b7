//! Reads JSON strings and their escapes.

use std::borrow::Cow;

use hifijson::SliceLexer;

use super::reader::{Halves, Json, Repair, Result};
use crate::Span;

impl<'a> Json<'a> {
    /// Reads a string. Its span includes the quotes.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<(Cow<'a, str>, Span)> {
        let open = self.offset();
        let text = match self.as_it_stands(open)? {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.unescaped.clone()),
        };
        Ok((text, Span::new(open, self.at)))
    }

    /// Skips a string. Half of a surrogate pair is accepted, because the text is not needed.
    pub(crate) fn skip_string(&mut self) -> Result<()> {
        let open = self.offset();
        self.expect(b'"', "a string")?;
        let halves = std::mem::replace(&mut self.halves, Halves::Pass);
        let left = self.leave(open);
        self.halves = halves;
        left
    }

    /// Skips to the end of the string at `open`, after its opening quote, without copying.
    fn leave(&mut self, open: usize) -> Result<()> {
        let mut odd = String::new();
        while !self.run(open)?.1 {
            match self.text.as_bytes().get(self.at) {
                Some(b'n' | b'"' | b'\\' | b't') => self.at += 1,
                _ => {
                    self.escape(&mut odd)?;
                    odd.clear();
                }
            }
        }
        Ok(())
    }

    /// Reads the string at `open`. If it has escapes, its text is in `unescaped`.
    #[inline]
    fn as_it_stands(&mut self, open: usize) -> Result<Option<&'a str>> {
        self.expect(b'"', "a string")?;
        let (run, is_all) = self.run(open)?;
        if is_all {
            return Ok(Some(run));
        }
        self.unescape(open, run)?;
        Ok(None)
    }

    /// Reads the rest of a string that begins with `run` and a backslash.
    fn unescape(&mut self, open: usize, run: &str) -> Result<()> {
        // All strings share one buffer: each text is copied to its final place, with the exact
        // size.
        let mut out = std::mem::take(&mut self.unescaped);
        out.clear();
        out.reserve((run.len() * 2).max(256));
        out.push_str(run);
        loop {
            self.escape(&mut out)?;
            let (run, is_all) = self.run(open)?;
            out.push_str(run);
            if is_all {
                break;
            }
        }
        self.unescaped = out;
        Ok(())
    }

    /// Reads text up to and including the next quote or backslash. Returns whether it was a quote.
    #[inline(always)]
    fn run(&mut self, open: usize) -> Result<(&'a str, bool)> {
        let (text, start) = (self.text, self.at);
        let bytes = text.as_bytes();
        let mut end = start + plain(&bytes[start..]);
        if !matches!(bytes.get(end), Some(b'"' | b'\\')) {
            end = self.odd_run(open)?;
        }
        self.at = end + 1;
        Ok((&text[start..end], bytes[end] == b'"'))
    }

    /// Returns the end of a run with control characters, or without an end.
    #[cold]
    fn odd_run(&mut self, open: usize) -> Result<usize> {
        let (text, start) = (self.text, self.at);
        match memchr::memchr2(b'"', b'\\', &text.as_bytes()[start..]) {
            Some(len) => {
                self.raw_control(&text[start..start + len], start)?;
                Ok(start + len)
            }
            None => Err(self.error(Span::new(open, text.len()), "the string is not closed")),
        }
    }

    /// Reads the rest of an escape, after its backslash.
    #[inline]
    fn escape(&mut self, out: &mut String) -> Result<()> {
        use hifijson::escape::Lex as _;
        let start = self.at - 1;
        let rest = &self.text.as_bytes()[self.at..];
        let simple = match rest.first() {
            Some(b'n') => '\n',
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b't') => '\t',
            Some(kind) => {
                let mut lexer = SliceLexer::new(&rest[1..]);
                let read = lexer.escape(*kind);
                let used = rest.len() - lexer.as_slice().len();
                return match read {
                    Ok(c) => {
                        self.at += used;
                        out.push(c);
                        Ok(())
                    }
                    Err(error) => self.bad_escape(out, start, &error),
                };
            }
            None => return Err(self.error(Span::new(start, start + 1), "the string is not closed")),
        };
        self.at += 1;
        out.push(simple);
        Ok(())
    }

    #[cold]
    fn bad_escape(
        &mut self,
        out: &mut String,
        start: usize,
        error: &hifijson::escape::Error,
    ) -> Result<()> {
        use hifijson::escape::Error;
        let half = matches!(error, Error::InvalidChar(_) | Error::ExpectedLowSurrogate);
        let span = Span::new(start, (start + if half { 6 } else { 2 }).min(self.text.len()));
        if half && self.halves != Halves::Refuse {
            if self.halves == Halves::Repair {
                self.repair(span, Repair::HalfPair);
            }
            self.at = span.end;
            out.push(char::REPLACEMENT_CHARACTER);
            return Ok(());
        }
        let span = match self.text.get(span.range()) {
            Some(_) => span,
            None => Span::new(start, start + 1),
        };
        Err(self
            .error(span, if half { Repair::HalfPair.as_str() } else { "unknown escape sequence" }))
    }

    /// Handles a control character in a string: an error, or a repair.
    #[cold]
    fn raw_control(&mut self, run: &str, start: usize) -> Result<()> {
        let at = start + run.bytes().position(|byte| byte < 0x20).unwrap_or(0);
        let span = Span::new(at, at + 1);
        if self.repairs {
            self.repair(span, Repair::Control);
            return Ok(());
        }
        Err(self.error(span, Repair::Control.as_str()))
    }
}

/// Whether a byte of a string is special: a quote, a backslash or a control character.
#[inline]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Returns the number of plain bytes at the front. Most strings are short or have an early escape,
/// so it checks eight bytes at a time, and larger blocks only after a while.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    const WORD: usize = 8;
    const BLOCK: usize = 32;
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<WORD>() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = tail;
        if (bytes.len() - rest.len()).is_multiple_of(BLOCK) {
            // This vectorizes.
            while let Some((block, tail)) = rest.split_first_chunk::<BLOCK>()
                && !block.iter().fold(false, |found, byte| found | is_special(*byte))
            {
                rest = tail;
            }
        }
    }
    let tail = rest.iter().take_while(|byte| !is_special(**byte)).count();
    bytes.len() - rest.len() + tail
}

/// Returns the highest bit of each special byte. After the first one, other bits can be wrong.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    let quotes = zeros(word ^ (ONES * u64::from(b'"')));
    let backslashes = zeros(word ^ (ONES * u64::from(b'\\')));
    (controls | quotes | backslashes) & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::{is_special, plain};

    #[test]
    fn text_ends_at_the_first_byte_that_is_none() {
        for len in 0..100 {
            for byte in 0..=u8::MAX {
                let mut bytes = vec![b'a'; len];
                bytes.extend([byte, b'"', 0xff, 0x80, 0x7f]);
                let wanted = len + usize::from(!is_special(byte));
                assert_eq!(plain(&bytes), wanted, "{byte} at {len}");
                bytes[len + 1] = 0xe9;
                let wanted = if is_special(byte) { len } else { len + 5 };
                assert_eq!(plain(&bytes), wanted, "{byte} at {len}");
            }
        }
    }
}
