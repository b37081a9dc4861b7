//! Whether a call may run: only one that is certain does (OpenChatML 2.2 §8).

use std::collections::HashSet;
use std::time::Duration;

use openchatml::{Code, Message};

use super::Core;
use super::reply::Addressee;
use crate::{Entry, Failure};

/// A call that may run.
pub(super) struct Admission {
    pub(super) addressee: Addressee,
    pub(super) tool: Entry,
    pub(super) arguments: String,
    /// How long it may take.
    pub(super) deadline: Duration,
}

/// Why a call may not run.
pub(super) struct Refusal {
    pub(super) failure: Failure,
    /// Whether the id of the call is its own, so that the reply can say which call it is for.
    pub(super) has_own_id: bool,
}

impl Core {
    /// Whether a call may run, in a conversation whose calls have had the ids in `taken`.
    pub(super) fn admit(
        &self,
        message: &Message<'_>,
        taken: &HashSet<String>,
    ) -> Result<Admission, Refusal> {
        let call_id = message.call_id.as_deref();
        let has_own_id = call_id.is_some_and(|id| !taken.contains(id));
        let refuse = |code, text: String| {
            let failure = Failure::with_code(code, text);
            Err(Refusal { failure, has_own_id })
        };
        if !has_own_id {
            return refuse(Code::ParseHeader, "the call has no call_id of its own".to_owned());
        }
        let name = message.recipient.as_deref().unwrap_or_default();
        let Some(known) = self.tools.get(name) else {
            return refuse(
                Code::CallUnknown,
                format!("there is no tool `{}`", name.escape_debug()),
            );
        };
        Ok(Admission {
            addressee: Addressee::of(message, true),
            tool: known.entry.clone(),
            arguments: message.body.text().into_owned(),
            deadline: known.entry.timeout.unwrap_or(self.options.timeout).min(self.options.longest),
        })
    }
}
