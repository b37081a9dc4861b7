//! What all writers share: sinks, escaping, and errors.

mod error;
mod escape;
mod json_style;
mod raw;
mod read_back;
mod sink;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use self::error::{Place, RenderError};
pub use self::escape::Escaper;
pub use self::json_style::JsonStyle;
pub(crate) use self::raw::{write_pieces, write_raw};
pub use self::sink::{Part, PlainOpening, Sink, SinkError};
pub use self::text::TextSink;
pub(crate) use self::value::{check_value, find_control};
