//! Many concurrent calls with a simulated clock: each ends exactly once.

use arbitrary::Unstructured;

use super::schedule::{self, Schedule, Tally};

/// The bytes that a seed generates (splitmix64).
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)).to_le_bytes()
    };
    (0..len / 8).flat_map(|_| next()).collect()
}

/// The largest number of bytes that the generator uses for one call.
const BYTES_OF_A_CALL: usize = 24;

#[expect(clippy::print_stderr, reason = "a failing test tells how to run it again")]
fn simulate(seeds: u64, calls: usize) {
    let mut all = Tally::default();
    // Keeps a thousand expected panics out of standard error.
    std::panic::set_hook(Box::new(|info| {
        if !info.to_string().contains("a secret of the tool") {
            eprintln!("{info}");
        }
    }));
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first = number("OPENCHATML_SEED").unwrap_or(0);
    for seed in first..first + number("OPENCHATML_SEEDS").unwrap_or(seeds) {
        let bytes = bytes(seed, calls * BYTES_OF_A_CALL);
        let schedule = Schedule::any(&mut Unstructured::new(&bytes), calls);
        let run = || schedule::run(&schedule);
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(tally) => {
                all.calls += tally.calls;
                all.answered += tally.answered;
                all.cancelled += tally.cancelled;
                all.late += tally.late;
            }
            Err(panic) => {
                eprintln!("failed with OPENCHATML_SEED={seed} and {calls} calls");
                std::panic::resume_unwind(panic);
            }
        }
    }
    // The simulation must reach each outcome often enough.
    let least = [(all.answered, 30), (all.cancelled, 25), (all.late, 10)];
    assert!(least.iter().all(|(calls, percent)| calls * 100 >= all.calls * percent), "{all:?}");
}

#[test]
fn each_of_a_hundred_calls_has_one_outcome() {
    simulate(1_000, 100);
}

#[test]
fn each_of_a_thousand_calls_has_one_outcome() {
    simulate(20, 1_000);
}
