//! A list of calls in the syntax of Python: `[weather(city="Paris")]`.
//!
//! The grammar is strict: keyword arguments only, no trailing comma, and no repeated names.

use openchatml::{Data, Value};

use super::python::string;

/// The maximum nesting depth of lists and dicts.
const DEEPEST: usize = 100;

/// The largest integer that each implementation of JSON reads exactly.
const LARGEST: u64 = (1 << 53) - 1;

type Parsed = Result<Value<'static>, String>;

/// Parses a list of calls as a list of `{"name": …, "arguments": {…}}`.
pub(super) fn parse(text: &str) -> Parsed {
    let mut reader = Reader { text, at: 0 };
    reader.expect('[')?;
    let calls = reader.items(']', Reader::call)?;
    reader.space();
    match reader.rest().is_empty() {
        true => Ok(Data::List(calls).into()),
        false => Err(reader.wrong("the end of the text")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

type Entry = (String, Value<'static>);

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn wrong(&self, expected: &str) -> String {
        format!("invalid list of calls: {expected} is required at byte {}", self.at)
    }

    fn space(&mut self) {
        self.at +=
            self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn is_at(&mut self, c: char) -> bool {
        self.space();
        self.rest().starts_with(c)
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if !self.is_at(c) {
            return Err(self.wrong(&format!("`{c}`")));
        }
        self.at += 1;
        Ok(())
    }

    fn items<T>(
        &mut self,
        close: char,
        item: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut out = Vec::new();
        if self.is_at(close) {
            self.at += 1;
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.is_at(close) {
                self.at += 1;
                return Ok(out);
            }
            self.expect(',')?;
        }
    }

    fn call(&mut self) -> Parsed {
        let name = self.name("the name of a function")?;
        self.expect('(')?;
        let arguments = self.items(')', |reader| {
            let name = reader.name("the name of an argument")?;
            reader.expect('=')?;
            Ok((name, reader.value(0)?))
        })?;
        let arguments = mapping(arguments)?;
        Ok(Data::Map(vec![("name".into(), string(&name)), ("arguments".into(), arguments)]).into())
    }

    fn name(&mut self, what: &str) -> Result<String, String> {
        self.space();
        let name = word(self.rest()).ok_or_else(|| self.wrong(what))?;
        self.at += name.len();
        Ok(name.to_owned())
    }

    fn value(&mut self, depth: usize) -> Parsed {
        self.space();
        match self.rest().chars().next() {
            Some('\'' | '"') => self.string().map(|text| string(&text)),
            Some('[' | '{') if depth == DEEPEST => Err(self.wrong("less nesting")),
            Some('[') => {
                self.at += 1;
                self.items(']', |reader| reader.value(depth + 1)).map(|it| Data::List(it).into())
            }
            Some('{') => {
                self.at += 1;
                mapping(self.items('}', |reader| reader.pair(depth + 1))?)
            }
            Some('-' | '0'..='9') => self.number(),
            _ => self.constant(),
        }
    }

    fn pair(&mut self, depth: usize) -> Result<Entry, String> {
        self.space();
        let key = self.string()?;
        self.expect(':')?;
        Ok((key, self.value(depth)?))
    }

    fn constant(&mut self) -> Parsed {
        let word = word(self.rest()).unwrap_or_default();
        let data = match word {
            "True" | "true" => Data::Bool(true),
            "False" | "false" => Data::Bool(false),
            "None" | "null" => Data::Null,
            _ => return Err(self.wrong("a string, number, list, dict, True, False or None")),
        };
        self.at += word.len();
        Ok(data.into())
    }

    fn number(&mut self) -> Parsed {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let whole = match rest.as_bytes().get(sign) {
            Some(b'0') => sign + 1,
            _ => sign + digits(sign),
        };
        if whole == sign {
            return Err(self.wrong("a number"));
        }
        let mut end = whole;
        if rest[end..].starts_with('.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let signed = end + 1 + usize::from(rest[end + 1..].starts_with(['+', '-']));
            if digits(signed) > 0 {
                end = signed + digits(signed);
            }
        }
        let spelled = &rest[..end];
        let is_in_range = match end == whole {
            true => rest[sign..end].parse::<u64>().is_ok_and(|it| it <= LARGEST),
            false => spelled.parse::<f64>().is_ok_and(f64::is_finite),
        };
        if !is_in_range {
            return Err(self.wrong("a smaller number"));
        }
        self.at += end;
        Ok(Data::Number(spelled.to_owned().into()).into())
    }

    fn string(&mut self) -> Result<String, String> {
        let mut chars = self.rest().chars();
        let quote = chars.next().filter(|c| matches!(c, '\'' | '"'));
        let quote = quote.ok_or_else(|| self.wrong("a string"))?;
        let mut out = String::new();
        loop {
            match chars.next() {
                None | Some('\n' | '\r') => return Err(self.wrong("a complete string")),
                Some('\\') => {
                    let c = escaped(&mut chars);
                    out.push(c.ok_or_else(|| self.wrong("a string with known escapes"))?);
                }
                Some(c) if c == quote => break,
                Some(c) => out.push(c),
            }
        }
        self.at = self.text.len() - chars.as_str().len();
        Ok(out)
    }
}

/// Reads an escape after its backslash.
fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        c @ ('\\' | '\'' | '"' | '/') => c,
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let unit = unit(chars)?;
            if let Some(c) = char::from_u32(unit) {
                return Some(c);
            }
            chars.as_str().starts_with("\\u").then(|| chars.nth(1))?;
            let low = self::unit(chars)?;
            let is_pair = (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low);
            is_pair
                .then(|| 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
                .and_then(char::from_u32)?
        }
        _ => return None,
    })
}

/// Reads four hexadecimal digits.
fn unit(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit * 16 + chars.next()?.to_digit(16)?))
}

fn mapping(entries: Vec<Entry>) -> Parsed {
    let mut names = std::collections::HashSet::new();
    if let Some((name, _)) = entries.iter().find(|(name, _)| !names.insert(name.as_str())) {
        return Err(format!("invalid list of calls: repeated name `{name}`"));
    }
    Ok(Data::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()).into())
}

/// Returns the name that a text begins with: words with `-` or `.` between them.
fn word(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let is_word =
        |at: usize| bytes.get(at).is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_');
    if !is_word(0) || bytes[0].is_ascii_digit() {
        return None;
    }
    let mut end = 1;
    while is_word(end) || matches!(bytes.get(end), Some(b'-' | b'.')) && is_word(end + 1) {
        end += 1;
    }
    Some(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn calls_are_read() {
        let cases = [
            ("[]", "[]"),
            (" [ f() ] ", r#"[{"name":"f","arguments":{}}]"#),
            (
                r#"[a.b-c(x="é\n\u00e9\ud83d\ude00", y=[1,-2.5e3,{'k': None}], z=True), g(q='"')]"#,
                r#"[{"name":"a.b-c","arguments":{"x":"é\né😀","y":[1,-2.5e3,{"k":null}],"z":true}},{"name":"g","arguments":{"q":"\""}}]"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).map(|it| it.to_json()).as_deref(), Ok(expected), "{text}");
        }
        let bad = [
            "",
            "f()",
            "[f]",
            "[f(1)]",
            "[f(x=1,)]",
            "[f(x=1,x=2)]",
            "[f(x=01)]",
            "[f(x=1e999)]",
            "[f(x=9007199254740992)]",
            r#"[f(x="\ud83d")]"#,
            r#"[f(x="\q")]"#,
            "[f(x='a\n')]",
            "[f()] x",
            "[f(x=é)]",
            "[f(x={1:2})]",
        ];
        for text in bad {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = format!("[f(x={}{})]", "[".repeat(101), "]".repeat(101));
        assert!(parse(&deep).is_err());
    }
}
