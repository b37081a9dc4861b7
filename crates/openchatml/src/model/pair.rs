//! Preference pairs.

use super::Conversation;

/// A preference pair: two conversations, of which the first one is preferred. Usually they have the
/// same prompt and differ in the answer.
///
/// ```
/// use openchatml::{Document, Format, parse};
///
/// let text = r#"{"prompt": "2 + 2?", "chosen": "4.", "rejected": "5."}"#;
/// let parsed = parse(text, Format::RECORDS, &Default::default());
/// let Document::Pair(pair) = parsed.document else { panic!("it is a pair") };
/// assert_eq!(pair.shared(), 1);
/// assert_eq!(pair.chosen.messages[1].body.text(), "4.");
/// assert_eq!(pair.rejected.messages[1].body.text(), "5.");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pair<'a> {
    /// The preferred conversation.
    pub chosen: Conversation<'a>,
    /// The other conversation.
    pub rejected: Conversation<'a>,
}

impl<'a> Pair<'a> {
    /// Creates a pair.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Pair};
    ///
    /// let [good, bad] = ["4.", "5."].map(|text| Conversation::from_messages([Message::answer(text)]));
    /// assert_eq!(Pair::new(good, bad).shared(), 0);
    /// ```
    pub const fn new(chosen: Conversation<'a>, rejected: Conversation<'a>) -> Self {
        Self { chosen, rejected }
    }

    /// Returns both conversations.
    pub(crate) fn sides(&self) -> [&Conversation<'a>; 2] {
        [&self.chosen, &self.rejected]
    }

    /// Returns the number of messages at the beginning that both conversations have.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Pair};
    ///
    /// let one = Conversation::from_messages([Message::user("Hi!"), Message::answer("Hello!")]);
    /// assert_eq!(Pair::new(one.clone(), one).shared(), 2);
    /// ```
    pub fn shared(&self) -> usize {
        let messages = self.chosen.messages.iter().zip(&self.rejected.messages);
        messages.take_while(|(one, other)| one == other).count()
    }

    /// Returns the number of a message of `rejected` among the messages of the pair: those of
    /// `chosen`, and then those of `rejected` that are not [shared](Self::shared). Losses have this
    /// number.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Pair};
    ///
    /// let side = |text| Conversation::from_messages([Message::user("Hi!"), Message::answer(text)]);
    /// let pair = Pair::new(side("Hello!"), side("No."));
    /// assert_eq!([0, 1].map(|message| pair.number_of_rejected(message)), [0, 2]);
    /// ```
    pub fn number_of_rejected(&self, message: usize) -> usize {
        let shared = self.shared();
        match message.checked_sub(shared) {
            Some(own) => self.chosen.messages.len() + own,
            None => message,
        }
    }

    /// Returns the pair with owned text.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Pair};
    ///
    /// let text = String::from("4.");
    /// let side = Conversation::from_messages([Message::answer(text.as_str())]);
    /// let pair = Pair::new(side, Conversation::default()).into_owned();
    /// drop(text);
    /// assert_eq!(pair.chosen.messages[0].body.text(), "4.");
    /// ```
    pub fn into_owned(self) -> Pair<'static> {
        Pair { chosen: self.chosen.into_owned(), rejected: self.rejected.into_owned() }
    }
}
