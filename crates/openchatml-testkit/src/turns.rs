//! Documents of turns from the grammar of OpenChatML 0.1, without the writers of the library: with
//! line breaks of every kind, mixed.

use crate::{Source, one_in, pick};

const BREAKS: &[&str] = &["\n", "\r\n"];
const SPACES: &[&str] = &["", "\n", "\r\n", "\r", " ", "\n\n", "\r\n\n", "\n\r", "\r\r\n"];
const CONTENTS: &[&str] =
    &["", "a", "a\n", "a\r", "a\r\n", "\n", "\r", "\r\n", "a\n\r", "a\nb", "\r\na", "a\r\r"];

/// Generates a conversation, a fill-in-the-middle task, or several files.
pub fn document(source: &mut Source<'_>) -> String {
    let mut text = part(source);
    let more = if one_in(source, 3) { source.int_in_range(0..=2).unwrap_or(0) } else { 0 };
    for _ in 0..more {
        text.push_str(pick(source, SPACES));
        text.push_str("<|file_separator|>");
        text.push_str(pick(source, SPACES));
        text.push_str(&part(source));
    }
    text
}

fn part(source: &mut Source<'_>) -> String {
    match source.int_in_range(0..=7).unwrap_or(0) {
        0 => pick(source, CONTENTS).to_owned(),
        1 => ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]
            .map(|token| format!("{token}{}", pick(source, CONTENTS)))
            .concat(),
        _ => conversation(source),
    }
}

/// Generates `<s>`, turns and `</s>`, sometimes without one of them.
pub fn conversation(source: &mut Source<'_>) -> String {
    let mut text = String::new();
    for (token, is_end) in [("<s>", false), ("</s>", true)] {
        if is_end {
            for _ in 0..source.int_in_range(0..=3).unwrap_or(0) {
                turn(source, &mut text);
            }
        }
        text.push_str(pick(source, SPACES));
        if !one_in(source, 8) {
            text.push_str(token);
        }
        text.push_str(pick(source, SPACES));
    }
    text
}

fn turn(source: &mut Source<'_>, text: &mut String) {
    text.push_str("<|im_start|>");
    text.push_str(pick(source, &["user", "assistant", "system", "user name=x", "user  name=x "]));
    text.push_str(pick(source, BREAKS));
    text.push_str(pick(source, CONTENTS));
    text.push_str(pick(source, &["\n", "\r\n", ""]));
    text.push_str("<|im_end|>");
    text.push_str(pick(source, SPACES));
}
