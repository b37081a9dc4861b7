//! White space in headers: a single character between words (SPEC 2.2 §15, 0.1 §3).

use std::ops::Range;

use crate::{Code, Diagnostic, Fix, Span};

/// Where a single space or tab is allowed in the text of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    pub(crate) before: bool,
    pub(crate) between: bool,
    pub(crate) after: bool,
}

/// Finds white space in the text of a header that is not allowed, and its replacement.
pub(crate) fn misplaced(
    text: &str,
    allowed: Allowed,
) -> impl Iterator<Item = (Range<usize>, &'static str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        loop {
            let start = at + bytes[at..].iter().position(u8::is_ascii_whitespace)?;
            let len = bytes[start..].iter().position(|byte| !byte.is_ascii_whitespace());
            at = len.map_or(bytes.len(), |len| start + len);
            let is_one = matches!(&bytes[start..at], b" " | b"\t");
            let (may_stand, wanted) = match (start == 0, at == bytes.len()) {
                (true, true) => (allowed.before || allowed.after, ""),
                (true, false) => (allowed.before, if allowed.before { " " } else { "" }),
                (false, true) => (allowed.after, ""),
                (false, false) => (allowed.between, " "),
            };
            if !(is_one && may_stand) {
                return Some((start..at, wanted));
            }
        }
    })
}

/// Returns the diagnostic for white space at `span`, with its replacement.
pub(crate) fn finding(span: Span, wanted: &'static str) -> Diagnostic {
    let text = match wanted {
        "" => "white space is not allowed here in a header",
        _ => "words in a header must be separated by one space",
    };
    Code::ParseHeader.at(span, text).fix(Fix::safe(span, wanted))
}

#[cfg(test)]
mod tests {
    use super::{Allowed, misplaced};

    #[test]
    fn one_space_stands_between_words() {
        let allowed = Allowed { before: false, between: true, after: true };
        type Case<'c> = (&'c str, &'c [(usize, usize, &'c str)]);
        let cases: &[Case<'_>] = &[
            ("", &[]),
            ("user", &[]),
            ("user name=a\tto=b ", &[]),
            (" user", &[(0, 1, "")]),
            ("user  name=a", &[(4, 6, " ")]),
            ("user\nname=a\r\n", &[(4, 5, " "), (11, 13, "")]),
            (" ", &[]),
            ("\n", &[(0, 1, "")]),
        ];
        for (text, wanted) in cases {
            let found: Vec<_> =
                misplaced(text, allowed).map(|(at, fix)| (at.start, at.end, fix)).collect();
            assert_eq!(found, *wanted, "{text:?}");
        }
    }
}
