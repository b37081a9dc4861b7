//! The command `ocml`.

use std::process::ExitCode;

fn main() -> ExitCode {
    openchatml_cli::run(std::env::args_os()).into()
}
