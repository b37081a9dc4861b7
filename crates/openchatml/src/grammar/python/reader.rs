//! Reads calls in the syntax of Python as they arrive.

use std::collections::BTreeSet;

use super::strings::{PythonString, Step};
use super::{NotPython, begins_name, is_of_keyword, is_of_name, is_space, words};
use crate::Span;
use crate::json::write_string;
use crate::limits::{DEEPEST, Limits};

/// What is around calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    /// Brackets, with commas between the calls.
    Brackets,
    /// Ends of lines between the calls.
    Lines,
    /// Nothing: it is one call.
    Nothing,
}

/// A call in the syntax of Python.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PythonCall {
    pub(crate) name: String,
    /// The arguments, as a JSON object.
    pub(crate) arguments: String,
    /// The place of the arguments, between the parentheses.
    pub(crate) place: Span,
}

/// Calls while they are read. The cost is linear in the text, however it arrives.
#[derive(Debug)]
pub(crate) struct PythonCalls {
    around: Around,
    most_depth: usize,
    state: State,
    /// The lists and dictionaries that are open in the arguments.
    open: Vec<Open>,
    /// The keywords of the call.
    keywords: BTreeSet<String>,
    /// The name, keyword, word or number that is read.
    word: String,
    name: String,
    json: String,
    /// The number of bytes that were read, and the beginning of the arguments.
    at: usize,
    from: usize,
    calls: Vec<PythonCall>,
}

#[derive(Debug)]
enum State {
    /// Before the bracket, or the only call.
    Start,
    /// Before a call.
    Call,
    Name,
    /// Before a keyword, or the end of the arguments.
    Keyword,
    InKeyword,
    /// Between a keyword and its equals sign.
    Equals,
    Value,
    Word,
    String {
        string: Box<PythonString>,
        is_key: bool,
    },
    /// After a value.
    AfterValue,
    /// Before a key of a dictionary.
    Key,
    /// After a key of a dictionary.
    AfterKey,
    AfterCall,
    /// After the whole list.
    End,
}

#[derive(Debug)]
enum Open {
    List,
    /// A dictionary, and its keys.
    Map(BTreeSet<String>),
}

impl PythonCalls {
    pub(crate) fn new(around: Around, limits: &Limits) -> Self {
        Self {
            around,
            most_depth: limits.json_depth.min(DEEPEST),
            state: if around == Around::Brackets { State::Start } else { State::Call },
            open: Vec::new(),
            keywords: BTreeSet::new(),
            word: String::new(),
            name: String::new(),
            json: String::new(),
            at: 0,
            from: 0,
            calls: Vec::new(),
        }
    }

    /// Begins after this number of bytes of white space.
    pub(crate) fn at(mut self, at: usize) -> Self {
        self.at = at;
        self
    }

    /// Reads more text. Returns the number of bytes before the first character with which the text
    /// is not a list of calls.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), usize> {
        for (at, char) in text.char_indices() {
            self.step(char).map_err(|NotPython| at)?;
            self.at += char.len_utf8();
        }
        Ok(())
    }

    /// Whether the text so far ends inside of a string.
    pub(crate) fn is_in_string(&self) -> bool {
        matches!(self.state, State::String { .. })
    }

    /// Whether the text so far is a complete list of calls. Another line with a call can follow.
    pub(crate) fn is_whole(&self) -> bool {
        match self.around {
            Around::Lines => {
                matches!(self.state, State::Call | State::AfterCall) && !self.calls.is_empty()
            }
            _ => matches!(self.state, State::End),
        }
    }

    /// Returns the calls, if the text is complete.
    pub(crate) fn into_calls(self) -> Option<Vec<PythonCall>> {
        self.is_whole().then_some(self.calls)
    }

    fn step(&mut self, char: char) -> Result<(), NotPython> {
        match &mut self.state {
            State::Name => return self.name(char),
            State::InKeyword => return self.keyword(char),
            State::Word if !is_space(char) && !matches!(char, ',' | ')' | ']' | '}') => {
                self.word.push(char);
                return Ok(());
            }
            State::Word => {
                self.json.push_str(&words::json(&self.word).ok_or(NotPython)?);
                self.state = State::AfterValue;
            }
            State::String { string, .. } => match string.step(char)? {
                Step::Inside => return Ok(()),
                Step::Last => return self.end_string(),
                Step::Behind => self.end_string()?,
            },
            _ => {}
        }
        if is_space(char) {
            let is_next = char == '\n' && self.around == Around::Lines;
            if is_next && matches!(self.state, State::AfterCall) {
                self.state = State::Call;
            }
            return Ok(());
        }
        self.sign(char)
    }

    /// Reads a character between words and strings.
    fn sign(&mut self, char: char) -> Result<(), NotPython> {
        self.state = match (&self.state, char) {
            (State::Start, '[') => State::Call,
            (State::Call, ']') if !self.calls.is_empty() && self.around == Around::Brackets => {
                State::End
            }
            (State::Call, char) if begins_name(char) => self.begin_word(char, State::Name),
            (State::Keyword, ')') => return self.end_call(),
            (State::Keyword, char) if begins_name(char) => self.begin_word(char, State::InKeyword),
            (State::Equals, '=') => State::Value,
            (State::Value | State::Key, ']' | '}') => return self.close(char),
            (State::Value, '[' | '{') => return self.open(char),
            (State::Value, '\'' | '"') => string(char, false),
            (State::Key, '\'' | '"') => string(char, true),
            (State::Value, char) if char.is_alphanumeric() || matches!(char, '-' | '+' | '.') => {
                self.begin_word(char, State::Word)
            }
            (State::AfterKey, ':') => State::Value,
            (State::AfterValue, ',') => match self.open.last() {
                None => State::Keyword,
                Some(Open::List) => {
                    self.json.push_str(", ");
                    State::Value
                }
                Some(Open::Map(_)) => {
                    self.json.push_str(", ");
                    State::Key
                }
            },
            (State::AfterValue, ')') if self.open.is_empty() => return self.end_call(),
            (State::AfterValue, ']' | '}') => return self.close(char),
            (State::AfterCall, ',') if self.around == Around::Brackets => State::Call,
            (State::AfterCall, ']') if self.around == Around::Brackets => State::End,
            _ => return Err(NotPython),
        };
        Ok(())
    }

    fn begin_word(&mut self, char: char, state: State) -> State {
        self.word.clear();
        self.word.push(char);
        state
    }

    fn name(&mut self, char: char) -> Result<(), NotPython> {
        if is_of_name(char) {
            self.word.push(char);
            return Ok(());
        }
        if char != '(' || self.word.ends_with('.') {
            return Err(NotPython);
        }
        self.name = std::mem::take(&mut self.word);
        self.json.push('{');
        self.keywords.clear();
        self.from = self.at + 1;
        self.state = State::Keyword;
        Ok(())
    }

    fn keyword(&mut self, char: char) -> Result<(), NotPython> {
        if is_of_keyword(char) {
            self.word.push(char);
            return Ok(());
        }
        let keyword = std::mem::take(&mut self.word);
        self.json.push_str(if self.keywords.is_empty() { "" } else { ", " });
        write_string(&mut self.json, &keyword);
        self.json.push_str(": ");
        if !self.keywords.insert(keyword) {
            return Err(NotPython);
        }
        self.state = State::Equals;
        if is_space(char) { Ok(()) } else { self.sign(char) }
    }

    fn end_string(&mut self) -> Result<(), NotPython> {
        let State::String { string, is_key } =
            std::mem::replace(&mut self.state, State::AfterValue)
        else {
            return Err(NotPython);
        };
        write_string(&mut self.json, &string.text);
        if is_key {
            let Some(Open::Map(keys)) = self.open.last_mut() else { return Err(NotPython) };
            if !keys.insert(string.text) {
                return Err(NotPython);
            }
            self.json.push_str(": ");
            self.state = State::AfterKey;
        }
        Ok(())
    }

    fn open(&mut self, char: char) -> Result<(), NotPython> {
        // The object of the arguments is one level.
        if self.open.len() + 1 >= self.most_depth {
            return Err(NotPython);
        }
        self.json.push(char);
        let (open, state) = match char {
            '[' => (Open::List, State::Value),
            _ => (Open::Map(BTreeSet::new()), State::Key),
        };
        self.open.push(open);
        self.state = state;
        Ok(())
    }

    /// Closes a list or a dictionary, which can end with a comma.
    fn close(&mut self, char: char) -> Result<(), NotPython> {
        let is_open = matches!(
            (self.open.pop(), char, &self.state),
            (Some(Open::List), ']', State::Value | State::AfterValue)
                | (Some(Open::Map(_)), '}', State::Key | State::AfterValue)
        );
        if !is_open {
            return Err(NotPython);
        }
        if let Some(len) = self.json.strip_suffix(", ").map(str::len) {
            self.json.truncate(len);
        }
        self.json.push(char);
        self.state = State::AfterValue;
        Ok(())
    }

    fn end_call(&mut self) -> Result<(), NotPython> {
        self.json.push('}');
        self.calls.push(PythonCall {
            name: std::mem::take(&mut self.name),
            arguments: std::mem::take(&mut self.json),
            place: Span::new(self.from, self.at),
        });
        self.state = match self.around {
            Around::Brackets | Around::Lines => State::AfterCall,
            Around::Nothing => State::End,
        };
        Ok(())
    }
}

fn string(quote: char, is_key: bool) -> State {
    State::String { string: Box::new(PythonString::new(quote)), is_key }
}

#[cfg(test)]
mod tests {
    use super::{Around, PythonCalls};
    use crate::limits::Limits;

    fn read(text: &str, around: Around) -> Option<Vec<(String, String)>> {
        let mut whole = PythonCalls::new(around, &Limits::default());
        let mut chunked = PythonCalls::new(around, &Limits::default());
        let in_whole = whole.push(text);
        let mut at = 0;
        let mut in_chunks = Ok(());
        for char in text.chars() {
            in_chunks = chunked.push(char.encode_utf8(&mut [0; 4])).map_err(|_| at);
            if in_chunks.is_err() {
                break;
            }
            at += char.len_utf8();
        }
        assert_eq!(in_whole, in_chunks, "{text}");
        in_whole.ok()?;
        let calls = whole.into_calls();
        assert_eq!(calls, chunked.into_calls());
        Some(calls?.into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    #[test]
    fn calls_are_read() {
        for (text, expected) in [
            ("[f()]", vec![("f", "{}")]),
            (" [ a.b-c ( ) ] ", vec![]),
            ("[f(_a=1,b = 'x' , )]\n", vec![("f", r#"{"_a": 1, "b": "x"}"#)]),
            ("[f(a=[1, [], {},],), g()]", vec![("f", r#"{"a": [1, [], {}]}"#), ("g", "{}")]),
            (r#"[f(a={'k': "v", "l": None})]"#, vec![("f", r#"{"a": {"k": "v", "l": null}}"#)]),
            (r"[f(a='it\'s', b='')]", vec![("f", r#"{"a": "it's", "b": ""}"#)]),
            ("[f(a='''x'\n''y''')]", vec![("f", r#"{"a": "x'\n''y"}"#)]),
            (r"[f(a='\x41\u00e9\101\d')]", vec![("f", r#"{"a": "AéA\\d"}"#)]),
            (r"[f(a='\ud83d\ude00')]", vec![("f", r#"{"a": "😀"}"#)]),
            ("[f(a=true, b=1_0)]", vec![("f", r#"{"a": true, "b": 10}"#)]),
            ("[f(a=', ')]", vec![("f", r#"{"a": ", "}"#)]),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(name, json)| (name.to_owned(), json.to_owned()))
                .collect();
            let expected = if expected.is_empty() { None } else { Some(expected) };
            assert_eq!(read(text, Around::Brackets), expected, "{text}");
        }
        for (text, count) in [
            ("f()", Some(1)),
            ("\nf()\n\n g( a=1,\n b='\\n')\n", Some(2)),
            ("f() g()", None),
            ("f(), g()", None),
            ("f()\n,g()", None),
            ("[f()]", None),
            ("f()]", None),
            ("f()\nf", None),
            ("\n", None),
        ] {
            let calls = read(text, Around::Lines);
            assert_eq!(calls.map(|calls| calls.len()), count, "{text}");
        }
        let one = read("brave.call(query=\"x\")", Around::Nothing).unwrap();
        assert_eq!(one[0].0, "brave.call");
    }

    #[test]
    fn other_text_is_no_call() {
        for text in [
            "[]",
            "[1]",
            "[f]",
            "[f(1)]",
            "[f(a)]",
            "[f(a=g())]",
            "[f(a=1 b=2)]",
            "[f(a=1)",
            "[f(a='x",
            "[f(a=1, a=2)]",
            "[f(a={'k': 1, 'k': 2})]",
            "[f(a=(1, 2))]",
            "[f(a='x\ny')]",
            "[f()](x)",
            "[f(a=1+2)]",
            "[f(a='\\ud83d')]",
            "[f(a='\\ud83dx')]",
            "[f.()]",
            "[f(a=x)]",
            "[f(**a)]",
            "[f(a=[1})]",
            "[f(a={1: 2})]",
            "[f(a='\\xzz')]",
            "[f(a='\\Uffffffff')]",
            "[,f()]",
        ] {
            assert_eq!(read(text, Around::Brackets), None, "{text}");
        }
        let deep = ["[f(a=", &"[".repeat(200), &"]".repeat(200), ")]"].concat();
        assert_eq!(read(&deep, Around::Brackets), None);
    }
}
