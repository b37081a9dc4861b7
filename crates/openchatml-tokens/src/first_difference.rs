//! The first difference between two renderings.

use std::ops::Range;

use crate::encoding::{Encoding, Token};
use crate::sink::{MessageSpan, Rendered};
use crate::tokenizer::Tokenizer;

/// The first position at which one rendering differs from the beginning of another, and the reason.
/// From this position on, a model must read the ids again and its cached state is useless.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat, history};
/// use openchatml_tokens::{ByteEncoding, Difference, Tokenizer};
///
/// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
/// let render = |messages: &[Message<'static>]| {
///     let next = history::next_prompt(&Conversation::from_messages(messages.iter().cloned()));
///     tokenizer.render(&next.into(), &Default::default())
/// };
/// let turn = [Message::new(Role::User, "2 + 2?"), Message::reasoning("Easy."), Message::answer("4.")];
/// let (before, after) = (render(&turn[..2])?, render(&turn)?);
/// // Reasoning that led to an answer is dropped.
/// let first_difference = tokenizer.first_difference(&before, &after).expect("they part");
/// assert_eq!((first_difference.message, first_difference.difference), (1, Difference::Message));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstDifference {
    /// The index of the first id that differs.
    pub at: usize,
    /// The index of the message that contains that id, in the first conversation.
    pub message: usize,
    /// The kind of the difference.
    pub difference: Difference,
}

/// The kind of the first difference between two renderings.
///
/// ```
/// use openchatml_tokens::Difference;
///
/// assert_eq!(Difference::Ids.as_str(), "the same text has different ids");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// The second rendering ends there.
    Shorter,
    /// The message or its header is different.
    Message,
    /// The body is different.
    Body,
    /// The text is the same, but the ids differ: the encoder splits the text differently from the
    /// model that sampled it. Messages that [store their ids](openchatml::Message::set_ids) keep
    /// the sampled ids.
    Ids,
    /// The end token of the message is different: `<|return|>` in a completion is `<|end|>` in
    /// history.
    End,
}

impl Difference {
    /// Returns a description.
    ///
    /// ```
    /// use openchatml_tokens::Difference;
    ///
    /// assert_eq!(Difference::Body.as_str(), "the bodies differ");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shorter => "the other one ends there",
            Self::Message => "another message is there",
            Self::Body => "the bodies differ",
            Self::Ids => "the same text has different ids",
            Self::End => "the message ends with another token",
        }
    }
}

impl<E: Encoding> Tokenizer<E> {
    /// Returns the first difference, or `None` if the first rendering is [a prefix of the
    /// second](Rendered::is_prefix_of).
    ///
    /// ```
    /// use openchatml::{Conversation, End, Message, TextFormat};
    /// use openchatml_tokens::{ByteEncoding, Difference, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let render = |end| {
    ///     let mut answer = Message::answer("4.");
    ///     answer.end = end;
    ///     tokenizer.render(&Conversation::from_messages([answer]).into(), &Default::default())
    /// };
    /// let (sampled, stored) = (render(End::Return)?, render(End::End)?);
    /// let first_difference = tokenizer.first_difference(&sampled, &stored).expect("they part");
    /// assert_eq!((first_difference.at, first_difference.difference), (sampled.ids.len() - 1, Difference::End));
    /// assert_eq!(tokenizer.first_difference(&sampled, &sampled), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_difference(&self, before: &Rendered, after: &Rendered) -> Option<FirstDifference> {
        if before.is_prefix_of(after) {
            return None;
        }
        let both = before.ids.iter().zip(&after.ids);
        let at = both.take_while(|(one, other)| one == other).count();
        let [old, new] = [before, after].map(|rendered| {
            let next = rendered.spans.partition_point(|span| span.ids().end <= at);
            rendered.spans.get(next)
        });
        let difference = match (old, new) {
            _ if at == after.ids.len() => Difference::Shorter,
            (Some(old), Some(new)) => self.difference(before, old, after, new, at),
            _ => Difference::Message,
        };
        Some(FirstDifference { at, message: old.map_or(0, |span| span.message), difference })
    }

    fn difference(
        &self,
        before: &Rendered,
        old: &MessageSpan,
        after: &Rendered,
        new: &MessageSpan,
        at: usize,
    ) -> Difference {
        let says_the_same = |old: Range<usize>, new: Range<usize>| {
            self.bytes(&before.ids[old]) == self.bytes(&after.ids[new])
        };
        let header = |span: &MessageSpan| span.opening.start..span.header.end;
        let in_header = |span: &MessageSpan| at < span.header.end;
        let in_body = |span: &MessageSpan| at < span.body.end;
        if in_header(old) || in_header(new) {
            return match says_the_same(header(old), header(new)) {
                true => Difference::Ids,
                false => Difference::Message,
            };
        }
        if in_body(old) || in_body(new) {
            return match says_the_same(old.body.clone(), new.body.clone()) {
                true => Difference::Ids,
                false => Difference::Body,
            };
        }
        Difference::End
    }

    /// Returns the bytes of the ids.
    fn bytes(&self, ids: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for id in ids {
            match self.encoding().token(*id) {
                Some(Token::Text(text) | Token::Control(text)) => bytes.extend(text.as_bytes()),
                Some(Token::Bytes(part)) => bytes.extend(part),
                None => bytes.extend("\u{FFFD}".as_bytes()),
            }
        }
        bytes
    }
}
