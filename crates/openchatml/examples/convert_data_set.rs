//! Converts a data set line by line. Lines that are malformed, that occur twice, or that the target
//! cannot express are rejected with the reasons.
//!
//! ```sh
//! cargo run -p openchatml --example convert_data_set -- chatml examples/mixed.jsonl \
//!     > converted.jsonl 2> rejected.jsonl
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is an example")]

use std::collections::HashSet;
use std::error::Error;

use openchatml::{
    Carrier, Format, ReadOptions, RenderOptions, convert, detect_records, lint, parse,
};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let [to, path] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(
        |_| "usage: convert_data_set FORMAT FILE.jsonl > converted.jsonl 2> rejected.jsonl",
    )?;
    let to: Format = to.parse()?;
    let text = std::fs::read_to_string(path)?;

    // The format of the data set is the format of most of its lines.
    let candidates = detect_records(text.lines());
    let from = candidates.first().ok_or("cannot detect the format of the lines")?.format;

    let mut seen = HashSet::new();
    for (index, line) in text.lines().enumerate() {
        match converted(line, from, to, &mut seen) {
            Ok(record) => println!("{record}"),
            Err(reasons) => {
                let rejected = json!({"line": index + 1, "reasons": reasons, "record": line});
                eprintln!("{rejected}");
            }
        }
    }
    Ok(())
}

/// Returns the line in the other format, or the reasons why it is rejected.
fn converted(
    line: &str,
    from: Format,
    to: Format,
    seen: &mut HashSet<u128>,
) -> Result<String, Vec<String>> {
    let parsed = parse(line, from, &ReadOptions::default());
    if parsed.has_errors() {
        return Err(parsed.diagnostics.iter().map(ToString::to_string).collect());
    }

    // Two conversations with the same messages have the same fingerprint.
    if !seen.insert(lint::fingerprint(&parsed.document)) {
        return Err(vec!["the conversation occurs twice".to_owned()]);
    }

    // Content that spells a control token of the target is an error, if the target has no escape.
    // Every other part that the target cannot express is a loss.
    let converted = convert::convert(&parsed.document, to, &RenderOptions::default());
    let converted = converted.map_err(|error| vec![error.to_string()])?;
    if !converted.losses.is_empty() {
        return Err(converted.losses.iter().map(ToString::to_string).collect());
    }
    Ok(match to.carrier() {
        Carrier::Json => converted.output,
        _ => json!({"text": converted.output}).to_string(),
    })
}
