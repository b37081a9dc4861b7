//! Conversations in the Harmony text that all parsers accept.

use openchatml::{Conversation, End, Message, Role};
use openchatml_bench::clock::Load;

/// Texts that are parsed one by one.
#[derive(Default)]
pub struct Texts {
    pub texts: Vec<String>,
    pub load: Load,
}

impl Texts {
    /// Returns whole conversations as in the context of a model.
    pub fn transcripts(conversations: &[Conversation<'_>]) -> Self {
        let mut all = Self::default();
        for conversation in conversations {
            let mut text = String::new();
            for message in &conversation.messages {
                text.push_str("<|start|>");
                write(message, &mut text);
            }
            all.push(text, conversation.messages.len());
        }
        all
    }

    /// Returns the completions in the conversations: reasoning and the following call or answer,
    /// from after `<|start|>assistant` to the stop token.
    pub fn completions(conversations: &[Conversation<'_>]) -> Self {
        let mut all = Self::default();
        let mut text = String::new();
        let mut count = 0;
        let messages = conversations.iter().flat_map(|conversation| &conversation.messages);
        for message in messages.filter(|message| message.role == Role::Assistant) {
            text.push_str("<|start|>");
            write(message, &mut text);
            count += 1;
            if matches!(message.end, End::Call | End::Return) {
                let completion = text.strip_prefix("<|start|>assistant");
                all.push(completion.expect("the assistant wrote it").to_owned(), count);
                text.clear();
                count = 0;
            }
        }
        all
    }

    fn push(&mut self, text: String, messages: usize) {
        self.load.bytes += text.len();
        self.load.messages += messages;
        self.texts.push(text);
    }
}

/// Writes a message like gpt-oss: the recipient of a call follows the channel, and there is no
/// `call_id`, which Harmony does not have. A body must not end with `<`: in OpenChatML 2.2 this
/// would escape the following token, and Harmony has no escape.
fn write(message: &Message<'_>, text: &mut String) {
    let to = |text: &mut String| {
        if let Some(recipient) = &message.recipient {
            text.push_str(" to=");
            text.push_str(recipient);
        }
    };
    match &message.name {
        Some(tool) => {
            text.push_str(tool);
            to(text);
        }
        None => text.push_str(message.role.as_str()),
    }
    if let Some(channel) = message.channel {
        text.push_str("<|channel|>");
        text.push_str(channel.as_str());
    }
    if message.name.is_none() {
        to(text);
    }
    if let Some(kind) = &message.content_type {
        text.push_str(" <|constrain|>");
        text.push_str(kind);
    }
    text.push_str("<|message|>");
    text.push_str(message.body.text().trim_end_matches('<'));
    text.push_str(match message.end {
        End::Call => "<|call|>",
        End::Return => "<|return|>",
        _ => "<|end|>",
    });
}
