//! The example programs of a crate, compared with their recorded output.
//!
//! `examples/NAME.txt` next to `examples/NAME.rs` contains command lines and their output: a line
//! `$ cargo run … --example NAME -- ARGUMENTS`, then standard output, then standard error. Programs
//! run in the root of the repository. `UPDATE_DOCS=1` updates these files.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::markdown::{keep, push_line};

/// Runs the example programs of the crate in `folder` that have recorded output, and compares.
///
/// Call it from an integration test. `cargo test` builds the examples of a crate together with its
/// tests, but not if `--test` selects one of them.
///
/// # Panics
///
/// An output differs, a program fails or is missing, or no example has recorded output.
pub fn check(folder: &str) {
    let folder = Path::new(folder);
    let entries = std::fs::read_dir(folder.join("examples")).expect("there is a folder examples");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut recorded: Vec<_> = paths.filter(|path| has_extension(path, "txt")).collect();
    recorded.sort();
    assert!(!recorded.is_empty(), "{}: no example has recorded output", folder.display());
    for path in recorded {
        let stored = std::fs::read_to_string(&path).expect("it can be read");
        let commands = stored.lines().filter_map(|line| line.strip_prefix("$ "));
        let mut out = String::new();
        for command in commands {
            push_line(&mut out, &format!("$ {command}"));
            out.push_str(&output(folder, command));
        }
        assert!(!out.is_empty(), "{}: it contains no command", path.display());
        keep(&path, &out);
    }
}

/// Returns what the program of this command line writes.
fn output(folder: &Path, command: &str) -> String {
    let words: Vec<_> = command.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "--example");
    let name = at.and_then(|at| words.get(at + 1)).expect("the command names an example");
    let arguments =
        words.iter().position(|word| *word == "--").map_or(&[][..], |at| &words[at + 1..]);
    let program = programs().join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let ran = Command::new(&program).args(arguments).current_dir(folder.join("../..")).output();
    let ran = ran.unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo test -p CRATE` without `--test` builds it", program.display())
    });
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    let (stdout, stderr) = (text(ran.stdout), text(ran.stderr));
    assert!(ran.status.success(), "{command}: {}\n{stderr}", ran.status);
    stdout + &stderr
}

/// Returns the folder of the example programs: next to the folder of the running test.
fn programs() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test is known");
    let profile = test.parent().and_then(Path::parent).expect("it is in `deps`, in a profile");
    profile.join("examples")
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}
