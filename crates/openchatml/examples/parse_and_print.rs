//! Reads a conversation in any format, and prints its messages and what is malformed.
//!
//! ```sh
//! cargo run -p openchatml --example parse_and_print -- examples/broken.ocml
//! ```

#![allow(clippy::print_stdout, reason = "it is an example")]

use std::error::Error;

use openchatml::{Lines, Policy, ReadOptions, Visibility, detect, parse};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: parse_and_print FILE")?;
    let text = std::fs::read_to_string(&path)?;

    // The most likely format comes first. If you know the format, name it: `Format::HARMONY`.
    let candidates = detect(&text);
    let best = candidates.first().filter(|best| best.is_certain());
    let best = best.ok_or("cannot detect the format")?;
    println!("{path}: {}", best.format);

    // A raw completion begins inside of a message of the assistant, where the prompt ended.
    let options = match best.is_completion {
        true => ReadOptions::completion(),
        false => ReadOptions::default(),
    };

    // Parsing never fails. The diagnostics say what is malformed, and where.
    let parsed = parse(&text, best.format, &options);
    let lines = Lines::new(&text);
    for found in &parsed.diagnostics {
        let at = lines.locate(found.span.start);
        println!(
            "{path}:{}:{}: {}[{}]: {}",
            at.line, at.column, found.severity, found.code, found.message
        );
    }

    // `debug_view` returns all messages, and tells which of them a user may see. For users, call
    // `Policy::view`: its type contains no hidden text.
    let conversation = parsed.into_conversation();
    for shown in Policy::default().debug_view(&conversation) {
        let message = shown.message;
        let mark = match shown.visibility {
            Visibility::User => "",
            Visibility::Hidden => " (hidden)",
        };
        // The reader guessed a part of a recovered message, so nothing should run or rely on it.
        let kind = match message {
            uncertain if uncertain.recovered => "uncertain message",
            call if call.is_call() => "call",
            reasoning if reasoning.is_reasoning() => "reasoning",
            _ => "message",
        };
        println!("\n{} {kind}{mark}\n  {}", message.role, message.body.text());
        if let Some(recipient) = &message.recipient {
            println!("  to {recipient}");
        }
    }
    Ok(())
}
