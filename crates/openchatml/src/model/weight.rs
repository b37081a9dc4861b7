//! The weight of a message in training.

use std::fmt;
use std::num::NonZeroU64;

/// The weight of a message in training: a finite number, zero or greater.
///
/// 0 means not trained, 1 means fully trained, as in OpenAI's fine-tuning data. Data sets also use
/// other numbers. The mask policy decides about messages without a weight.
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

/// The weight of a message without one.
impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Weight {
    /// The message is not trained.
    pub const ZERO: Self = Self::of(0.0);

    /// The message is fully trained.
    pub const ONE: Self = Self::of(1.0);

    /// The bits of non-negative numbers have the same order as the numbers. Adding one makes them
    /// nonzero, so that an `Option` of a weight needs no extra space.
    const fn of(value: f64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(value.to_bits()))
    }

    /// Creates a weight. Returns `None` for a value that is negative, infinite or not a number.
    pub fn new(value: f64) -> Option<Self> {
        // `+ 0.0` turns -0.0 into 0.0.
        (value.is_finite() && value >= 0.0).then(|| Self::of(value + 0.0))
    }

    /// Returns the smaller weight.
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

    /// Returns the value.
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0.get() - 1)
    }

    /// Whether the message is trained.
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
