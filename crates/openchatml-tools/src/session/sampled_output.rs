//! The output of a model, with the ids that it sampled.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use openchatml::{Conversation, Format, Message, ReadOptions, Role};

use super::model::Model;

/// What a model said, in the ids in which it said it.
///
/// A model may write a header, or a word, otherwise than we would. A server remembers what it has
/// read and said as far as the next prompt begins with the same ids, so what was sampled is sent
/// again as it was. A transcript does not keep that: it is the session that remembers.
#[derive(Debug, Default)]
pub(super) struct SampledOutput {
    messages: Vec<Message<'static>>,
    /// The prompt of the last completion, and the completion.
    ids: Vec<u32>,
    /// How much of them is the prompt, or was read.
    prompt: usize,
}

impl SampledOutput {
    /// Takes note of a prompt. How many ids it begins with that the server has seen.
    pub(super) fn ask(&mut self, prompt: &[u32]) -> usize {
        let shared = self.ids.iter().zip(prompt).take_while(|(one, two)| one == two).count();
        self.ids = prompt.to_vec();
        self.prompt = prompt.len();
        shared
    }

    /// Takes note of ids that the model said.
    pub(super) fn push_output(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
    }

    /// Takes note of the end of a completion, which is read with these options. How many ids it and its prompt are.
    pub(super) fn end(&mut self, model: &Model, options: &ReadOptions) -> u64 {
        let said = &self.ids[self.prompt..];
        let is_empty = said.is_empty();
        if let Some(tokenizer) = model.tokenizer() {
            let read = tokenizer.parse(said, options).with_ids(said).into_conversation();
            let is_certain = |message: &Message<'_>| !message.recovered && !message.foreign;
            self.messages.extend(read.messages.into_iter().filter(is_certain));
        }
        self.prompt = self.ids.len();
        match is_empty {
            true => 0,
            false => u64::try_from(self.ids.len()).unwrap_or(u64::MAX),
        }
    }

    /// Gives the messages of a conversation the ids in which they were sampled, to be written in this
    /// format. A transcript may not keep the channel of a call, the type of its arguments, or that a text
    /// for the user is not the answer: messages that differ in this only are the same.
    pub(super) fn tell(&self, conversation: &mut Conversation<'_>, format: Format) {
        let has_ids = format.carries().call_ids;
        let mut places: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (place, message) in self.messages.iter().enumerate() {
            places.entry(hash(message)).or_default().push_back(place);
        }
        for message in &mut conversation.messages {
            if message.role != Role::Assistant {
                continue;
            }
            let Some(places) = places.get_mut(&hash(message)) else { continue };
            let found = std::iter::from_fn(|| places.pop_front()).find_map(|place| {
                let found = &self.messages[place];
                let is_same = same(found) == same(message)
                    && found.body == message.body
                    && (!has_ids || found.call_id == message.call_id);
                is_same.then(|| found.clone())
            });
            if let Some(mut found) = found {
                // In a history `<|return|>` is `<|end|>`.
                (found.end, found.weight) = (message.end, message.weight);
                if !has_ids {
                    found.call_id.clone_from(&message.call_id);
                }
                *message = found;
            }
        }
    }
}

/// What every transcript keeps of a header: the tool that is called, or whether the message is reasoning.
fn same<'m>(message: &'m Message<'_>) -> (Option<&'m str>, bool) {
    let recipient = message.recipient.as_deref();
    (recipient, recipient.is_none() && message.is_reasoning())
}

fn hash(message: &Message<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (same(message), message.body.text()).hash(&mut hasher);
    hasher.finish()
}
