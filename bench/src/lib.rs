//! What the benchmarks share: the corpus, the clock, and what is said about the machine.

pub mod carriers;
pub mod clock;
pub mod corpus;
pub mod machine;
pub mod plain;
pub mod sources;
