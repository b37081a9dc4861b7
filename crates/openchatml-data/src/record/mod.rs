//! One record of a data set: the document in it, its format, what may be lost, and what becomes of
//! it if it is rejected. The command reads its lines with these functions, too.

mod consent;
mod decode;
mod finding;
mod finding_json;
mod format;
mod json;
mod kept_messages;
mod lints;
mod page;
mod purpose;
mod reader;
mod reject;
mod slot;

pub use self::consent::Consent;
pub use self::decode::Decoded;
pub use self::finding::{finding, is_json};
pub use self::finding_json::{PlaceSpan, write, write_object};
pub use self::format::{
    RecordFormat, document_of_record, document_of_text, foreign, of_document, of_documents,
    of_record, of_records,
};
pub use self::json::escape;
pub use self::kept_messages::KeptMessages;
pub use self::lints::add_lints;
pub use self::page::Page;
pub use self::purpose::Purpose;
pub use self::reader::{RecordReader, is_empty, nothing};
pub use self::reject::{reject, unknown_reject};
pub use self::slot::{Slot, detect_lines};
