//! The process of the command, and the programs of its tools.

use openchatml_tools::CancellationToken;

use crate::console::Console;
use crate::failure::Failure;

/// Prevents the programs of tools from reading the keys in our environment.
pub(in crate::commands) fn make_non_dumpable() -> Result<(), Failure> {
    #[cfg(unix)]
    openchatml_tools::kinds::process::make_non_dumpable()
        .map_err(|error| Failure::Io(format!("cannot hide secrets from tools: {error}")))?;
    Ok(())
}

/// Ends programs with their calls, as far as the system supports it.
pub(super) fn contain(console: &Console) {
    #[cfg(unix)]
    {
        use openchatml_tools::kinds::process::{Containment, contain};

        console.detail(match contain() {
            Ok(Containment::ControlGroup) => "programs run in control groups of their own",
            Ok(Containment::Subreaper) => {
                "orphaned processes of programs become children of this command"
            }
            Err(_) => {
                "programs that change both their session and their environment cannot be found"
            }
        });
    }
    #[cfg(not(unix))]
    let _ = console;
}

/// The first interrupt ends the session in order, the second one at once.
pub(super) fn stop_on_interrupt(cancel: &CancellationToken) -> Result<(), Failure> {
    let cancel = cancel.clone();
    let handler = move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Io(format!("cannot handle signals: {error}")))
}
