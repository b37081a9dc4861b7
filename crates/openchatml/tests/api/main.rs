//! What the library promises beyond what the conformance cases say.

mod attributes;
mod detect;
mod header;
mod history;
mod layout;
mod numbers;
mod stream;
mod third_party;
mod visibility;
mod wire;
