//! How much a message counts in training.

use std::fmt;

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
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Weight(f64);

/// That of a message which says nothing about it.
impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Weight {
    /// Not trained.
    pub const ZERO: Self = Self(0.0);

    /// Counts in full.
    pub const ONE: Self = Self(1.0);

    /// The weight of this value; `None` for a value that is negative, infinite or not a number.
    pub fn new(value: f64) -> Option<Self> {
        // `+ 0.0` turns -0.0 into 0.0.
        (value.is_finite() && value >= 0.0).then_some(Self(value + 0.0))
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
        if other < self { other } else { self }
    }

    /// Its value.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Whether the message is trained at all.
    ///
    /// ```
    /// use openchatml::Weight;
    ///
    /// assert!(Weight::ONE.is_trained() && !Weight::ZERO.is_trained());
    /// ```
    pub fn is_trained(self) -> bool {
        self.0 > 0.0
    }
}

/// The value is never NaN, so equality is reflexive.
impl Eq for Weight {}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
