//! The canonical JSON of this project: everything that a [`Document`](crate::Document) holds, one
//! object per document.

mod read;
mod write;

pub(crate) use self::read::function_of;
pub(crate) use self::write::{
    message as write_message, string_field as write_string_field, write_function, write_header,
    write_tool,
};

use super::{Dialect, JsonForm};
use crate::convert::Carries;
use crate::lex::{Controls, Escape};

/// Canonical JSON.
///
/// ```
/// use openchatml::{Carrier, Conversation, Format, Message, RenderOptions, dialects, render};
///
/// let format = Format::new(&dialects::JSON, Carrier::Json).expect("it has it");
/// let document = Conversation::from_messages([Message::answer("4.")]).into();
/// assert_eq!(
///     render(&document, format, &RenderOptions::default())?,
///     r#"{"messages":[{"role":"assistant","channel":"final","content":"4."}]}"#,
/// );
/// # Ok::<(), openchatml::RenderError>(())
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "json",
    title: "canonical JSON",
    controls: &CONTROLS,
    carries: &Carries::EVERYTHING,
    text: None,
    json: Some(JsonForm {
        read: read::read,
        write: write::write,
        carries: &Carries::EVERYTHING,
        composer: None,
    }),
};

/// JSON needs no control tokens.
pub(super) static CONTROLS: Controls = Controls::new(&[], Escape::None);
