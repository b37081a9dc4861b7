//! What the library promises beyond what the conformance cases say.

mod cancel;
mod detect;
mod header;
mod history;
mod numbers;
mod third_party;
mod visibility;
