//! Brackets of JSON, followed as text arrives.

/// How deep in brackets the reading is. Those in strings do not count. What is no JSON has a depth,
/// too: any bracket that closes goes with any that opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Brackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Brackets {
    /// How many bytes at the front of `bytes` change nothing: they need not be taken.
    #[inline]
    pub(super) fn idle(self, bytes: &[u8]) -> usize {
        let next = match (self.in_string, self.escaped) {
            (true, true) => Some(0),
            (true, false) => memchr::memchr2(b'"', b'\\', bytes),
            (false, _) => {
                bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))
            }
        };
        next.unwrap_or(bytes.len())
    }

    /// Takes the next byte.
    #[inline]
    pub(super) fn step(&mut self, byte: u8) {
        match byte {
            _ if std::mem::take(&mut self.escaped) => {}
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether all brackets and strings are closed.
    #[inline]
    pub(super) fn are_closed(self) -> bool {
        self.depth == 0 && !self.in_string
    }
}
