//! Tells whether a text ends inside of quoted code, where tokens of sections are only an example.

use crate::{Control, Section};

/// The quoted code at the end of a text in Markdown, as far as it was read.
///
/// Code is quoted on one line, as in `` `<tool_call>` ``, in a block between two fences, which are
/// lines of three backticks or tildes, or by an indentation of four columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quote {
    /// The block that is open.
    fence: Option<Fence>,
    line: Line,
    /// The number of backticks that opened code on this line.
    inline: usize,
    /// The number of backticks at the end of the text, in a line that is no fence.
    run: usize,
    /// Whether the last byte is a backslash.
    is_escaped: bool,
    /// Whether a token that opens reasoning was quoted.
    has_thought: bool,
    /// Whether one was quoted in the code that is open on this line.
    has_thought_in_line: bool,
}

/// A run of backticks or tildes that opens a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: u8,
    count: usize,
}

/// What was read of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Marks of quotations and lists, and this number of columns of white space behind them.
    Start {
        indent: usize,
        has_marks: bool,
    },
    /// A mark of a list, if white space follows. The number of an item can go on.
    Mark {
        is_number: bool,
    },
    /// A run at the beginning of the line, and whether white space follows it.
    Run(Fence, bool),
    /// The words behind a run.
    Info(Fence),
    Text,
    /// Text that is indented.
    Code,
}

impl Default for Line {
    fn default() -> Self {
        Self::Start { indent: 0, has_marks: false }
    }
}

impl Quote {
    /// Whether a text has a run that can open a block. It is much faster than reading the text.
    pub(super) fn may_open_block(text: &str) -> bool {
        let bytes = text.as_bytes();
        memchr::memchr2_iter(b'`', b'~', bytes)
            .any(|at| bytes.get(at..at + 3).is_some_and(|run| matches!(run, b"```" | b"~~~")))
    }

    /// Whether a text ends inside of a block.
    pub(super) fn is_block_after(text: &str) -> bool {
        if !Self::may_open_block(text) {
            return false;
        }
        let mut quote = Self::default();
        quote.read(text);
        quote.is_block()
    }

    /// Reads more text.
    pub(super) fn read(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.line == Line::default() {
                // Most text has no marks: the lines before the first one do not count.
                let first = memchr::memchr2(b'`', b'~', rest).unwrap_or(rest.len());
                let line = memchr::memrchr(b'\n', &rest[..first]);
                rest = &rest[line.map_or(0, |line| line + 1)..];
            }
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            self.read_line(&rest[..end]);
            rest = &rest[end..];
        }
    }

    /// Reads a line, or a part of it.
    fn read_line(&mut self, line: &[u8]) {
        let mut rest = line;
        while let Some((byte, others)) = rest.split_first() {
            if matches!(self.line, Line::Text | Line::Code) && self.run == 0 {
                // The text up to the next backtick changes nothing.
                let is_code = self.line == Line::Code || self.fence.is_some();
                let next = memchr::memchr(b'`', rest).filter(|_| !is_code);
                let skipped = &rest[..next.unwrap_or(rest.len())];
                if let Some(last) = skipped.last() {
                    self.is_escaped = *last == b'\\';
                    if *last == b'\n' {
                        self.byte(b'\n');
                    }
                    rest = &rest[skipped.len()..];
                    continue;
                }
            }
            self.byte(*byte);
            rest = others;
        }
    }

    fn byte(&mut self, byte: u8) {
        if byte == b'\n' {
            let fence = self.end_line();
            *self = Self { fence, has_thought: self.has_thought, ..Self::default() };
            return;
        }
        let is_blank = byte.is_ascii_whitespace();
        let columns = if byte == b'\t' { 4 } else { 1 };
        let in_block = self.fence.is_some();
        self.line = match (self.line, byte) {
            (Line::Start { indent, has_marks }, _) if is_blank => {
                Line::Start { indent: indent + columns, has_marks }
            }
            (Line::Start { .. }, b'>') => Line::Start { indent: 0, has_marks: true },
            (Line::Start { .. }, b'`' | b'~') => Line::Run(Fence { mark: byte, count: 1 }, false),
            (Line::Start { .. }, b'-' | b'*' | b'+') if !in_block => {
                Line::Mark { is_number: false }
            }
            (Line::Start { .. } | Line::Mark { is_number: true }, b'0'..=b'9') if !in_block => {
                Line::Mark { is_number: true }
            }
            (Line::Mark { is_number: true }, b'.' | b')') => Line::Mark { is_number: false },
            (Line::Mark { is_number: false }, _) if is_blank => {
                Line::Start { indent: 0, has_marks: true }
            }
            (Line::Run(fence, false), _) if byte == fence.mark => {
                Line::Run(Fence { count: fence.count + 1, ..fence }, false)
            }
            (Line::Run(fence, _), _) if is_blank => Line::Run(fence, true),
            (Line::Run(fence, _) | Line::Info(fence), b'`') if fence.mark == b'`' => {
                return self.end_fence(fence, byte);
            }
            (Line::Run(fence, _), _) if fence.count < 3 => return self.end_fence(fence, byte),
            (Line::Run(fence, _) | Line::Info(fence), _) => Line::Info(fence),
            (Line::Start { indent: 4.., has_marks: false }, _) if !in_block => Line::Code,
            (Line::Code, _) => Line::Code,
            _ => {
                self.text(byte);
                Line::Text
            }
        };
    }

    /// Reads a line as text that began with a run and goes on with this byte.
    fn end_fence(&mut self, fence: Fence, byte: u8) {
        self.line = Line::Text;
        if fence.mark == b'`' {
            self.inline = fence.count;
        }
        self.text(byte);
    }

    fn text(&mut self, byte: u8) {
        if self.fence.is_some() {
            return;
        }
        let is_escaped = std::mem::replace(&mut self.is_escaped, byte == b'\\');
        if byte == b'`' && !(is_escaped && self.inline == 0 && self.run == 0) {
            self.run += 1;
        } else {
            self.inline = self.end_run();
            self.has_thought_in_line &= self.inline > 0;
        }
        if byte != b'`' {
            self.run = 0;
        }
    }

    /// Returns the number of backticks that open code on this line, if its last run has ended.
    fn end_run(&self) -> usize {
        match (self.inline, self.run) {
            (inline, 0) => inline,
            (0, run) => run,
            (inline, run) if inline == run => 0,
            (inline, _) => inline,
        }
    }

    /// Returns the block that is open after this line.
    fn end_line(&self) -> Option<Fence> {
        match (self.fence, self.line) {
            (None, Line::Run(fence, _) | Line::Info(fence)) if fence.count >= 3 => Some(fence),
            // Words behind a run show that it is no end.
            (Some(open), Line::Run(end, _)) if end.mark == open.mark && end.count >= open.count => {
                None
            }
            (open, _) => open,
        }
    }

    /// Whether a token of a section is text behind this text, because it is quoted.
    ///
    /// In a block, the end of reasoning is text only if its beginning is quoted, too: in reasoning
    /// without its first token, a block may just have no end. On a line, a backtick may just be the
    /// name of a key, so a token of reasoning is text only directly behind the backtick, or as the end
    /// of one that is.
    pub(super) fn quotes(self, control: Control) -> bool {
        let is_indented =
            matches!(self.line, Line::Start { indent: 4.., has_marks: false } | Line::Code);
        match control {
            Control::CloseSection(Section::Reasoning) if self.is_block() => self.has_thought,
            _ if self.is_block() || is_indented => true,
            Control::OpenSection(Section::Reasoning) => {
                self.is_in_line() && self.ends_in_backtick()
            }
            Control::CloseSection(Section::Reasoning) => {
                self.is_in_line() && (self.ends_in_backtick() || self.has_thought_in_line)
            }
            _ => self.is_in_line(),
        }
    }

    /// Reads a quoted token.
    pub(super) fn read_token(&mut self, control: Control, spelling: &str) {
        if control == Control::OpenSection(Section::Reasoning) {
            self.has_thought = true;
            self.has_thought_in_line = self.is_in_line();
        }
        self.read(spelling);
    }

    /// Whether the text ends inside of code that is quoted on its line.
    fn is_in_line(self) -> bool {
        match self.line {
            Line::Run(fence, _) => fence.mark == b'`' && fence.count < 3,
            Line::Text => self.end_run() > 0,
            _ => false,
        }
    }

    /// Whether the text ends in the backtick that opens this code.
    fn ends_in_backtick(self) -> bool {
        match self.line {
            Line::Run(_, has_blank) => !has_blank,
            _ => self.run > 0,
        }
    }

    /// Whether the text ends inside of a block. Code that is quoted on one line ends with the line.
    pub(super) fn is_block(self) -> bool {
        self.end_line().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Quote;
    use crate::{Control, Section};

    const CALL: Control = Control::OpenSection(Section::Call);
    const THINK: Control = Control::OpenSection(Section::Reasoning);
    const END_THINK: Control = Control::CloseSection(Section::Reasoning);

    #[test]
    fn a_backtick_on_its_own_quotes_no_reasoning() {
        let after = |text: &str| {
            let mut quote = Quote::default();
            quote.read(text);
            quote
        };
        for (text, is_quoted) in [
            ("`", true),
            ("a `", true),
            ("``", true),
            ("```\n", true),
            ("    ", true),
            ("Press the ` key. ", false),
            ("` ", false),
            ("Use `a` and ` ", false),
        ] {
            assert_eq!(after(text).quotes(THINK), is_quoted, "{text:?}");
            // The end of reasoning is not quoted by a block alone.
            let is_end_quoted = is_quoted && !text.starts_with("```");
            assert_eq!(after(text).quotes(END_THINK), is_end_quoted, "{text:?}");
        }
        let mut quote = after("Write `");
        quote.read_token(THINK, "");
        quote.read("so");
        assert!(quote.quotes(END_THINK));
        quote.read("` and ` ");
        assert!(!quote.quotes(END_THINK));
    }

    #[test]
    fn code_is_quoted_up_to_its_end() {
        let open = [
            "`",
            "a `",
            "a ``",
            "``a ` b",
            "```\n",
            "```xml\na\n",
            "a\n  ````\n```\n",
            "`a` `",
            "~~~\n",
            "~~~\n```\n",
            "```markdown\nHow:\n```json\n",
            "- Use:\n- ```\n  ",
            "1. ```\n",
            "> ```\n> ",
            "a:\n\n    ",
            "a:\n\t",
            "a:\n    b ",
            "```\n- ```\n",
            "```\na ```\n",
        ];
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
            "~~~\n```\n~~~\n",
            "~a",
            "~~ a",
            "a \\` b",
            "> ```\n> a\n> ```\n",
            "- a\n  ",
            "    a\n",
            "    - a",
            "```\na\n```  \nb",
        ];
        let open = open.into_iter().map(|text| (text, true));
        for (text, is_open) in open.chain(closed.into_iter().map(|text| (text, false))) {
            let [mut whole, mut pieces] = [Quote::default(); 2];
            whole.read(text);
            text.split_inclusive(|_| true).for_each(|piece| pieces.read(piece));
            assert_eq!(whole.quotes(CALL), is_open, "{text:?}");
            assert_eq!(pieces.quotes(CALL), is_open, "{text:?} in pieces");
            whole.read("\n");
            assert_eq!(whole.quotes(CALL), Quote::is_block_after(text), "{text:?}");
        }
    }
}
