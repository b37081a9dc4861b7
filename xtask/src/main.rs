//! House rules that the compiler does not know, `cargo xtask tidy`, and the fuzz targets and what they
//! begin with, `cargo xtask seeds`.

mod code;
mod dependencies;
mod examples;
mod floors;
mod graph;
mod names;
mod seeds;
mod sources;

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let found = match task.as_deref() {
        Some("tidy") => {
            let mut found = sources::check();
            found.extend(dependencies::check());
            found.extend(examples::check());
            found.extend(floors::check());
            found.extend(names::check());
            found
        }
        Some("seeds") => match seeds::write() {
            Ok(targets) => {
                // Without a reader nobody wants to know.
                let _ = writeln!(std::io::stdout(), "{}", targets.join("\n"));
                Vec::new()
            }
            Err(error) => vec![format!("seeds: {error}")],
        },
        _ => vec!["usage: cargo xtask tidy|seeds".to_owned()],
    };
    let mut err = std::io::stderr().lock();
    for line in &found {
        // Nothing is left to be done where even stderr is gone.
        let _ = writeln!(err, "{line}");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
