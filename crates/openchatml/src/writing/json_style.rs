//! The white space of JSON.

/// The white space of JSON: that of an existing file, or one that is easy to read.
///
/// ```
/// use openchatml::render::JsonStyle;
///
/// let json = r#"{"messages":[{"role":"user","content":"1, 2"}]}"#;
/// assert_eq!(JsonStyle::COMPACT.apply(json), json);
/// let spaced = r#"{"messages": [{"role": "user", "content": "1, 2"}]}"#;
/// assert_eq!(JsonStyle::of(spaced).apply(json), spaced);
/// assert_eq!(JsonStyle::indented(2).apply("[1,{}]"), "[\n  1,\n  {}\n]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonStyle {
    /// The indentation of one level, or `None` for JSON on one line.
    indent: Option<String>,
    /// Whether lines end with `\r\n`.
    carriage_returns: bool,
    /// Whether a space follows each colon, and each comma on the same line.
    colon: bool,
    comma: bool,
}

impl JsonStyle {
    /// Everything on one line, without white space.
    pub const COMPACT: Self =
        Self { indent: None, carriage_returns: false, colon: false, comma: false };

    /// Each value on its own line, indented by this number of spaces per level.
    pub fn indented(spaces: usize) -> Self {
        Self { indent: Some(" ".repeat(spaces)), colon: true, ..Self::COMPACT }
    }

    /// Detects the style of a JSON text from its beginning: whether its first value is on its own
    /// line, and what follows the first colon and the first comma.
    pub fn of(json: &str) -> Self {
        let json = json.trim_start_matches('\u{feff}').trim_ascii_start();
        let mut style = Self::COMPACT;
        let Some(inside) = json.strip_prefix(['{', '[']) else { return style };
        let blank = &inside[..inside.len() - inside.trim_ascii_start().len()];
        style.indent = blank.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        style.carriage_returns = json.contains("\r\n");
        let mut tokens = Tokens(inside).peekable();
        let (mut colon, mut comma) = (None, None);
        while let Some(token) = tokens.next() {
            let mut is_spaced = || tokens.peek().is_some_and(|it| it.starts_with(' '));
            match token {
                ":" if colon.is_none() => colon = Some(is_spaced()),
                "," if comma.is_none() => comma = Some(is_spaced()),
                _ if colon.is_some() && comma.is_some() => break,
                _ => {}
            }
        }
        style.colon = colon.unwrap_or(false);
        style.comma = comma.unwrap_or(style.colon) && !style.breaks(2);
        style
    }

    /// Writes JSON in this style. Text that is not JSON is written token by token.
    pub fn apply(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len() * 2);
        let mut depth: usize = 0;
        let is_blank = |token: &&str| !token.trim_ascii().is_empty();
        let mut tokens = Tokens(json).filter(is_blank).peekable();
        while let Some(token) = tokens.next() {
            match token {
                "{" | "[" => {
                    out.push_str(token);
                    match tokens.next_if(|next| matches!(*next, "}" | "]")) {
                        Some(close) => out.push_str(close),
                        None => {
                            depth += 1;
                            self.break_line(depth, &mut out);
                        }
                    }
                }
                "}" | "]" => {
                    if self.breaks(depth) {
                        self.break_line(depth.saturating_sub(1), &mut out);
                    }
                    depth = depth.saturating_sub(1);
                    out.push_str(token);
                }
                "," => {
                    out.push_str(if self.comma && !self.breaks(depth) { ", " } else { "," });
                    self.break_line(depth, &mut out);
                }
                ":" => out.push_str(if self.colon { ": " } else { ":" }),
                token => out.push_str(token),
            }
        }
        out
    }

    /// Returns the line break.
    pub fn line_break(&self) -> &'static str {
        if self.carriage_returns { "\r\n" } else { "\n" }
    }

    /// Whether values at this depth are on their own lines. Without an indentation, only those in
    /// the outermost list or object are: one message per line.
    fn breaks(&self, depth: usize) -> bool {
        self.indent.as_ref().is_some_and(|indent| depth <= 1 || !indent.is_empty())
    }

    fn break_line(&self, depth: usize, out: &mut String) {
        let Some(indent) = self.indent.as_ref().filter(|_| self.breaks(depth)) else { return };
        out.push_str(self.line_break());
        out.extend(std::iter::repeat_n(indent.as_str(), depth));
    }
}

/// The tokens of JSON: punctuation, strings, white space, and other text.
struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.0.as_bytes();
        let end = match *bytes.first()? {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            b'"' => string_end(bytes),
            first => {
                let is_blank = first.is_ascii_whitespace();
                let ends = |byte: &u8| {
                    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"')
                        || byte.is_ascii_whitespace() != is_blank
                };
                bytes.iter().position(ends).unwrap_or(bytes.len())
            }
        };
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

/// Returns the end of the string that begins here.
fn string_end(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // An escaped quotation mark does not end the string.
        at += bytes.get(at).map_or(0, |byte| usize::from(byte.is_ascii()));
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::JsonStyle;

    const JSON: &str = r#"{"a":[1,{"b":"x\",:{}\\"}],"c":[],"d":{}}"#;

    #[test]
    fn a_style_is_seen_and_applied() {
        let cases = [
            JSON.to_owned(),
            r#"{"a": [1, {"b": "x\",:{}\\"}], "c": [], "d": {}}"#.to_owned(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\\\",:{}\\\\\"\n    }\n  ],\n  \
                \"c\": [],\n  \"d\": {}\n}"
                .to_owned(),
            "{\n\t\"a\":[\n\t\t1,\n\t\t{\n\t\t\t\"b\":\"x\\\",:{}\\\\\"\n\t\t}\n\t],\n\t\
                \"c\":[],\n\t\"d\":{}\n}"
                .to_owned(),
        ];
        for laid_out in &cases {
            let style = JsonStyle::of(laid_out);
            for json in &cases {
                assert_eq!(style.apply(json), *laid_out, "{json}");
            }
        }
    }

    #[test]
    fn a_message_a_line_stays_so() {
        let json = r#"[{"role":"user","parts":[1,2]},{"role":"user"}]"#;
        let lines = "[\r\n{\"role\": \"user\", \"parts\": [1, 2]},\r\n{\"role\": \"user\"}\r\n]";
        assert_eq!(JsonStyle::of(lines).apply(json), lines);
        assert_eq!(JsonStyle::COMPACT.apply(lines), json);
    }

    #[test]
    fn no_text_is_cut() {
        for text in ["", "\"", "\"\\", "\"\\é", "{é\"ü\\ö", "[1, 2", "nul é,:"] {
            let style = JsonStyle::of(text);
            let blank = |text: &str| text.replace([' ', '\n'], "");
            assert_eq!(blank(&style.apply(text)), blank(text));
            assert_eq!(blank(&JsonStyle::indented(2).apply(text)), blank(text));
        }
    }
}
