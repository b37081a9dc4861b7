//! Truncates conversations to a number of ids.

mod cut;
mod scheme;
mod units;

use std::fmt;

use openchatml::convert::prepare;
use openchatml::{Control, Conversation, Document, RenderError, RenderOptions};

pub use self::scheme::{OldestFirst, Scheme, Unit};

use crate::encoding::Encoding;
use crate::tokenizer::Tokenizer;

/// Truncates a conversation to a budget of ids (ChatML, §Truncations).
///
/// First, the text of each message that exceeds the limit for one message is cut. JSON and
/// declarations of tools are never cut. Then a [`Scheme`] decides which messages are kept. A call
/// and its replies are always kept or dropped together.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat};
/// use openchatml_tokens::{ByteEncoding, Tokenizer, Truncation};
///
/// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
/// let messages = [
///     Message::new(Role::System, "Be brief."),
///     Message::new(Role::User, "2 + 2?"),
///     Message::answer("4."),
///     Message::new(Role::User, "And 3 + 3?"),
/// ];
/// let conversation = Conversation::from_messages(messages);
/// let truncated = Truncation::new(50).truncate(&tokenizer, &conversation, &Default::default())?;
/// assert_eq!(truncated.dropped, [1, 2]);
/// assert_eq!(truncated.conversation.messages.len(), 2);
/// assert!(truncated.ids <= 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Truncation<S = OldestFirst> {
    /// The maximum number of ids.
    pub budget: usize,
    /// The maximum number of ids of one body; 2,048 by default.
    pub message: Option<usize>,
    /// The scheme that decides which messages are kept.
    pub scheme: S,
}

/// A truncated conversation, and the changes to it.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat};
/// use openchatml_tokens::{ByteEncoding, Tokenizer, Truncation};
///
/// let tokenizer = Tokenizer::new(TextFormat::CHATML, ByteEncoding::default());
/// let conversation = Conversation::from_messages([Message::new(Role::User, "Hello, world!")]);
/// let mut truncation = Truncation::new(1000);
/// truncation.message = Some(5);
/// let truncated = truncation.truncate(&tokenizer, &conversation, &Default::default())?;
/// assert_eq!(truncated.conversation.messages[0].body.text(), "Hello");
/// assert_eq!(truncated.cut[0].message, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Truncated<'a> {
    /// The truncated conversation.
    pub conversation: Conversation<'a>,
    /// The dropped messages, by their indices in the original conversation.
    pub dropped: Vec<usize>,
    /// The messages whose text was cut. Some of them may have been dropped afterwards.
    pub cut: Vec<Cut>,
    /// The number of ids of the truncated conversation.
    pub ids: usize,
    /// The control tokens that are counted as ordinary text, because the encoding has no id for
    /// them.
    pub spelled: Vec<Control>,
}

/// A message whose text was cut.
///
/// ```
/// use openchatml_tokens::Cut;
///
/// let cut = Cut { message: 0, ids: 5000, left: 2048 };
/// assert!(cut.left < cut.ids);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The index in the original conversation.
    pub message: usize,
    /// The number of ids of the original body.
    pub ids: usize,
    /// The number of ids of the cut body.
    pub left: usize,
}

/// The error of a truncation.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat};
/// use openchatml_tokens::{ByteEncoding, Tokenizer, Truncation};
///
/// let tokenizer = Tokenizer::new(TextFormat::CHATML, ByteEncoding::default());
/// let conversation = Conversation::from_messages([Message::new(Role::System, "Be brief.")]);
/// let error = Truncation::new(3)
///     .truncate(&tokenizer, &conversation, &Default::default())
///     .unwrap_err();
/// assert_eq!(error.to_string(), "the messages that cannot be dropped have 19 ids, but the budget is 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TruncateError {
    /// The messages that must be kept have more ids than the budget.
    TooLong {
        /// The number of ids of these messages.
        least: usize,
        /// The budget.
        budget: usize,
    },
    /// The format cannot represent the conversation.
    Render(RenderError),
}

impl fmt::Display for TruncateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { least, budget } => {
                write!(
                    f,
                    "the messages that cannot be dropped have {least} ids, but the budget is {budget}"
                )
            }
            Self::Render(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TruncateError {}

impl From<RenderError> for TruncateError {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

/// The sizes of a conversation in ids.
struct Sizes {
    ids: usize,
    /// The number of ids of each message.
    messages: Vec<usize>,
    /// The number of ids of each body.
    bodies: Vec<usize>,
    /// The control tokens that are written as ordinary text.
    spelled: Vec<Control>,
}

impl Sizes {
    /// Measures the conversation in its adapted form.
    fn of<E: Encoding>(
        tokenizer: &Tokenizer<E>,
        conversation: &mut Conversation<'_>,
        options: &RenderOptions,
    ) -> Result<Self, RenderError> {
        let count = conversation.messages.len();
        // The conversation is moved into a document and moved back in any case.
        let document = Document::from(std::mem::take(conversation));
        let sizes = Self::of_document(tokenizer, &document, count, options);
        *conversation = document.into_conversation();
        sizes
    }

    fn of_document<E: Encoding>(
        tokenizer: &Tokenizer<E>,
        document: &Document<'_>,
        count: usize,
        options: &RenderOptions,
    ) -> Result<Self, RenderError> {
        let prepared = prepare(document, tokenizer.format().into(), options)?;
        let counted = tokenizer.count_prepared(&prepared, options)?;
        let mut sizes = Self {
            ids: counted.ids,
            messages: vec![0; count],
            bodies: vec![0; count],
            spelled: counted.spelled,
        };
        for span in counted.spans {
            let Some(message) = prepared.origins.of(span.message) else { continue };
            if let (Some(all), Some(body)) =
                (sizes.messages.get_mut(message), sizes.bodies.get_mut(message))
            {
                *all += span.ids().len();
                *body += span.body.len();
            }
        }
        Ok(sizes)
    }
}

impl Truncation {
    /// The default maximum number of ids of one body.
    pub const MESSAGE: usize = 2048;

    /// Creates a truncation that drops the oldest exchanges first, until at most `budget` ids are
    /// left.
    ///
    /// ```
    /// use openchatml_tokens::Truncation;
    ///
    /// assert_eq!(Truncation::new(8192).message, Some(2048));
    /// ```
    pub fn new(budget: usize) -> Self {
        Self::by(OldestFirst, budget)
    }
}

impl<S: Scheme> Truncation<S> {
    /// Creates a truncation with another scheme.
    ///
    /// ```
    /// use openchatml_tokens::{Scheme, Truncation, Unit};
    ///
    /// /// Nothing but what must stay.
    /// struct Least;
    ///
    /// impl Scheme for Least {
    ///     fn keeps(&self, units: &[Unit], _: usize) -> Vec<bool> {
    ///         units.iter().map(|unit| unit.must_stay).collect()
    ///     }
    /// }
    ///
    /// assert_eq!(Truncation::by(Least, 8192).budget, 8192);
    /// ```
    pub fn by(scheme: S, budget: usize) -> Self {
        Self { budget, message: Some(Truncation::MESSAGE), scheme }
    }

    /// Truncates a conversation so that this tokenizer writes it with at most `budget` ids with
    /// these options. The conversation is [adapted](openchatml::convert) to the format of the
    /// tokenizer.
    ///
    /// # Errors
    ///
    /// The budget is too small for the messages that must be kept, or the format cannot represent
    /// the conversation.
    pub fn truncate<'a, E: Encoding>(
        &self,
        tokenizer: &Tokenizer<E>,
        conversation: &Conversation<'a>,
        options: &RenderOptions,
    ) -> Result<Truncated<'a>, TruncateError> {
        let mut conversation = conversation.clone();
        let mut sizes = Sizes::of(tokenizer, &mut conversation, options)?;
        let mut cut = cut::cut(tokenizer.encoding(), &mut conversation, &sizes, self.message);
        if !cut.is_empty() {
            sizes = Sizes::of(tokenizer, &mut conversation, options)?;
        }
        for cut in &mut cut {
            cut.left = sizes.bodies[cut.message];
        }
        if sizes.ids <= self.budget {
            let Sizes { ids, spelled, .. } = sizes;
            return Ok(Truncated { conversation, dropped: Vec::new(), cut, ids, spelled });
        }
        let units = units::units(&conversation.messages, &sizes.messages);
        let of_messages: usize = units.iter().map(|unit| unit.ids).sum();
        // The ids outside of messages: a document header and a generation prompt.
        let besides = sizes.ids.saturating_sub(of_messages);
        let mut budget = self.budget.saturating_sub(besides);
        let mut keeps = self.scheme.keeps(&units, budget);
        // Dropping messages can change how the rest is written, and a scheme may keep too much. In
        // that case the scheme gets a smaller budget, and finally everything that may be dropped is
        // dropped.
        let mut least = sizes.ids;
        for attempt in 0..3 {
            let dropped = dropped(&units, &keeps);
            let mut left = without(&conversation, &dropped);
            let Sizes { ids, spelled, .. } = Sizes::of(tokenizer, &mut left, options)?;
            if ids <= self.budget {
                return Ok(Truncated { conversation: left, dropped, cut, ids, spelled });
            }
            least = ids;
            budget = budget.saturating_sub(ids - self.budget);
            keeps = if attempt == 0 { self.scheme.keeps(&units, budget) } else { Vec::new() };
        }
        Err(TruncateError::TooLong { least, budget: self.budget })
    }
}

/// Returns the messages of the units that may be dropped and are not kept.
fn dropped(units: &[Unit], keeps: &[bool]) -> Vec<usize> {
    let keeps = keeps.iter().copied().chain(std::iter::repeat(false));
    let gone = units.iter().zip(keeps).filter(|(unit, keep)| !keep && !unit.must_stay);
    let mut dropped: Vec<usize> =
        gone.flat_map(|(unit, _)| unit.messages.iter().copied()).collect();
    dropped.sort_unstable();
    dropped
}

/// Returns the conversation without the messages at these sorted indexes.
fn without<'a>(conversation: &Conversation<'a>, dropped: &[usize]) -> Conversation<'a> {
    let mut left = conversation.clone();
    let mut at = 0;
    left.messages.retain(|_| {
        at += 1;
        dropped.binary_search(&(at - 1)).is_err()
    });
    left
}
