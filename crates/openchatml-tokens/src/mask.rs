//! The token ids that a model is trained on.

use openchatml::{Channel, Conversation, End, Message, Role, Weight};

use crate::sink::{MessageSpan, Rendered};

/// Selects the token ids of a conversation that a model is trained on.
///
/// The policy selects whole parts of whole messages. It uses the spans of the writer and never
/// searches in text or ids.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat};
/// use openchatml_tokens::{ByteEncoding, MaskPolicy, Tokenizer};
///
/// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
/// let messages = [Message::new(Role::User, "2 + 2?"), Message::answer("4.")];
/// let conversation = Conversation::from_messages(messages);
/// let rendered = tokenizer.render(&conversation.clone().into(), &Default::default())?;
/// let mask = MaskPolicy::default().mask(&conversation, &rendered);
/// let trained: Vec<u32> = rendered.ids.iter().zip(&mask).filter(|it| *it.1).map(|it| *it.0).collect();
/// let read = tokenizer.parse(&trained, &Default::default());
/// assert_eq!(read.text(), "<|channel|>final<|message|>4.<|end|>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaskPolicy {
    /// The messages of the assistant that are trained.
    pub messages: TrainedMessages,
    /// The turns that are trained.
    pub turns: TrainedTurns,
    /// The part of the header that is trained.
    pub headers: TrainedHeaders,
    /// The decisions for single messages, by index. They take precedence over all other rules.
    pub overrides: Vec<(usize, bool)>,
}

/// The messages of the assistant that are trained.
///
/// ```
/// use openchatml_tokens::TrainedMessages;
///
/// assert_eq!(TrainedMessages::default(), TrainedMessages::All);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrainedMessages {
    /// Reasoning, commentary, calls and answers.
    #[default]
    All,
    /// All messages but reasoning.
    NoReasoning,
    /// Only answers.
    Answers,
}

/// The turns that are trained. A turn begins with a message of the user.
///
/// ```
/// use openchatml_tokens::TrainedTurns;
///
/// assert_eq!(TrainedTurns::default(), TrainedTurns::All);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrainedTurns {
    /// All turns.
    #[default]
    All,
    /// The last turn.
    Last,
}

/// The part of the header of a trained message that is trained.
///
/// ```
/// use openchatml_tokens::TrainedHeaders;
///
/// assert_eq!(TrainedHeaders::default(), TrainedHeaders::Sampled);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrainedHeaders {
    /// The part that the model samples: everything after the role. The role and the token before it
    /// are included if the model goes on after the previous message: if that is also of the assistant,
    /// and ends with no stop token of the format.
    #[default]
    Sampled,
    /// Everything after the role.
    AfterRole,
    /// Nothing of the header: only the body and its end token.
    Nothing,
}

impl MaskPolicy {
    /// Returns for each id whether it is trained. A message of weight 0 and a recovered message are
    /// not trained, unless an override selects them.
    ///
    /// `conversation` is the conversation that was rendered: the spans refer to its messages.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, TextFormat, Weight};
    /// use openchatml_tokens::{ByteEncoding, MaskPolicy, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let mut bad = Message::answer("5.");
    /// bad.weight = Some(Weight::ZERO);
    /// let conversation = Conversation::from_messages([bad]);
    /// // The ids do not say how much a message counts.
    /// let mut written = conversation.clone();
    /// written.messages[0].weight = None;
    /// let rendered = tokenizer.render(&written.into(), &Default::default())?;
    /// assert!(!MaskPolicy::default().mask(&conversation, &rendered).contains(&true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mask(&self, conversation: &Conversation<'_>, rendered: &Rendered) -> Vec<bool> {
        let messages = &conversation.messages;
        let first = match self.turns {
            TrainedTurns::All => 0,
            TrainedTurns::Last => {
                messages.iter().rposition(|it| it.role == Role::User).unwrap_or(0)
            }
        };
        let mut mask = vec![false; rendered.ids.len()];
        let mut was_stopped = false;
        for span in &rendered.spans {
            let Some(message) = messages.get(span.message) else { continue };
            let decided = self.overrides.iter().rfind(|it| it.0 == span.message).map(|it| it.1);
            let is_trained = decided.unwrap_or(span.message >= first && self.trains(message));
            if is_trained {
                let before = span.message.checked_sub(1).and_then(|at| messages.get(at));
                let goes_on = !was_stopped
                    && message.role == Role::Assistant
                    && before.is_some_and(|it| it.role == Role::Assistant && it.end == End::End);
                self.train(span, goes_on, &mut mask);
            }
            was_stopped = span.is_stopped;
        }
        mask
    }

    /// Returns the weight of each id in training: 0 if the [mask](Self::mask) does not select it,
    /// otherwise the weight of its message. A message without a weight has weight 1.
    ///
    /// `conversation` is the conversation that was rendered: the spans refer to its messages.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, TextFormat, Weight};
    /// use openchatml_tokens::{ByteEncoding, MaskPolicy, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let plain = Conversation::from_messages([Message::answer("4.")]);
    /// let rendered = tokenizer.render(&plain.clone().into(), &Default::default())?;
    /// let mut weighed = plain;
    /// weighed.messages[0].weight = Weight::new(0.5);
    /// let weights = MaskPolicy::default().weights(&weighed, &rendered);
    /// assert_eq!((weights[0], weights.last()), (0.0, Some(&0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weights(&self, conversation: &Conversation<'_>, rendered: &Rendered) -> Vec<f64> {
        let mask = self.mask(conversation, rendered);
        let mut weights: Vec<f64> = mask.iter().map(|it| f64::from(u8::from(*it))).collect();
        for span in &rendered.spans {
            let message = conversation.messages.get(span.message);
            let Some(weight) = message.and_then(|message| message.weight) else { continue };
            let is_trained = self.overrides.iter().any(|it| it.0 == span.message && it.1);
            let weight = if is_trained && weight == Weight::ZERO { Weight::ONE } else { weight };
            for value in &mut weights[span.ids()] {
                *value *= weight.get();
            }
        }
        weights
    }

    fn trains(&self, message: &Message<'_>) -> bool {
        if message.weight == Some(Weight::ZERO) {
            return false;
        }
        // A recovered message contains a guess of the reader.
        if message.role != Role::Assistant || message.foreign || message.recovered {
            return false;
        }
        match self.messages {
            TrainedMessages::All => true,
            TrainedMessages::NoReasoning => {
                message.is_call() || message.effective_channel() != Channel::Analysis
            }
            TrainedMessages::Answers => message.is_answer(),
        }
    }

    /// Trains a message. `goes_on` tells whether the model samples its header, too.
    fn train(&self, span: &MessageSpan, goes_on: bool, mask: &mut [bool]) {
        let start = match self.headers {
            TrainedHeaders::Sampled if goes_on => span.opening.start,
            TrainedHeaders::Sampled | TrainedHeaders::AfterRole => span.header.start,
            TrainedHeaders::Nothing => span.body.start,
        };
        mask[start..span.end.end].fill(true);
    }
}
