//! Reads the strings of Python.

use super::NotPython;

/// A string while it is read.
#[derive(Debug)]
pub(super) struct PythonString {
    quote: char,
    state: InString,
    /// Whether three quotation marks surround it.
    is_long: bool,
    /// The number of quotation marks at the end of the text, in a long string.
    quotes: u8,
    /// The first half of a surrogate pair.
    half: Option<u32>,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug)]
enum InString {
    /// After the first quotation mark.
    Opened,
    /// After two quotation marks, which are an empty string unless a third follows.
    Twice,
    Text,
    Escape,
    /// In an escape with this many digits to come, in this base.
    Digits {
        left: u8,
        base: u32,
        value: u32,
    },
}

/// What a character means in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It belongs to the string.
    Inside,
    /// It is the last quotation mark.
    Last,
    /// The string has ended before it.
    Behind,
}

impl PythonString {
    pub(super) fn new(quote: char) -> Self {
        let state = InString::Opened;
        Self { quote, state, is_long: false, quotes: 0, half: None, text: String::new() }
    }

    /// Reads the next character.
    pub(super) fn step(&mut self, char: char) -> Result<Step, NotPython> {
        match self.state {
            InString::Opened if char == self.quote => {
                self.state = InString::Twice;
                return Ok(Step::Inside);
            }
            InString::Twice if char == self.quote => self.is_long = true,
            InString::Twice => return Ok(Step::Behind),
            InString::Escape => return self.escape(char),
            InString::Digits { left, base, value } => {
                if let Some(digit) = char.to_digit(base) {
                    self.digit(left, base, value * base + digit)?;
                    return Ok(Step::Inside);
                }
                // An octal escape can have fewer digits.
                if base != 8 {
                    return Err(NotPython);
                }
                self.add(value)?;
                self.state = InString::Text;
                return self.text(char);
            }
            InString::Opened | InString::Text => return self.text(char),
        }
        self.state = InString::Text;
        Ok(Step::Inside)
    }

    fn text(&mut self, char: char) -> Result<Step, NotPython> {
        self.state = InString::Text;
        if char == self.quote {
            self.quotes += 1;
            if !self.is_long || self.quotes == 3 {
                self.text.truncate(self.text.len() + 1 - usize::from(self.quotes));
                return self.whole();
            }
            self.text.push(char);
            return Ok(Step::Inside);
        }
        self.quotes = 0;
        match char {
            '\\' => self.state = InString::Escape,
            '\n' | '\r' if !self.is_long => return Err(NotPython),
            char => self.push(char)?,
        }
        Ok(Step::Inside)
    }

    /// Ends the string. Half of a surrogate pair is no text.
    fn whole(&self) -> Result<Step, NotPython> {
        if self.half.is_some() { Err(NotPython) } else { Ok(Step::Last) }
    }

    /// Reads the character after a backslash.
    fn escape(&mut self, char: char) -> Result<Step, NotPython> {
        self.state = InString::Text;
        let escaped = match char {
            '\n' => return Ok(Step::Inside),
            '\\' | '\'' | '"' => char,
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => return Ok(self.digits(2)),
            'u' => return Ok(self.digits(4)),
            'U' => return Ok(self.digits(8)),
            '0'..='7' => {
                let value = char.to_digit(8).unwrap_or_default();
                self.state = InString::Digits { left: 2, base: 8, value };
                return Ok(Step::Inside);
            }
            'N' | '\r' => return Err(NotPython),
            // Python keeps the backslash of an unknown escape.
            char => {
                self.push('\\')?;
                char
            }
        };
        self.push(escaped)?;
        Ok(Step::Inside)
    }

    fn digits(&mut self, left: u8) -> Step {
        self.state = InString::Digits { left, base: 16, value: 0 };
        Step::Inside
    }

    fn digit(&mut self, left: u8, base: u32, value: u32) -> Result<(), NotPython> {
        if left > 1 {
            self.state = InString::Digits { left: left - 1, base, value };
            return Ok(());
        }
        self.state = InString::Text;
        self.add(value)
    }

    /// Adds the character of an escape. Models write surrogate pairs as in JSON.
    fn add(&mut self, value: u32) -> Result<(), NotPython> {
        match (self.half.take(), value) {
            (Some(high), 0xdc00..=0xdfff) => {
                let value = 0x1_0000 + ((high - 0xd800) << 10) + (value - 0xdc00);
                self.push(char::from_u32(value).ok_or(NotPython)?)
            }
            (None, 0xd800..=0xdbff) => {
                self.half = Some(value);
                Ok(())
            }
            (None, value) => self.push(char::from_u32(value).ok_or(NotPython)?),
            (Some(_), _) => Err(NotPython),
        }
    }

    fn push(&mut self, char: char) -> Result<(), NotPython> {
        if self.half.is_some() {
            return Err(NotPython);
        }
        self.text.push(char);
        Ok(())
    }
}
