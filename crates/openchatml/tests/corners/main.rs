//! Rare cases: copies of everything, events that no format produces, all losses and all errors of
//! writers. What a conformance case cannot say: the words of a help, and what changed documents become.

mod contents;
mod copies;
mod documents;
mod elements;
mod events;
mod losses;
mod model;
mod prompts;
mod reasoning;
mod refusals;
mod schemas;
mod services;
mod sinks;
mod streams;
mod texts;
mod types;
mod unopened;
mod values;
mod words;
