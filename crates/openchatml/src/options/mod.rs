//! How to read and how to write.

mod read;
mod render;

pub use self::read::{Mode, ReadOptions, Recover};
pub use self::render::{Close, LayoutChoice, Profile, RenderOptions, Values};
