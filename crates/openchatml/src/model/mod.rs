//! The model of a conversation, which every dialect reads into and writes from.

mod beyond;
mod body;
mod build;
mod conversation;
mod form;
mod function;
mod header;
mod infill;
mod layout;
mod message;
mod pair;
mod raw;
mod weight;

pub(crate) use self::beyond::Beyond;
pub use self::body::{Body, Segment, Segments};
pub use self::conversation::{Content, Conversation, Document, Part, Tool};
pub(crate) use self::form::FormId;
pub use self::function::function_name;
pub(crate) use self::function::{bare_name, whole_name};
pub use self::header::Header;
pub use self::infill::{Infill, InfillOrder};
pub(crate) use self::layout::{DocumentLayout, Layout, Shape, untrain};
pub use self::message::{Message, Visibility};
pub(crate) use self::message::{PiecePlace, Pieces};
pub use self::pair::Pair;
pub(crate) use self::raw::{Raw, RawPiece, RawRest};
pub use self::weight::Weight;
pub use crate::roles::{Channel, End, Intent, Marker, Role};
