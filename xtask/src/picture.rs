//! The picture of the README: a terminal with real output of the command.

use std::path::Path;
use std::process::Command;

/// The file of the picture.
const PICTURE: &str = "docs/picture.svg";

/// The folder in which the commands run.
const FOLDER: &str = "examples";

/// The commands that the picture shows.
const COMMANDS: &[&str] = &[
    "ocml show completion.txt",
    "ocml convert -t openai completion.txt",
    "ocml check train.jsonl",
    "ocml convert -t chatml train.jsonl",
];

/// The style of what a person types.
const TYPED: &str = "\u{1b}[1m";

const PLAIN: &str = "\u{1b}[0m";

/// Runs the commands, and draws what they write. The binary is in the folder `binaries`.
pub(crate) fn draw(binaries: &Path) -> Result<(), String> {
    let binaries = binaries.canonicalize();
    let binaries = &binaries.map_err(|error| format!("the folder of the command: {error}"))?;
    let mut text = String::new();
    for command in COMMANDS {
        text.push_str(&format!("{TYPED}$ {command}{PLAIN}\n"));
        text.push_str(&run(binaries, command)?);
        text.push('\n');
    }
    let svg = anstyle_svg::Term::new().render_svg(text.trim_end());
    std::fs::write(PICTURE, svg).map_err(|error| format!("{PICTURE}: {error}"))
}

/// Returns what a command writes, messages first.
fn run(binaries: &Path, command: &str) -> Result<String, String> {
    let mut words = command.split(' ');
    let program = binaries.join(words.next().unwrap_or_default());
    let mut process = Command::new(&program);
    process.args(words).args(["--color", "always"]).current_dir(FOLDER);
    let output = process.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let [data, messages] = text;
    let data = if data.is_empty() || data.ends_with('\n') { data } else { data + "\n" };
    Ok(data + &messages)
}
