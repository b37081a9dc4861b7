//! The parts of a message that the pieces of the written text belong to.

use crate::writing::{Part, Sink};

/// What a piece of the text between two bodies belongs to. The training mask depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The end of the message before.
    Before,
    /// The text between turns, and the end of a turn that continued after the message before.
    Gap,
    /// The role.
    Opening,
    /// The kind of the next message.
    Header,
}

impl Owner {
    /// Tells the sink the parts from this one up to `to`, which the next pieces belong to.
    #[inline]
    pub(crate) fn advance(&mut self, to: Self, index: usize, sink: &mut dyn Sink) {
        if to > *self {
            self.advance_to(to, index, sink);
        }
    }

    fn advance_to(&mut self, to: Self, index: usize, sink: &mut dyn Sink) {
        if *self == Self::Before {
            sink.seam(Part::Gap);
            *self = Self::Gap;
        }
        if *self == Self::Gap && to > Self::Gap {
            sink.seam(Part::Opening(index));
            *self = Self::Opening;
        }
        if *self == Self::Opening && to == Self::Header {
            sink.seam(Part::Header);
            *self = Self::Header;
        }
    }
}
