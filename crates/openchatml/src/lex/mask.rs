//! Which control tokens a carrier spells.

use crate::Control;

/// A set of control tokens: those that a carrier writes as their spelling. In text that is all of
/// them; among token ids, those that have no id of their own (OpenChatML 2.2 §3, portability).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mask(u64);

impl Mask {
    /// All of them.
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
