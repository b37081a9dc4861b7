//! Analyzes the source of a template before it runs.

mod literals;
mod operands;
mod operators;
mod rewrite;
mod scan;

pub(crate) use self::literals::Literals;
pub(crate) use self::operators::crowded_tag;
pub(crate) use self::rewrite::{Names, Rewritten, rewrite};
