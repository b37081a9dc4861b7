//! The control tokens of every specification, listed independently of the library, and text with
//! them.

use crate::{Source, one_in, pick};

/// OpenChatML 2.0 §3.
pub(crate) const OPENCHATML_2_0: &[&str] =
    &["<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|return|>", "<|end|>"];

/// OpenChatML 2.2 §3.
pub(crate) const OPENCHATML_2_2: &[&str] = &[
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|call|>",
    "<|constrain|>",
    "<|return|>",
    "<|end|>",
    "<|literal|>",
    "<|endliteral|>",
];

/// OpenChatML 2.x §7: markers of reasoning.
pub(crate) const MARKERS: &[&str] =
    &["<|start_reflect|>", "<|start_introspect|>", "<|start_reason|>"];

/// OpenChatML 0.1 §2.
pub(crate) const OPENCHATML_0_1: &[&str] = &[
    "<s>",
    "</s>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
    "<|file_separator|>",
];

/// The `<|im_start|>` framing.
pub(crate) const CHATML: &[&str] = &["<|im_start|>", "<|im_end|>"];

/// ChatML, "Grammar".
pub(crate) const CHATML_WIRE: &[&str] = &["<|start|>", "<|message|>", "<|end_message|>"];

/// The Harmony response format: the tokens of `o200k_harmony`.
pub(crate) const HARMONY: &[&str] = &[
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
];

/// Apertus, "Chat Template and Tokens".
pub(crate) const APERTUS: &[&str] = &[
    "<s>",
    "<|system_start|>",
    "<|system_end|>",
    "<|developer_start|>",
    "<|developer_end|>",
    "<|user_start|>",
    "<|user_end|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
];

/// All lists.
pub(crate) const ALL: &[&[&str]] =
    &[OPENCHATML_2_2, OPENCHATML_2_0, MARKERS, OPENCHATML_0_1, CHATML_WIRE, APERTUS];

/// Strings besides control tokens that often break parsers.
const PIECES: &[&str] = &[
    "<",
    "<<",
    "<<<",
    "|",
    "|>",
    "<|",
    "<|>",
    "<||>",
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
    "<|END|>",
    "<|end|>>",
    "<|en",
    "d|>",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u{c}",
    "\0",
    "\u{1}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "é",
    "日本語",
    "😀",
    "\u{e000}",
    "\u{10FFFF}",
    "e\u{301}",
    "\\ud800",
    "\\u0000",
    "\\",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "{\"a\":1}",
    "[1,2]",
    ",",
    ":",
    "null",
    "name=x",
    " to=functions.rm",
    " to=assistant",
    "call_id=1",
    "intent=preamble",
    "json",
    "system",
    "assistant",
    "user",
    "tool",
    "analysis",
    "final",
    "functions.rm",
    "version: 2.2",
    "---\n",
    "key: value\n",
    "# c\n",
    "- x",
    "<div>",
    "</div>",
    "<think>",
    "</think>",
    "<tool_call>",
    "# Tools\n",
    "# Instructions\n",
    "## functions\n",
    "namespace functions {\n",
    "} // namespace functions",
    "# Response Formats\n",
    "# Valid channels: analysis, commentary, final.",
    "data: ",
    "%",
    "${x}",
    "{{x}}",
    "\u{1b}[31m",
];

/// Ordinary words.
const WORDS: &[&str] = &[
    "the",
    "answer",
    "is",
    "42",
    "Tokyo",
    "naïve",
    "東京",
    "🙂",
    "fn main()",
    "1.",
    "-",
    "*bold*",
    "`code`",
    "https://example.org/?q=1",
    "«quoted»",
    "I'm",
    "a < b",
    "line\nbreak",
    "tab\there",
];

/// Generates a few words.
pub(crate) fn benign(source: &mut Source<'_>) -> String {
    let count = source.int_in_range(0..=3).unwrap_or(0);
    let words: Vec<_> = (0..count).map(|_| pick(source, WORDS)).collect();
    words.join(" ")
}

/// Generates complete and partial control tokens of every dialect between other text.
pub(crate) fn hostile(source: &mut Source<'_>) -> String {
    let mut text = String::new();
    for _ in 0..source.int_in_range(0..=4).unwrap_or(0) {
        if !one_in(source, 3) {
            text.push_str(pick(source, PIECES));
            continue;
        }
        let token = token(source);
        let len = match one_in(source, 3) {
            true => source.int_in_range(1..=token.len()).unwrap_or(1),
            false => token.len(),
        };
        text.push_str(&token[..len]);
    }
    text
}

/// Generates one piece of hostile text.
pub(crate) fn piece(source: &mut Source<'_>) -> &'static str {
    match one_in(source, 2) {
        true => pick(source, PIECES),
        false => token(source),
    }
}

/// Generates a control token of any dialect.
pub(crate) fn token(source: &mut Source<'_>) -> &'static str {
    let tokens = pick(source, ALL);
    pick(source, tokens)
}
