//! Rare cases: copies of everything, events that no format produces, all losses and all errors of
//! writers.

mod copies;
mod events;
mod losses;
mod refusals;
mod schemas;
mod sinks;
mod types;
mod words;
