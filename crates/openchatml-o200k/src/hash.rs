//! Keys and hashes of pieces.

/// The most bytes a piece can have that is a key of its own.
pub(crate) const SHORT: usize = 15;

/// Masks for the low bytes of a key, by how many are kept.
const LOW: [u128; 16] = {
    let mut masks = [0; 16];
    let mut bytes = 1;
    while bytes < 16 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// The key of the first `length` of these bytes: the bytes, and their number above them. No two
/// short pieces have the same key, and no key is zero. `length` is at most [`SHORT`].
#[inline(always)]
pub(crate) fn key_of(bytes: [u8; 16], length: usize) -> u128 {
    u128::from_le_bytes(bytes) & LOW[length & 15] | (length as u128) << 120
}

/// The key of a piece of at most [`SHORT`] bytes.
#[inline]
pub(crate) fn key(piece: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..piece.len()].copy_from_slice(piece);
    key_of(bytes, piece.len())
}

/// How many bytes the piece with this key has.
#[inline]
pub(crate) fn length(key: u128) -> usize {
    (key >> 120) as usize
}

/// The hash of a key.
#[inline(always)]
pub(crate) fn of_key(key: u128) -> u64 {
    mix(key as u64, (key >> 64) as u64)
}

/// The hash of a piece of more than [`SHORT`] bytes.
pub(crate) fn of_long(piece: &[u8]) -> u64 {
    let mut hash = piece.len() as u64;
    let (chunks, _) = piece.as_chunks::<8>();
    for chunk in chunks.iter().chain(piece.last_chunk()) {
        hash = mix(hash, u64::from_le_bytes(*chunk));
    }
    hash
}

/// Both halves of the product of two words.
#[inline(always)]
fn mix(low: u64, high: u64) -> u64 {
    let product =
        u128::from(low ^ 0x9e37_79b9_7f4a_7c15) * u128::from(high ^ 0xd1b5_4a32_d192_ed03);
    product as u64 ^ (product >> 64) as u64
}
