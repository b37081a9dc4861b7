//! JSON documents: what readers and writers of all JSON formats share.

mod keys;
mod known;
mod message;
mod pair;
mod reader;
mod segment;
mod shape;
mod tool;
mod write;

pub(crate) use self::keys::{Key, Keys, Others, is_harmless, may_hide, same};
pub(crate) use self::known::Known;
pub(crate) use self::message::{Speaker, Written};
pub(crate) use self::pair::{
    continued, continued_at, is_pair, one_side, read_pair, shared_turns, write_pair,
};
pub(crate) use self::reader::DocumentReader;
pub(crate) use self::shape::{Root, read_messages, write_shaped};
pub(crate) use self::tool::function_of;
pub(crate) use self::write::{
    write_function, write_header, write_message, write_string_field, write_tool,
};

use crate::lex::{Escape, TokenTable};

/// The control tokens of a dialect that has only a JSON form.
pub(crate) static NO_TOKENS: TokenTable = TokenTable::new(&[], Escape::None);
