//! A document as a format can carry it, and the training weights of its messages.

use std::borrow::Cow;

use super::{Loss, Origins};
use crate::model::{Conversation, Document, Message};

/// A document as a format can carry it.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let mut question = Message::new(Role::User, "2 + 2?");
/// question.name = Some("Eric".into());
/// let document = Conversation::from_messages([question]).into();
/// let prepared = prepare(&document, "chatml-wire:text".parse()?, &Default::default())?;
/// assert_eq!(prepared.document.as_conversation().unwrap().messages[0].name, None);
/// assert_eq!(prepared.losses[0].to_string(), "message 0: name dropped");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prepared<'d> {
    /// The document.
    pub document: Cow<'d, Document<'d>>,
    /// What was dropped or changed.
    pub losses: Vec<Loss>,
    /// The original positions of its messages.
    pub origins: Origins,
}

/// A prepared conversation with the training weights and the recovered marks of its messages; see
/// [`Prepared::weighed`].
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role, Weight};
///
/// let answers = [("5.", Weight::ZERO), ("4.", Weight::ONE)].map(|(text, weight)| {
///     let mut answer = Message::answer(text);
///     answer.weight = Some(weight);
///     answer
/// });
/// let turns = [(Role::System, "Be brief."), (Role::User, "2 + 2?")];
/// let turns = turns.map(|(role, text)| Message::new(role, text));
/// let document = Conversation::from_messages(turns.into_iter().chain(answers)).into();
/// // Apertus has one text where the assistant answers twice.
/// let prepared = prepare(&document, "apertus".parse()?, &Default::default())?;
/// let weighed = prepared.weighed(&document).unwrap();
/// assert_eq!(weighed.joined, [2, 3]);
/// assert_eq!(weighed.conversation.messages.last().unwrap().weight, Some(Weight::ZERO));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Weighed {
    /// The conversation.
    pub conversation: Conversation<'static>,
    /// The messages that were joined with messages of another weight, by their original positions.
    pub joined: Vec<usize>,
}

impl Prepared<'_> {
    /// Returns the prepared conversation with the weights that its messages have in the `original`,
    /// and with their marks as recovered or foreign. A mask needs them, but ids and most texts
    /// cannot express them. A message that was joined from several gets the smallest weight, so
    /// that nothing is trained that must not be. Returns `None` if no message of the original has a
    /// weight or mark.
    ///
    /// ```
    /// use openchatml::convert::prepare;
    /// use openchatml::{Conversation, Message, RenderOptions, Weight};
    ///
    /// let mut bad = Message::answer("5.");
    /// bad.weight = Some(Weight::ZERO);
    /// let document = Conversation::from_messages([bad]).into();
    /// let prepared = prepare(&document, "harmony".parse()?, &RenderOptions::default())?;
    /// assert_eq!(prepared.document.as_conversation().unwrap().messages[0].weight, None);
    /// let weighed = prepared.weighed(&document).unwrap();
    /// assert_eq!(weighed.conversation.messages[0].weight, Some(Weight::ZERO));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weighed(&self, original: &Document<'_>) -> Option<Weighed> {
        let original = original.as_conversation()?;
        let original = &original.messages;
        let is_plain = |it: &Message<'_>| it.weight.is_none() && !it.recovered && !it.foreign;
        if original.iter().all(is_plain) {
            return None;
        }
        let mut conversation = self.document.as_conversation()?.clone().into_owned();
        let mut joined = Vec::new();
        for (index, message) in conversation.messages.iter_mut().enumerate() {
            let parts: Vec<_> =
                self.origins.parts(index).filter(|at| *at < original.len()).collect();
            let weights: Vec<_> = parts.iter().map(|at| original[*at].weight).collect();
            let least = weights.iter().map(|it| it.unwrap_or_default()).min();
            let is_one = weights.iter().all(|it| *it == weights[0]);
            message.weight = if is_one { weights.first().copied().flatten() } else { least };
            message.recovered |= parts.iter().any(|at| original[*at].recovered);
            message.foreign |= parts.iter().any(|at| original[*at].foreign);
            joined.extend(parts.into_iter().filter(|_| !is_one));
        }
        Some(Weighed { conversation, joined })
    }
}
