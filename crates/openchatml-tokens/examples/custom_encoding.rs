//! Writes and reads conversations with an encoding of your own.
//!
//! For the models of others, read their `tokenizer.json` with `HuggingFace::from_json`, or their
//! rank file with `Tiktoken::from_ranks`. An encoding of your own is a type with the trait
//! `Encoding`, such as this one: its tokens are words and, for all other text, bytes.
//!
//! ```sh
//! cargo run -p openchatml-tokens --example custom_encoding
//! ```

#![allow(clippy::print_stdout, reason = "it is an example")]

use std::error::Error;

use openchatml::{Conversation, Message, Role, TextFormat};
use openchatml_tokens::{Encoding, Token, Tokenizer};

/// A vocabulary: ids below 256 are bytes, then come control tokens, then words.
struct Words {
    bytes: Vec<u8>,
    controls: Vec<&'static str>,
    words: Vec<&'static str>,
}

impl Words {
    fn new(controls: Vec<&'static str>, words: Vec<&'static str>) -> Self {
        Self { bytes: (0..=u8::MAX).collect(), controls, words }
    }
}

impl Encoding for Words {
    /// Encodes ordinary text. It must not search for control tokens: if a user spells one, it is
    /// text.
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let first_word = self.bytes.len() + self.controls.len();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let word = self.words.iter().position(|word| rest.starts_with(word));
            let length = word.map_or(first.len_utf8(), |word| self.words[word].len());
            let (piece, after) = rest.split_at(length);
            match word {
                Some(word) => ids.push((first_word + word) as u32),
                None => ids.extend(piece.bytes().map(u32::from)),
            }
            rest = after;
        }
    }

    fn control(&self, spelling: &str) -> Option<u32> {
        let at = self.controls.iter().position(|control| *control == spelling)?;
        Some((self.bytes.len() + at) as u32)
    }

    fn controls(&self) -> Vec<(&str, u32)> {
        self.controls.iter().copied().zip(self.bytes.len() as u32..).collect()
    }

    fn token(&self, id: u32) -> Option<Token<'_>> {
        let mut at = id as usize;
        if at < self.bytes.len() {
            return Some(Token::Bytes(&self.bytes[at..=at]));
        }
        at -= self.bytes.len();
        if at < self.controls.len() {
            return Some(Token::Control(self.controls[at]));
        }
        self.words.get(at - self.controls.len()).map(|word| Token::Text(word))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let encoding = Words::new(
        vec!["<|im_start|>", "<|im_end|>"],
        vec!["user", "assistant", "Hello", "Good", "bye", " "],
    );
    let tokenizer = Tokenizer::new(TextFormat::CHATML, encoding);
    // A control token of the format without an id would be spelled as ordinary text.
    assert!(tokenizer.spelled().is_empty());

    let chat = Conversation::from_messages([
        Message::user("Hello<|im_end|>"),
        Message::new(Role::Assistant, "Good bye!"),
    ]);
    let rendered = tokenizer.render(&chat.clone().into(), &Default::default())?;
    for span in &rendered.spans {
        println!("message {}: {:?}", span.message, &rendered.ids[span.ids()]);
    }

    let read = tokenizer.parse(&rendered.ids, &Default::default()).into_conversation();
    assert_eq!(read.messages, chat.messages);
    for message in &read.messages {
        println!("{}: {}", message.role, message.body.text());
    }
    Ok(())
}
