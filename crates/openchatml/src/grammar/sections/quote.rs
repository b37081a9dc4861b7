//! Tells whether a text ends inside of quoted code, where a call is only an example.

/// The quoted code at the end of a text in Markdown, as far as it was read.
///
/// Code is quoted on one line, as in `` `<tool_call>` ``, or in a block between two fences, which
/// are lines that begin with three backticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quote {
    /// The number of backticks that opened code on this line.
    inline: usize,
    /// The number of backticks that opened a block.
    fence: usize,
    /// Whether the block was opened on this line.
    is_opening: bool,
    /// The number of backticks at the end of the text.
    run: usize,
    /// Whether something other than white space was read on this line, before the run.
    has_text: bool,
}

impl Quote {
    /// Whether a text ends inside of a block.
    pub(super) fn is_block_after(text: &str) -> bool {
        let mut quote = Self::default();
        quote.read(text);
        quote.is_block()
    }

    /// Reads more text.
    pub(super) fn read(&mut self, text: &str) {
        let is_simple = self.inline == 0 && self.fence == 0 && self.run == 0;
        let mut rest = text.as_bytes();
        if is_simple {
            // Most text has no backtick: only the line of the first one counts.
            let first = memchr::memchr(b'`', rest).unwrap_or(rest.len());
            let line = memchr::memrchr(b'\n', &rest[..first]);
            self.has_text &= line.is_none();
            rest = &rest[line.map_or(0, |line| line + 1)..];
        }
        rest.iter().for_each(|byte| self.byte(*byte));
    }

    fn byte(&mut self, byte: u8) {
        if byte == b'`' {
            self.run += 1;
            return;
        }
        self.end_run();
        match byte {
            b'\n' => (self.inline, self.is_opening, self.has_text) = (0, false, false),
            byte => self.has_text |= !byte.is_ascii_whitespace(),
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let is_fence = run >= 3 && !self.has_text;
        self.has_text |= run > 0;
        if run == 0 {
            return;
        }
        if self.fence > 0 {
            // Backticks after a fence show that it is code on one line.
            let is_end = is_fence && run >= self.fence || self.is_opening;
            if is_end {
                self.fence = 0;
            }
        } else if is_fence && self.inline == 0 {
            (self.fence, self.is_opening) = (run, true);
        } else if self.inline == 0 {
            self.inline = run;
        } else if self.inline == run {
            self.inline = 0;
        }
    }

    /// Whether the text ends inside of quoted code.
    pub(super) fn is_open(mut self) -> bool {
        self.end_run();
        self.inline > 0 || self.fence > 0
    }

    /// Whether the text ends inside of a block. Code that is quoted on one line ends with the line.
    pub(super) fn is_block(mut self) -> bool {
        self.end_run();
        self.fence > 0
    }
}

#[cfg(test)]
mod tests {
    use super::Quote;

    #[test]
    fn code_is_quoted_up_to_its_end() {
        let open =
            ["`", "a `", "a ``", "``a ` b", "```\n", "```xml\na\n", "a\n  ````\n```\n", "`a` `"];
        let closed = [
            "",
            "a",
            "`a`",
            "a `\n",
            "``a``",
            "```\na\n```\n",
            "````\n```\n````",
            "```a```",
            "`a\nb",
            "a ```\n",
        ];
        let open = open.into_iter().map(|text| (text, true));
        for (text, is_open) in open.chain(closed.into_iter().map(|text| (text, false))) {
            let [mut whole, mut pieces] = [Quote::default(); 2];
            whole.read(text);
            text.split_inclusive(|_| true).for_each(|piece| pieces.read(piece));
            assert_eq!(whole.is_open(), is_open, "{text:?}");
            assert_eq!(pieces.is_open(), is_open, "{text:?} in pieces");
            whole.read("\n");
            assert_eq!(whole.is_open(), Quote::is_block_after(text), "{text:?}");
        }
    }
}
