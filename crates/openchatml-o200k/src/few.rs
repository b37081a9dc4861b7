//! A few ids.

/// Up to three ids, or a place where others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Few([u32; 4]);

impl Few {
    /// How many ids there can be.
    pub(crate) const MOST: usize = 3;
    /// No ids.
    pub(crate) const NONE: Self = Self([0; 4]);

    /// These ids, if they are few, and at least one.
    #[inline]
    pub(crate) fn new(ids: &[u32]) -> Option<Self> {
        match *ids {
            [one] => Some(Self([one, 0, 0, 1])),
            [one, two] => Some(Self([one, two, 0, 2])),
            [one, two, three] => Some(Self([one, two, three, 3])),
            _ => None,
        }
    }

    /// As one number.
    #[inline]
    pub(crate) fn number(self) -> u128 {
        let [one, two, three, count] = self.0.map(u128::from);
        one | two << 32 | three << 64 | count << 96
    }

    /// From one number.
    #[inline]
    pub(crate) fn of_number(number: u128) -> Self {
        Self([0, 32, 64, 96].map(|place| (number >> place) as u32))
    }

    /// Ids that are elsewhere.
    #[inline]
    pub(crate) fn elsewhere(start: usize, end: usize) -> Self {
        Self([start as u32, end as u32, 0, 0])
    }

    /// Where the ids are, if they are elsewhere.
    #[inline]
    pub(crate) fn place(self) -> std::ops::Range<usize> {
        self.0[0] as usize..self.0[1] as usize
    }

    /// The ids, and another number behind them.
    #[inline(always)]
    pub(crate) fn ids(self) -> [u32; 4] {
        self.0
    }

    /// How many ids there are. None if they are elsewhere.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.0[3] as usize
    }
}
