//! What the library promises beyond what the conformance cases say.

mod attributes;
mod detect;
mod header;
mod history;
mod layout;
mod lints;
mod numbers;
mod stream;
mod stripped;
mod third_party;
mod visibility;
mod wire;
