//! The output of a model, with the ids that it sampled.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use openchatml::{Conversation, Format, Message, ReadOptions, Role};

use super::model::Model;

/// The messages of a model, with the ids that it sampled.
///
/// A model may tokenize a header or a word differently than the encoder. A server caches prompts by
/// their ids, so sampled output is sent again with the same ids. The transcript does not contain
/// the ids, so they are stored here.
#[derive(Debug, Default)]
pub(super) struct SampledOutput {
    messages: Vec<Message<'static>>,
    /// The ids of the last prompt and of its completion.
    ids: Vec<u32>,
    /// The number of these ids that are the prompt or were already read.
    prompt: usize,
}

impl SampledOutput {
    /// Sets the prompt. Returns the number of ids at its beginning that the server has already
    /// processed.
    pub(super) fn ask(&mut self, prompt: &[u32]) -> usize {
        let shared = self.ids.iter().zip(prompt).take_while(|(one, two)| one == two).count();
        self.ids = prompt.to_vec();
        self.prompt = prompt.len();
        shared
    }

    /// Adds ids that the model sampled.
    pub(super) fn push_output(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
    }

    /// Ends a completion and reads its messages with these options. Returns the number of ids of
    /// the completion and its prompt, or 0 if the completion is empty.
    pub(super) fn end(&mut self, model: &Model, options: &ReadOptions) -> u64 {
        let completion = &self.ids[self.prompt..];
        let is_empty = completion.is_empty();
        if let Some(tokenizer) = model.tokenizer() {
            let read =
                tokenizer.parse(completion, options).with_ids(completion).into_conversation();
            let is_certain = |message: &Message<'_>| !message.recovered && !message.foreign;
            self.messages.extend(read.messages.into_iter().filter(is_certain));
        }
        self.prompt = self.ids.len();
        match is_empty {
            true => 0,
            false => u64::try_from(self.ids.len()).unwrap_or(u64::MAX),
        }
    }

    /// Replaces the messages of a conversation by those with the sampled ids, to write them in this
    /// format. A transcript may lose the channel of a call, the type of its arguments, and the
    /// difference between a preamble and an answer. Messages that differ only in these match.
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
                // In a history, `<|end|>` replaces `<|return|>`.
                (found.end, found.weight) = (message.end, message.weight);
                if !has_ids {
                    found.call_id.clone_from(&message.call_id);
                }
                *message = found;
            }
        }
    }
}

/// The parts of a header that every transcript keeps: the called tool, or whether the message is
/// reasoning.
fn same<'m>(message: &'m Message<'_>) -> (Option<&'m str>, bool) {
    let recipient = message.recipient.as_deref();
    (recipient, recipient.is_none() && message.is_reasoning())
}

fn hash(message: &Message<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (same(message), message.body.text()).hash(&mut hasher);
    hasher.finish()
}
