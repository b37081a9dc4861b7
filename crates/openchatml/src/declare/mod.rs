//! Declarations of tools, as models read them.

mod schema;
mod typescript;

pub use self::typescript::{Style, Unsaid, typescript};
