//! `cargo xtask tidy` checks rules that the compiler does not check. `cargo xtask seeds` writes the
//! seeds of the fuzz targets. `cargo xtask picture` draws the picture of the README.
//! `cargo xtask public-api` compares the public API with its lists. `cargo xtask sbom` writes a bill of
//! materials of the command, and `cargo xtask sbom FOLDER wheel` one of the Python package.
//! `cargo xtask mutants` tries small changes of the core, one at a time.

mod code;
mod dependencies;
mod examples;
mod floors;
mod graph;
mod mutants;
mod names;
mod picture;
mod public_api;
mod sbom;
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
                // A closed output is ignored.
                let _ = writeln!(std::io::stdout(), "{}", targets.join("\n"));
                Vec::new()
            }
            Err(error) => vec![format!("seeds: {error}")],
        },
        Some("picture") => {
            let binaries = std::env::args().nth(2).unwrap_or_else(|| "target/debug".to_owned());
            picture::draw(binaries.as_ref()).err().into_iter().collect()
        }
        Some("mutants") => mutants::try_all(std::env::args().nth(2).as_deref()),
        Some("sbom") => {
            let folder = std::env::args().nth(2).unwrap_or_else(|| "target/sbom".to_owned());
            let is_wheel = std::env::args().nth(3).as_deref() == Some("wheel");
            let product = if is_wheel { sbom::Product::WHEEL } else { sbom::Product::COMMAND };
            sbom::write(folder.as_ref(), product)
        }
        _ => vec!["usage: cargo xtask tidy|seeds|picture|public-api|sbom|mutants".to_owned()],
    };
    let mut err = std::io::stderr().lock();
    for line in &found {
        // A closed standard error is ignored.
        let _ = writeln!(err, "{line}");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
