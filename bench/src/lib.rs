//! Shared code of the benchmarks: the corpus, the clock, and the description of the machine.

pub mod carriers;
pub mod clock;
pub mod corpus;
pub mod machine;
pub mod plain;
pub mod sources;
