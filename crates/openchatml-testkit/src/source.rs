//! The sources of randomness: seeds of tests, or the bytes of a fuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub use arbitrary::Unstructured as Source;

/// Returns `count` seeds, or as many as `OPENCHATML_CASES` says, starting at `OPENCHATML_SEED`.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    let variable = |name| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first = variable("OPENCHATML_SEED").unwrap_or(0);
    first..first + variable("OPENCHATML_CASES").unwrap_or(count)
}

/// Runs `property` with `count` random sources, or as many as `OPENCHATML_CASES` says.
///
/// After a failure, the source is shortened while the property still fails, and the smallest seed
/// is reported.
///
/// # Panics
///
/// The property panics.
pub fn cases(count: usize, property: impl Fn(&mut Source<'_>)) {
    for seed in seeds(count as u64) {
        let bytes = random_bytes(seed);
        let run = |len: usize| {
            catch_unwind(AssertUnwindSafe(|| property(&mut Source::new(&bytes[..len]))))
        };
        let Err(mut panic) = run(bytes.len()) else { continue };
        let mut len = bytes.len();
        let mut step = len / 2;
        while step > 0 {
            match run(len - step) {
                Err(smaller) => {
                    panic = smaller;
                    len -= step;
                    step = step.min(len / 2);
                }
                Ok(()) => step /= 2,
            }
        }
        eprint_seed(seed, len);
        resume_unwind(panic);
    }
}

#[expect(clippy::print_stderr, reason = "a failing test tells how to run it again")]
fn eprint_seed(seed: u64, len: usize) {
    eprintln!("failed with OPENCHATML_SEED={seed}, the first {len} bytes of it");
}

/// Returns the bytes of a seed (splitmix64). Their number depends on the seed.
pub(crate) fn random_bytes(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1);
    let mut next = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let len = 32 << (next() % 6);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(next().to_le_bytes());
    }
    bytes
}

/// Returns one of `items`.
pub fn pick<T: Copy>(source: &mut Source<'_>, items: &[T]) -> T {
    let last = items.len() - 1;
    items[source.int_in_range(0..=last).unwrap_or(0)]
}

/// Returns `true` once in `n` times.
pub fn one_in(source: &mut Source<'_>, n: u8) -> bool {
    source.int_in_range(1..=n).unwrap_or(n) == 1
}
