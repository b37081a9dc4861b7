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

    /// Returns both conversations with their names in records.
    ///
    /// ```
    /// use openchatml::{Conversation, Pair};
    ///
    /// let pair = Pair::new(Conversation::default(), Conversation::default());
    /// assert_eq!(pair.sides().map(|(name, _)| name), ["chosen", "rejected"]);
    /// ```
    pub const fn sides(&self) -> [(&'static str, &Conversation<'a>); 2] {
        [("chosen", &self.chosen), ("rejected", &self.rejected)]
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

    /// Returns a function from the position of a message in `rejected` to its number in the pair. The
    /// messages of `chosen` come first, and then those of `rejected` that are not shared.
    pub(crate) fn numbers(&self) -> impl Fn(usize) -> usize {
        let (shared, chosen) = (self.shared(), self.chosen.messages.len());
        move |message| message.checked_sub(shared).map_or(message, |own| chosen + own)
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
