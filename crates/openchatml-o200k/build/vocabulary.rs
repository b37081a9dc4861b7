//! The vocabulary, as merges.
//!
//! A token of one byte is that byte. Every other token is written as the two tokens that byte pair
//! encoding merges last when it encodes the bytes of the token. There is exactly one such pair,
//! and both of its tokens have lower ranks, so the bytes follow from the pairs in one pass.

use std::collections::HashMap;

use crate::joins;

/// How many tokens `o200k_base` has.
const TOKENS: u32 = 199_998;
/// The fingerprint of the token bytes in order of rank, as they are in OpenAI's
/// `o200k_base.tiktoken`, whose SHA-256 begins with `446a9538cb6c348e`.
const FINGERPRINT: u64 = 0xc7ba_5f03_2878_1837;
/// What stands in the place of the right token for a token of one byte.
const SINGLE: u32 = 0xFF_FFFF;

/// The bytes of every token, in order of rank.
pub(crate) fn tokens() -> Vec<Vec<u8>> {
    let encoding = tiktoken::encoding::o200k_base();
    assert_eq!(encoding.vocab_size(), TOKENS as usize);
    let tokens: Vec<_> = (0..TOKENS).map(|rank| encoding.decode(&[rank])).collect();
    let fingerprint = fingerprint(&tokens);
    assert_eq!(fingerprint, FINGERPRINT, "another vocabulary: {fingerprint:#x}");
    tokens
}

/// For each token, two numbers of three bytes each, the low byte first.
pub(crate) fn merges(tokens: &[Vec<u8>]) -> Vec<u8> {
    let ranks: HashMap<&[u8], u32> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    let mut written = Vec::with_capacity(tokens.len() * 6);
    for (token, rank) in tokens.iter().zip(0..) {
        let (left, right) = match token.as_slice() {
            [byte] => (u32::from(*byte), SINGLE),
            bytes => last_merge(bytes, &ranks),
        };
        assert!(right == SINGLE || (left < rank && right < rank), "{rank} before its parts");
        written.extend_from_slice(&left.to_le_bytes()[..3]);
        written.extend_from_slice(&right.to_le_bytes()[..3]);
    }
    written
}

/// The pairs of characters that tokens join, as a set of bits.
pub(crate) fn joins(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut bits = vec![0; joins::BYTES];
    for token in tokens {
        joins::of_token(token, |bit| bits[bit / 8] |= 1 << (bit % 8));
    }
    bits
}

/// FNV-1a over the length and the bytes of each token.
fn fingerprint(tokens: &[Vec<u8>]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for token in tokens {
        let length = u8::try_from(token.len()).expect("tokens are short");
        for byte in std::iter::once(length).chain(token.iter().copied()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// Merges the bytes as the encoding does, until two tokens are left.
fn last_merge(bytes: &[u8], ranks: &HashMap<&[u8], u32>) -> (u32, u32) {
    // Where each part begins, and the end.
    let mut cuts: Vec<usize> = (0..=bytes.len()).collect();
    // The rank of each part with the one after it.
    let rank = |cuts: &[usize], at: usize| {
        cuts.get(at + 2).and_then(|&end| ranks.get(&bytes[cuts[at]..end]).copied())
    };
    let mut pairs: Vec<Option<u32>> = (0..bytes.len()).map(|at| rank(&cuts, at)).collect();
    while cuts.len() > 3 {
        let lowest = (0..pairs.len()).filter(|&at| pairs[at].is_some()).min_by_key(|&at| pairs[at]);
        let at = lowest.expect("every token follows from merges");
        cuts.remove(at + 1);
        pairs.remove(at + 1);
        pairs[at] = rank(&cuts, at);
        if at > 0 {
            pairs[at - 1] = rank(&cuts, at - 1);
        }
    }
    (ranks[&bytes[..cuts[1]]], ranks[&bytes[cuts[1]..]])
}
