//! Reports what is uncertain in the completions of a run.

use openchatml::Recognized;
use openchatml_tools::Session;

use crate::console::Console;
use crate::failure::Status;

/// Reports what is uncertain in the completions.
pub(super) fn tell(session: &Session, console: &Console) -> Status {
    let mut status = Status::Fine;
    if session.has_shown_reasoning() {
        status = Status::Found;
        console.error(
            "text that was shown as an answer turned out to be reasoning (`--open-reasoning` is for models that always think)",
        );
    }
    if let Some(Recognized { name, help, .. }) = session.recognized() {
        status = Status::Found;
        console.error(&format!("the completion looks like {name}: {help}"));
    }
    if session.has_uncertain_call() {
        status = Status::Found;
        console
            .error("a call was not run, because it is uncertain that the model makes it (see -v)");
    }
    status
}
