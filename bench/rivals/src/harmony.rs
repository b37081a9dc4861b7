//! `openai-harmony`: OpenAI's own library, which `dynamo-parsers` is built on.

use openai_harmony::chat::{Content, Message, Role};
use openai_harmony::{HarmonyEncoding, HarmonyEncodingName, load_harmony_encoding};

use crate::answer::{Said, function};

/// A reader, with its vocabulary.
pub struct Harmony(HarmonyEncoding);

impl Harmony {
    /// Loads the vocabulary.
    pub fn load() -> Self {
        let encoding = load_harmony_encoding(HarmonyEncodingName::HarmonyGptOss);
        Self(encoding.expect("the vocabulary was written, and its hash is checked"))
    }

    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.0.tokenizer().encode_with_special_tokens(text)
    }

    /// The messages of a transcript, or of a completion of what `role` began.
    pub fn messages(&self, tokens: &[u32], role: Option<Role>) -> Vec<Message> {
        let tokens = tokens.iter().copied();
        let messages = self.0.parse_messages_from_completion_tokens(tokens, role);
        messages.expect("the texts are well-formed")
    }

    /// What `text` says.
    pub fn said(&self, text: &str, role: Option<Role>) -> Vec<Said> {
        let messages = self.messages(&self.tokens(text), role);
        let said = messages.into_iter().map(|message| Said {
            role: message.author.role.as_str().to_owned(),
            tool: message.author.name.as_deref().map(function),
            recipient: message.recipient,
            channel: message.channel,
            text: message.content.iter().filter_map(text_of).collect(),
        });
        said.collect()
    }
}

fn text_of(content: &Content) -> Option<&str> {
    if let Content::Text(content) = content { Some(&content.text) } else { None }
}
