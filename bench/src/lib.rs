//! What the benchmarks share: the corpus, and the clock.

pub mod clock;
pub mod corpus;
