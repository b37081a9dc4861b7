//! `openai-harmony`: OpenAI's own library, which `dynamo-parsers` is built on.

use openai_harmony::chat::{Content, Message, Role};
use openai_harmony::{
    HarmonyEncoding, HarmonyEncodingName, StreamableParser, load_harmony_encoding,
};
use openchatml::Conversation;

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

    /// Parses a transcript, or a completion that continues a message of `role`.
    pub fn messages(&self, tokens: &[u32], role: Option<Role>) -> Vec<Message> {
        let tokens = tokens.iter().copied();
        let messages = self.0.parse_messages_from_completion_tokens(tokens, role);
        messages.expect("the texts are well-formed")
    }

    /// Converts a conversation of messages with a role and at most a channel.
    pub fn conversation(conversation: &Conversation<'_>) -> Vec<Message> {
        let messages = conversation.messages.iter().map(|message| {
            let role = Role::try_from(message.role.as_str()).expect("a role of Harmony");
            let said = Message::from_role_and_content(role, message.body.text());
            match message.channel {
                Some(channel) => said.with_channel(channel.as_str()),
                None => said,
            }
        });
        messages.collect()
    }

    /// Renders a conversation as ids. Reasoning is omitted if the conversation ends with an answer.
    pub fn render(&self, messages: &[Message]) -> Vec<u32> {
        self.0.render_conversation(messages, None).expect("it can say this")
    }

    /// Streams id by id and requests the new text each time. Returns the number of bytes.
    pub fn stream(&self, ids: &[u32], role: Role) -> usize {
        let stream = StreamableParser::new(self.0.clone(), Some(role));
        let mut stream = stream.expect("it has its tokens");
        let mut said = 0;
        for id in ids {
            stream.process(*id).expect("the ids are well-formed");
            let delta = stream.last_content_delta().expect("the ids are text");
            said += delta.map_or(0, |delta| delta.len());
        }
        said
    }

    /// Returns the messages in `text`.
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
