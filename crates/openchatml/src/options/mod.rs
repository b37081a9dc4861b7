//! Options for reading and writing.

mod read;
mod render;
mod settings;

pub use self::read::{Mode, ReadOptions, Recover, Repair};
pub use self::render::{LayoutChoice, Profile, RenderOptions, Values};
pub use self::settings::DialectOptions;
