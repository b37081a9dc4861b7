//! Up to three ids in one value.

/// Up to three ids, or the range of ids that are stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Few([u32; 4]);

impl Few {
    /// The maximum number of ids.
    pub(crate) const MOST: usize = 3;
    /// No ids.
    pub(crate) const NONE: Self = Self([0; 4]);

    /// Packs one to three ids. Returns `None` for another number.
    #[inline]
    pub(crate) fn new(ids: &[u32]) -> Option<Self> {
        match *ids {
            [one] => Some(Self([one, 0, 0, 1])),
            [one, two] => Some(Self([one, two, 0, 2])),
            [one, two, three] => Some(Self([one, two, three, 3])),
            _ => None,
        }
    }

    /// Converts to a number.
    #[inline]
    pub(crate) fn number(self) -> u128 {
        let [one, two, three, count] = self.0.map(u128::from);
        one | two << 32 | three << 64 | count << 96
    }

    /// Converts from a number.
    #[inline]
    pub(crate) fn of_number(number: u128) -> Self {
        Self([0, 32, 64, 96].map(|place| (number >> place) as u32))
    }

    /// Refers to ids that are stored elsewhere.
    #[inline]
    pub(crate) fn elsewhere(start: usize, end: usize) -> Self {
        Self([start as u32, end as u32, 0, 0])
    }

    /// Returns the range of ids that are stored elsewhere.
    #[inline]
    pub(crate) fn place(self) -> std::ops::Range<usize> {
        self.0[0] as usize..self.0[1] as usize
    }

    /// Returns the ids, followed by another number.
    #[inline(always)]
    pub(crate) fn ids(self) -> [u32; 4] {
        self.0
    }

    /// Returns the number of ids, or zero if they are stored elsewhere.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.0[3] as usize
    }
}
