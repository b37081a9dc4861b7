//! Which reply answers which call: that of its id, or the one that waits longest.

use crate::pairing::{Paired, Pairs};

/// The calls of the last list, and which of them have replies. Reading and writing go the same way.
#[derive(Debug, Default)]
pub(super) struct Replies {
    calls: Pairs,
}

/// What a reply answers.
#[derive(Debug, Default)]
pub(super) struct Answered<'r> {
    /// The tool of the call.
    pub(super) tool: Option<&'r str>,
    /// Whether a call before that one still waits.
    pub(super) is_early: bool,
}

impl Replies {
    /// Begins a list of calls, or a turn that has none yet.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.calls.len() > 0 {
            self.calls.clear();
        }
    }

    /// Takes a call. An id that is taken is none.
    pub(super) fn call(&mut self, id: Option<&str>, recipient: &str) {
        let known = self.calls.call(id, recipient);
        known.or_else(|| self.calls.call(None, recipient));
    }

    /// Takes a reply. What answers nothing that is asked answers what was asked first.
    pub(super) fn reply(&mut self, id: Option<&str>) -> Answered<'_> {
        let oldest = self.calls.oldest();
        let call = match self.calls.reply(id, None) {
            Paired::Again(_) | Paired::Unknown => self.calls.reply(None, None),
            answer => answer,
        };
        match call {
            Paired::Answer(call) => {
                Answered { tool: Some(self.calls.tool(call)), is_early: oldest != Some(call) }
            }
            _ => Answered::default(),
        }
    }
}
