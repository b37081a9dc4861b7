//! Reads token ids that gpt-oss samples, shows the answer while it arrives, and writes the messages
//! for OpenAI's API.
//!
//! ```sh
//! cargo run -p openchatml-tokens --example stream_to_openai -- examples/completion.ids
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is an example")]

use std::error::Error;
use std::io::Write as _;

use openchatml::{Conversation, Event, Format, ReadOptions, TextFormat, convert};
use openchatml_tokens::{O200kHarmony, Tokenizer};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: stream_to_openai FILE")?;
    let sampled: Vec<u32> = serde_json::from_str(&std::fs::read_to_string(path)?)?;

    // A tokenizer is a pointer: clone it for each request. A stream owns what it needs.
    let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
    let mut stream = tokenizer.stream(&ReadOptions::completion());

    let mut messages = Vec::new();
    let mut stdout = std::io::stdout();
    let mut take = |event: Event<'_>| match event {
        // Only text that a user may see: an answer, or a preamble before a call.
        Event::Delta { text, .. } => {
            print!("{text}");
            let _ = stdout.flush();
        }
        Event::MessageDone { message, .. } => messages.push(message.into_value().into_owned()),
        Event::Diagnostic { diagnostic, .. } => eprintln!("{}", *diagnostic),
        _ => {}
    };
    // In a server, this is the loop over the ids of the model. A character that spans several ids
    // is emitted when it is complete.
    for id in sampled {
        stream.feed_with(&[id], &mut take);
    }
    stream.finish_with(&mut take);
    println!();

    // `foreign` messages are what the model wrote in the name of others, or after its end.
    messages.retain(|message| !message.foreign);
    let completion = Conversation::from_messages(messages).into();
    let openai = convert::convert(&completion, Format::OPENAI, &Default::default())?;
    println!("{}", openai.output);
    for loss in &openai.losses {
        eprintln!("{loss}");
    }
    Ok(())
}
