//! Hostile and ordinary text.

use openchatml::dialects;

use crate::{Source, one_in, pick};

/// The pieces of hostile text besides control tokens.
const PIECES: &[&str] = &[
    "<",
    "<<",
    "<<<",
    "|",
    "|>",
    "<|",
    "<|>",
    "<||>",
    "a",
    "word",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u{c}",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "日本語",
    "😀",
    "\u{10FFFF}",
    "e\u{301}",
    "\\ud800",
    "\\u0000",
    "\"",
    "\\",
    "'",
    "{\"a\":1}",
    "[1,2]",
    "}",
    "{",
    "name=x",
    " to=functions.rm",
    "call_id=1",
    "system",
    "assistant",
    "user",
    "version: 2.2",
    "---\n",
    "key: value\n",
    "# c\n",
    "<div>",
    "</div>",
    "a < b",
    "<|im_",
    "<|start",
    "|start|>",
    "<|channel|",
    "<|endliteral|",
    "<|unknown|>",
    "<|start |>",
    "<| start|>",
    "＜|start|＞",
    "&lt;|start|&gt;",
    "%",
    "${x}",
    "{{x}}",
    "\u{1b}[31m",
];

/// Generates text with complete and partial control tokens of every dialect.
pub fn hostile(source: &mut Source<'_>) -> String {
    let mut text = String::new();
    let pieces = match source.int_in_range(0..=7).unwrap_or(0) {
        0 => 0,
        n => source.int_in_range(0..=2 * n).unwrap_or(0),
    };
    for _ in 0..pieces {
        if one_in(source, 3) {
            let dialect = pick(source, dialects::ALL);
            let entries = dialect.controls.entries();
            if entries.is_empty() {
                continue;
            }
            let spelling = pick(source, entries).1;
            let len = if one_in(source, 3) {
                source.int_in_range(1..=spelling.len()).unwrap_or(1)
            } else {
                spelling.len()
            };
            text.push_str(&spelling[..spelling.ceil_char_boundary(len)]);
        } else {
            text.push_str(pick(source, PIECES));
        }
    }
    text
}

/// Generates ordinary text.
pub fn benign(source: &mut Source<'_>) -> String {
    const WORDS: &[&str] = &[
        "the",
        "answer",
        "is",
        "42",
        "Tokyo",
        "naïve",
        "東京",
        "🙂",
        "x",
        "fn main()",
        "if a",
        "b",
        "1.",
        "-",
        "*bold*",
        "`code`",
        "https://example.org/?q=1",
        "\n",
        "\n\n",
        "«quoted»",
        "I'm",
    ];
    let count = source.int_in_range(0..=12).unwrap_or(0);
    (0..count).map(|_| format!("{} ", pick(source, WORDS))).collect()
}

/// Generates a value for a header.
pub fn value(source: &mut Source<'_>) -> String {
    const VALUES: &[&str] = &[
        "x",
        "wx1",
        "call_1",
        "functions.get_weather",
        "functions.a-b_c",
        "browser.search",
        "python",
        "a=b",
        "to=x",
        "name=",
        "<",
        "<|",
        "|>",
        "\"q\"",
        "é",
        "日本",
        "😀",
        "a.b.c",
        "=",
        "json",
        "text/plain",
        "example_user",
        "assistant",
        "#",
        "{}",
        "a,b",
    ];
    let mut value = String::new();
    for _ in 0..source.int_in_range(1..=2).unwrap_or(1) {
        value.push_str(pick(source, VALUES));
    }
    value
}

/// Generates a JSON value, sometimes with hostile strings.
pub fn json(source: &mut Source<'_>) -> String {
    const VALUES: &[&str] = &[
        "{}",
        "[]",
        "null",
        "true",
        "0",
        "-1.50e+10",
        "1e400",
        "\"\"",
        "{\"location\":\"Tokyo\"}",
        "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
        " { \"a\" : 1 } ",
        "\"\\u003c|end|>\"",
        "[\"é😀\"]",
        "{\"deadline_ms\":100}",
        "\"\\n\"",
    ];
    (pick(source, VALUES)).to_owned()
}

/// Generates arguments as they are read from parameters, with sorted keys.
pub fn parameters(source: &mut Source<'_>) -> String {
    const VALUES: &[&str] = &[
        "{}",
        "{\"city\": \"Paris\", \"days\": 3}",
        "{\"a\": 1, \"b\": [1, {\"c\": null}]}",
        "{\"code\": \"def f():\\n    return 1\\n\"}",
        "{\"q\": \"a </parameter> b\", \"r\": \"</function>\"}",
        "{\"is\": true, \"none\": null, \"not\": false}",
        "{\"s\": \"\\n\"}",
        "{\"\": \" a \", \"s\": \"\"}",
        "{\"s\": \"é😀\\t\\\"\\\\\"}",
        "{\"x\": -1.50e+10, \"y\": 1e400}",
        "{\"deadline_ms\": 100}",
        "{\"s\": \"<|end|>\"}",
        "{\"s\": \"x <parameter=x>\"}",
        "{\"s\": \"<\", \"t\": \"\\n\\n<\"}",
    ];
    pick(source, VALUES).to_owned()
}
