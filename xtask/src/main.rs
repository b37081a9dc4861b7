//! House rules that the compiler does not know, `cargo xtask tidy`; the fuzz targets and what they
//! begin with, `cargo xtask seeds`; the picture of the README, `cargo xtask picture`; the public API
//! of the crates, `cargo xtask public-api`.

mod code;
mod dependencies;
mod examples;
mod floors;
mod graph;
mod names;
mod picture;
mod public_api;
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
        Some("public-api") => {
            public_api::check(std::env::args().nth(2).as_deref() == Some("--update"))
        }
        Some("seeds") => match seeds::write() {
            Ok(targets) => {
                // Without a reader nobody wants to know.
                let _ = writeln!(std::io::stdout(), "{}", targets.join("\n"));
                Vec::new()
            }
            Err(error) => vec![format!("seeds: {error}")],
        },
        Some("picture") => {
            let binaries = std::env::args().nth(2).unwrap_or_else(|| "target/debug".to_owned());
            picture::draw(binaries.as_ref()).err().into_iter().collect()
        }
        _ => vec!["usage: cargo xtask tidy|seeds|picture|public-api [--update]".to_owned()],
    };
    let mut err = std::io::stderr().lock();
    for line in &found {
        // Nothing is left to be done where even stderr is gone.
        let _ = writeln!(err, "{line}");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
