//! The original positions of messages.

use super::{Join, Loss};
use crate::Span;
use crate::model::Message;
use crate::writing::{Place, RenderError};

/// The positions of a document's messages in the original document.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let messages = [Message::reasoning("Hm."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let options = Default::default();
/// let origins = prepare(&document, "chatml".parse()?, &options)?.origins; // It has no reasoning.
/// assert_eq!((origins.of(0), origins.of(1)), (Some(1), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// `None` if all positions are unchanged.
    pub(crate) places: Option<Vec<Option<usize>>>,
    /// Messages that are now part of other messages.
    pub(crate) joins: Vec<Join>,
}

impl Origins {
    /// Returns the original position of the message at this position, if it has one.
    pub fn of(&self, message: usize) -> Option<usize> {
        match &self.places {
            None => Some(message),
            Some(places) => places.get(message).copied().flatten(),
        }
    }

    /// Returns the original positions of all messages that were joined to this one.
    ///
    /// ```
    /// use openchatml::convert::prepare;
    /// use openchatml::{Conversation, Message, Role};
    ///
    /// let turns = [(Role::System, "S"), (Role::User, "u")].map(|(role, text)| Message::new(role, text));
    /// let answers = ["One. ", "Two."].map(Message::answer);
    /// let document = Conversation::from_messages(turns.into_iter().chain(answers)).into();
    /// let prepared = prepare(&document, "apertus".parse()?, &Default::default())?;
    /// // The output joins the two answers. The text that the template adds precedes them.
    /// assert_eq!(prepared.origins.parts(3).collect::<Vec<_>>(), [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts(&self, message: usize) -> impl Iterator<Item = usize> {
        let joins = self.joins.iter().filter(move |join| join.message == message);
        self.of(message).into_iter().chain(joins.map(|join| join.place))
    }

    /// Returns the error with the original position of its message.
    #[must_use]
    pub fn place(&self, mut error: RenderError) -> RenderError {
        let is_before =
            |join: &&Join| error.message == Some(join.message) && join.at <= error.span.start;
        let join = self.joins.iter().filter(is_before).max_by_key(|join| join.at);
        match join.filter(|_| error.place == Place::Body) {
            Some(Join { at, place, from, .. }) => {
                error.message = Some(*place);
                let place = |byte: usize| byte - at + from;
                error.span = Span::new(place(error.span.start), place(error.span.end));
            }
            None => error.message = error.message.and_then(|message| self.of(message)),
        }
        error
    }

    /// Adds more losses at their original positions, in the order of the messages.
    pub(crate) fn add_placed(&self, mut more: Vec<Loss>, losses: &mut Vec<Loss>) {
        if !more.is_empty() {
            self.place_all(&mut more);
            losses.append(&mut more);
            losses.sort_by_key(|loss| loss.message);
        }
    }

    /// Sets the original positions of messages in losses.
    pub(crate) fn place_all(&self, losses: &mut [Loss]) {
        for loss in losses {
            loss.message = loss.message.and_then(|message| self.of(message));
        }
    }

    /// Records that one of now `count` messages was added.
    pub(crate) fn insert(&mut self, at: usize, count: usize) {
        let places = self.places.take();
        let mut places = places.unwrap_or_else(|| (0..count.saturating_sub(1)).map(Some).collect());
        places.insert(at, None);
        self.places = Some(places);
    }

    /// Finds the original positions of the `carried` messages, which are the `written` output, read
    /// again. A format can read additional messages (such as a key that declares tools), and none
    /// for an empty message.
    pub(crate) fn read_again(&self, written: &[Message<'_>], carried: &[Message<'_>]) -> Self {
        let same =
            |one: &Message<'_>, two: &Message<'_>| one.role == two.role && one.body == two.body;
        let mut pairs = written.iter().zip(carried);
        if written.len() == carried.len() && pairs.all(|(one, two)| same(one, two)) {
            return self.clone();
        }
        let mut next = 0;
        let place = |message: &Message<'_>| {
            let left = written.get(next..)?.iter().take(Self::LOOK_AHEAD);
            next += left.into_iter().position(|it| same(it, message))? + 1;
            self.of(next - 1)
        };
        Self { places: Some(carried.iter().map(place).collect()), joins: Vec::new() }
    }

    /// How many messages in a row can be missing when the output is read again.
    const LOOK_AHEAD: usize = 16;

    /// Combines these origins with earlier ones.
    pub(crate) fn after(&self, before: &Self) -> Self {
        let places = match (&self.places, &before.places) {
            (None, places) => places.clone(),
            (Some(places), _) => {
                Some(places.iter().map(|place| place.and_then(|at| before.of(at))).collect())
            }
        };
        let joins = self
            .joins
            .iter()
            .filter_map(|join| Some(Join { place: before.of(join.place)?, ..*join }));
        Self { places, joins: joins.collect() }
    }

    /// Returns the origins of the kept messages.
    pub(crate) fn of_kept(&self, kept: &[usize]) -> Self {
        Self { places: Some(kept.iter().map(|at| self.of(*at)).collect()), joins: Vec::new() }
    }
}
