//! How much a message counts in training.

use std::fmt;
use std::num::NonZeroU64;

/// How much a message counts in training: a finite number that is not negative.
///
/// 0 is not trained and 1 counts in full, as in OpenAI's fine-tuning data; data sets also have
/// numbers between and above. A message without a weight counts as the mask decides.
///
/// ```
/// use openchatml::{Weight, parse};
///
/// let text = r#"{"messages":[{"role":"assistant","content":"4.","weight":0}]}"#;
/// let conversation = parse(text, "openai".parse()?, &Default::default()).into_conversation();
/// assert_eq!(conversation.messages[0].weight, Some(Weight::ZERO));
/// assert_eq!(Weight::new(0.5).map(Weight::get), Some(0.5));
/// assert_eq!(Weight::new(-1.0), None);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(NonZeroU64);

/// That of a message which says nothing about it.
impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Weight {
    /// Not trained.
    pub const ZERO: Self = Self::of(0.0);

    /// Counts in full.
    pub const ONE: Self = Self::of(1.0);

    /// The bits of numbers that are not negative are in the order of the numbers. One more is never
    /// zero, so that a message which says nothing of its weight has no room for one.
    const fn of(value: f64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(value.to_bits()))
    }

    /// The weight of this value; `None` for a value that is negative, infinite or not a number.
    pub fn new(value: f64) -> Option<Self> {
        // `+ 0.0` turns -0.0 into 0.0.
        (value.is_finite() && value >= 0.0).then(|| Self::of(value + 0.0))
    }

    /// The smaller of two.
    ///
    /// ```
    /// use openchatml::Weight;
    ///
    /// assert_eq!(Weight::ONE.min(Weight::ZERO), Weight::ZERO);
    /// ```
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }

    /// Its value.
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0.get() - 1)
    }

    /// Whether the message is trained at all.
    ///
    /// ```
    /// use openchatml::Weight;
    ///
    /// assert!(Weight::ONE.is_trained() && !Weight::ZERO.is_trained());
    /// ```
    pub fn is_trained(self) -> bool {
        self != Self::ZERO
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}
