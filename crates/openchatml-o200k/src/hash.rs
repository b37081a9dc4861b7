//! Keys and hashes of pieces.

/// The maximum size of a piece that fits into a key, in bytes.
pub(crate) const SHORT: usize = 15;

/// Masks for the low bytes of each half of a key, by the number of bytes to keep.
const LOW: [[u64; 2]; 16] = {
    let mut masks = [[0; 2]; 16];
    let mut bytes = 1;
    while bytes < 16 {
        let mask: u128 = (1 << (8 * bytes)) - 1;
        masks[bytes] = [mask as u64, (mask >> 64) as u64];
        bytes += 1;
    }
    masks
};

/// A short piece as a number: its bytes, and its length above them. Keys are unique and never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    low: u64,
    high: u64,
}

impl Key {
    /// Returns the key of the first `length` bytes, at most [`SHORT`].
    #[inline(always)]
    pub(crate) fn of_first(bytes: &[u8; 16], length: usize) -> Self {
        let [low, high] = LOW[length & 15];
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        Self { low: word(0) & low, high: word(8) & high | (length as u64) << 56 }
    }

    /// Returns the key of a piece of at most [`SHORT`] bytes.
    #[inline]
    pub(crate) fn new(piece: &[u8]) -> Self {
        let length = piece.len();
        let high_length = (length as u64) << 56;
        if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
            let (low, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            let high = last.checked_shr(8 * (16 - length as u32)).unwrap_or(0);
            return Self { low, high: high | high_length };
        }
        if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            let low = u64::from(first) | u64::from(last) << (8 * (length - 4));
            return Self { low, high: high_length };
        }
        let low = piece.iter().rev().fold(0, |low, byte| low << 8 | u64::from(*byte));
        Self { low, high: high_length }
    }

    /// Returns the key as a number.
    #[inline(always)]
    pub(crate) fn number(self) -> u128 {
        u128::from(self.low) | u128::from(self.high) << 64
    }

    /// Whether the keys differ. Computed without a branch.
    #[inline(always)]
    pub(crate) fn differs(self, other: Self) -> bool {
        (self.low ^ other.low) | (self.high ^ other.high) != 0
    }

    /// Returns the bytes of the piece, followed by other bytes.
    #[inline]
    pub(crate) fn bytes(self) -> [u8; 16] {
        self.number().to_le_bytes()
    }

    /// Returns the length of the piece, in bytes.
    #[inline]
    pub(crate) fn length(self) -> usize {
        (self.high >> 56) as usize
    }

    /// Returns the hash of the key.
    #[inline(always)]
    pub(crate) fn hash(self) -> u64 {
        mix(self.low, self.high)
    }
}

/// Returns the hash of a piece of more than [`SHORT`] bytes.
pub(crate) fn of_long(piece: &[u8]) -> u64 {
    let mut hash = piece.len() as u64;
    let (chunks, _) = piece.as_chunks::<8>();
    for chunk in chunks.iter().chain(piece.last_chunk()) {
        hash = mix(hash, u64::from_le_bytes(*chunk));
    }
    hash
}

/// Multiplies two words and combines both halves of the product.
#[inline(always)]
fn mix(low: u64, high: u64) -> u64 {
    let product =
        u128::from(low ^ 0x9e37_79b9_7f4a_7c15) * u128::from(high ^ 0xd1b5_4a32_d192_ed03);
    product as u64 ^ (product >> 64) as u64
}
