//! The commands in `docs/guide` have the output that the guide shows.
//!
//! A code block with `file=NAME` in its info string is a file. In a block `console`, a line that
//! begins with `$ ` is a command, and the lines after it are what it writes, errors last. Commands
//! have words, `|` and `< FILE`, and no quotes; beside `ocml`, there are `cat FILE` and `head -N`. `UPDATE_DOCS=1` writes these blocks.

use openchatml_testkit::markdown::{keep_guides, push_line, with_blocks};

use crate::support::{self, Folder, run};

#[test]
fn guides_show_what_commands_write() {
    let mut commands = 0;
    keep_guides(|text, _| {
        commands += text.lines().filter(|line| line.starts_with("$ ")).count();
        guide(text)
    });
    assert!(commands > 0, "no guide shows a command");
}

/// The guide with the actual output of its commands.
fn guide(text: &str) -> String {
    let folder = Folder::new();
    with_blocks(text, |info, content| {
        let name = info.split(' ').find_map(|word| word.strip_prefix("file="));
        if let Some(name) = name {
            folder.file(name, content);
        }
        (info == "console").then(|| shown(&folder, content))
    })
}

/// The commands of a block, each with its output.
fn shown(folder: &Folder, block: &str) -> String {
    let mut out = String::new();
    for line in block.lines() {
        let Some(line) = line.strip_prefix("$ ") else { continue };
        push_line(&mut out, &format!("$ {line}"));
        out.push_str(&written(folder, line));
    }
    out
}

fn written(folder: &Folder, line: &str) -> String {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for command in line.split(" | ") {
        let (command, input) = match command.split_once(" < ") {
            Some((command, file)) => (command, folder.read(file)),
            None => (command, stdout),
        };
        if let Some(file) = command.strip_prefix("cat ") {
            stdout = folder.read(file);
            continue;
        }
        if let Some(count) = command.strip_prefix("head -") {
            let lines = input.lines().take(count.parse().unwrap());
            stdout = lines.map(|line| format!("{line}\n")).collect();
            continue;
        }
        let args = command.strip_prefix("ocml ").unwrap_or_else(|| panic!("`{line}` is not ours"));
        // A guide that forgets `--date` must not depend on the day.
        let mut ocml = support::command(words(args));
        let ran = run(ocml.current_dir(folder.path()).env("SOURCE_DATE_EPOCH", "0"), input);
        stdout = ran.stdout;
        stderr += &ran.stderr;
    }
    if !stdout.is_empty() && !stdout.ends_with('\n') {
        stdout.push('\n');
    }
    stdout + &stderr
}

/// The words of a command, of which some are in single quotes.
fn words(args: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (index, piece) in args.split('\'').enumerate() {
        let is_quoted = index % 2 == 1;
        let mut parts = piece.split(|c: char| !is_quoted && c == ' ');
        if let (Some(last), Some(first)) = (words.last_mut(), parts.next()) {
            last.push_str(first);
        }
        words.extend(parts.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}
