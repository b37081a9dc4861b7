//! Tools whose calls are recorded before they run.

use std::sync::Arc;

use super::journal::Journal;
use crate::{Call, Entry, Failure, Tool, ToolFuture, Toolbox};

/// Returns the same tools. Tools that are not idempotent write to the journal before each call.
pub(super) fn guarded(tools: &Toolbox, journal: &Arc<Journal>) -> Toolbox {
    let mut guarded = Toolbox::default();
    for (name, entry) in tools.iter() {
        let mut entry: Entry = entry.clone();
        if !entry.is_idempotent {
            entry.tool = Arc::new(RecordedTool { tool: entry.tool, journal: journal.clone() });
        }
        guarded.insert(name, entry).expect("the name was good in the other toolbox");
    }
    guarded
}

struct RecordedTool {
    tool: Arc<dyn Tool>,
    journal: Arc<Journal>,
}

impl Tool for RecordedTool {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(async move {
            let (journal, id) = (self.journal.clone(), call.call_id().to_owned());
            let noted = tokio::task::spawn_blocking(move || journal.record_start(&id)).await;
            match noted {
                Ok(Ok(())) => self.tool.call(call).await,
                // An unrecorded call could run again after a crash.
                _ => Err(Failure::new(
                    "the call did not run, because it could not be recorded before",
                )),
            }
        })
    }
}
