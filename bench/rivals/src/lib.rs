//! Other libraries for comparison, with the vocabulary that they load, texts that they accept, and
//! their results in a comparable form.

pub mod answer;
pub mod dynamo;
pub mod encoders;
pub mod harmony;
pub mod ours;
pub mod texts;
pub mod vocabulary;
