//! Guarantees of the library beyond the conformance cases.

mod attributes;
mod declared;
mod detect;
mod guarded;
mod header;
mod history;
mod layout;
mod lints;
mod numbers;
mod pairs;
mod repair;
mod stream;
mod stripped;
mod third_party;
mod visibility;
mod wire;
