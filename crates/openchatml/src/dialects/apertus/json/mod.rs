//! Reads and writes messages JSON, with content as text, parts or blocks.

mod compose;
mod content;
mod read;
mod replies;
mod template;
mod write;

pub(super) use self::compose::COMPOSER;
pub(super) use self::read::read;
pub(super) use self::write::write;

use crate::model::{End, FormId};
use crate::rules::Carries;

/// The origin of conversations that are read from this JSON or written to it.
pub(super) const ORIGIN: FormId = FormId::new("apertus:json");

pub(super) static CARRIES: Carries = Carries {
    tools: true,
    // Ids are in calls, as in the calls of OpenAI.
    call_ids: true,
    ends: &[End::End, End::Call],
    makes_calls: true,
    ..super::CARRIES
};
