//! Commands in `docs/guide` write what they are shown to write.
//!
//! A code block with `file=NAME` in its info string is a file. In a block `console`, a line that
//! begins with `$ ` is a command, and the lines after it are what it writes, errors last. Commands
//! have words, `|` and `< FILE`, and no quotes. `UPDATE_DOCS=1` writes these blocks.

use std::path::Path;

use crate::support::Folder;

#[test]
fn guides_show_what_commands_write() {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut stale = Vec::new();
    let mut commands = 0;
    for entry in std::fs::read_dir(guides).unwrap() {
        let path = entry.unwrap().path();
        let stored = std::fs::read_to_string(&path).unwrap();
        commands += stored.lines().filter(|line| line.starts_with("$ ")).count();
        let wanted = guide(&stored);
        if stored == wanted {
            continue;
        }
        if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
            let beside = path.with_extension("md.new");
            std::fs::write(&beside, wanted).unwrap();
            std::fs::rename(&beside, &path).unwrap();
        } else {
            let lines = stored.lines().zip(wanted.lines());
            let shown = lines.into_iter().find(|(stored, wanted)| stored != wanted);
            stale.push(format!("{}: {shown:#?}", path.display()));
        }
    }
    assert!(commands > 0, "no guide shows a command");
    assert!(stale.is_empty(), "stale, run with UPDATE_DOCS=1: {stale:#?}");
}

/// The guide with what its commands write.
fn guide(text: &str) -> String {
    let folder = Folder::new();
    let mut out = String::new();
    // The info string of the block, and what is in it.
    let mut block: Option<(&str, String)> = None;
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        match &mut block {
            Some((_, content)) if !is_fence => {
                content.push_str(line);
                content.push('\n');
                continue;
            }
            Some((info, content)) => {
                let name = info.split(' ').find_map(|word| word.strip_prefix("file="));
                if let Some(name) = name {
                    folder.file(name, &content);
                }
                match *info {
                    "console" => out.push_str(&shown(&folder, content)),
                    _ => out.push_str(content),
                }
                block = None;
            }
            None if is_fence => block = Some((&line[3..], String::new())),
            None => {}
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The commands of a block, with what each of them writes.
fn shown(folder: &Folder, block: &str) -> String {
    let mut out = String::new();
    for line in block.lines() {
        let Some(line) = line.strip_prefix("$ ") else { continue };
        out.push_str(&format!("$ {line}\n"));
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
        let args = command.strip_prefix("ocml ").unwrap_or_else(|| panic!("`{line}` is not ours"));
        let ran = folder.ocml_with(args.split_whitespace(), input);
        stdout = ran.stdout;
        stderr += &ran.stderr;
    }
    if !stdout.is_empty() && !stdout.ends_with('\n') {
        stdout.push('\n');
    }
    stdout + &stderr
}
