//! Reading strings: escapes, and what is wrong in them.

use std::borrow::Cow;

use hifijson::SliceLexer;

use super::reader::{Json, Result};
use crate::Span;

impl<'a> Json<'a> {
    /// Takes a string. Its span includes the quotes.
    pub(crate) fn string(&mut self) -> Result<(Cow<'a, str>, Span)> {
        let open = self.offset();
        self.expect(b'"', "a string")?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let Some(len) = memchr::memchr2(b'"', b'\\', &bytes[start..]) else {
            return Err(self.error(Span::new(open, bytes.len()), "the string has no end"));
        };
        let run = &self.text[start..start + len];
        self.raw_controls(run, start)?;
        self.at = start + len + 1;
        if bytes[start + len] == b'"' {
            return Ok((Cow::Borrowed(run), Span::new(open, self.at)));
        }
        let mut out = String::with_capacity(len * 2 + 16);
        out.push_str(run);
        loop {
            self.escape(&mut out)?;
            let from = self.at;
            let Some(len) = memchr::memchr2(b'"', b'\\', &bytes[from..]) else {
                return Err(self.error(Span::new(open, bytes.len()), "the string has no end"));
            };
            let run = &self.text[from..from + len];
            self.raw_controls(run, from)?;
            out.push_str(run);
            self.at = from + len + 1;
            if bytes[from + len] == b'"' {
                return Ok((Cow::Owned(out), Span::new(open, self.at)));
            }
        }
    }

    /// Takes the rest of an escape, whose backslash is taken.
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
            None => return Err(self.error(Span::new(start, start + 1), "the string has no end")),
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
        if half && self.mends {
            self.mend(span, "half of a surrogate pair");
            self.at = span.end;
            out.push(char::REPLACEMENT_CHARACTER);
            return Ok(());
        }
        let span = match self.text.get(span.range()) {
            Some(_) => span,
            None => Span::new(start, start + 1),
        };
        Err(self.error(span, if half { "half of a surrogate pair" } else { "no such escape" }))
    }

    /// A raw control character in a string is an error, or is mended.
    #[inline]
    fn raw_controls(&mut self, run: &str, start: usize) -> Result<()> {
        // One pass that vectorizes; finding the place is for the rare case.
        if run.bytes().fold(false, |found, byte| found | (byte < 0x20)) {
            return self.raw_control(run, start);
        }
        Ok(())
    }

    #[cold]
    fn raw_control(&mut self, run: &str, start: usize) -> Result<()> {
        let at = start + run.bytes().position(|byte| byte < 0x20).unwrap_or(0);
        let span = Span::new(at, at + 1);
        let message = "a control character that is not escaped";
        if self.mends {
            self.mend(span, message);
            return Ok(());
        }
        Err(self.error(span, message))
    }
}
