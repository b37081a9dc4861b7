//! Rivals, and what it takes to run them: the vocabulary that they load, texts that they accept,
//! and their answers in a form that can be compared.

pub mod answer;
pub mod dynamo;
pub mod encoders;
pub mod harmony;
pub mod ours;
pub mod texts;
pub mod vocabulary;
