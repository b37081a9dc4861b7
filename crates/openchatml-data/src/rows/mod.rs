//! Rows of Arrow batches as records: texts and JSON.

mod json;
mod text;

pub(crate) use self::json::{JsonColumn, key, write_fields};
pub(crate) use self::text::TextColumn;
