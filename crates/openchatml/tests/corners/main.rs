//! What is rare: copies of everything, events that no format makes by itself, all that can be lost
//! and all that is refused.

mod copies;
mod events;
mod losses;
mod refusals;
mod schemas;
mod sinks;
mod types;
mod words;
