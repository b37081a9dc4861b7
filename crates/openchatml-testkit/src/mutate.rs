//! Realistic damage to text.

use crate::{Source, pick, text};

/// Damages `text`.
pub fn mutate(source: &mut Source<'_>, text: &str) -> String {
    let mut out = text.to_owned();
    for _ in 0..source.int_in_range(1..=3).unwrap_or(1) {
        let at = place(source, &out);
        let end = place(source, &out).max(at);
        match source.int_in_range(0..=5).unwrap_or(0) {
            0 => out.truncate(at),
            1 => out.insert_str(at, &text::hostile(source)),
            2 => out.replace_range(at..end.min(boundary(&out, at + 12)), ""),
            3 => {
                let copy = out[at..end.min(boundary(&out, at + 64))].to_owned();
                out.insert_str(at, &copy);
            }
            4 => out
                .insert_str(at, pick(source, &["<|start|>", "<|end|>", "<|message|>", "\n", "\0"])),
            _ => {
                let tail = out.split_off(at);
                out.insert_str(0, &tail);
            }
        }
    }
    out
}

fn place(source: &mut Source<'_>, text: &str) -> usize {
    let at = source.int_in_range(0..=text.len()).unwrap_or(0);
    boundary(text, at)
}

fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
