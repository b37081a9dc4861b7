//! Tracks JSON brackets while text arrives.

/// The nesting depth in brackets. Brackets in strings are ignored. Text that is not JSON has a
/// depth too: any closing bracket matches any opening one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Brackets {
    /// Returns the number of bytes at the front of `bytes` that change nothing, so that they can be
    /// skipped.
    #[inline]
    pub(crate) fn idle(self, bytes: &[u8]) -> usize {
        let next = match (self.in_string, self.escaped) {
            (true, true) => Some(0),
            (true, false) => memchr::memchr2(b'"', b'\\', bytes),
            (false, _) => {
                bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))
            }
        };
        next.unwrap_or(bytes.len())
    }

    /// The same, if a comma also changes something.
    #[inline]
    pub(crate) fn idle_before_comma(self, bytes: &[u8]) -> usize {
        let idle = self.idle(bytes);
        match self.in_string {
            true => idle,
            false => memchr::memchr(b',', &bytes[..idle]).unwrap_or(idle),
        }
    }

    /// Whether a string is open.
    #[inline]
    pub(crate) fn is_in_string(self) -> bool {
        self.in_string
    }

    /// Processes the next byte.
    #[inline]
    pub(crate) fn step(&mut self, byte: u8) {
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
    pub(crate) fn are_closed(self) -> bool {
        self.depth == 0 && !self.in_string
    }
}
