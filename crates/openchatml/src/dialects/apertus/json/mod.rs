//! Messages as JSON: with content as text, or with parts and blocks.

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

/// Where conversations come from that were read as JSON, or are about to be written so.
pub(super) const ORIGIN: FormId = FormId::new("apertus:json");

pub(super) static CARRIES: Carries = Carries {
    tools: true,
    // As the calls of OpenAI have them.
    call_ids: true,
    ends: &[End::End, End::Call],
    makes_calls: true,
    ..super::CARRIES
};
