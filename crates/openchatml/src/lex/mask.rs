//! Sets of control tokens.

use crate::Control;

/// A set of control tokens: those that a carrier spells. In text, these are all of them. Among
/// token ids, these are the ones without an id (OpenChatML 2.2 §3, portability).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mask(u64);

impl Mask {
    /// All control tokens.
    pub(crate) const ALL: Self = Self(u64::MAX);

    pub(crate) fn of(controls: &[Control]) -> Self {
        Self(controls.iter().fold(0, |bits, control| bits | 1_u64 << control.index()))
    }

    #[inline]
    pub(crate) const fn has(self, control: Control) -> bool {
        self.0 & 1_u64 << control.index() != 0
    }

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
