//! `ocml run` at a terminal, where a person approves calls.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{QUESTION, call, folder, is_valid};
use crate::support::command;

/// A person at a terminal, and the output so far.
struct Person {
    terminal: File,
    seen: Vec<u8>,
}

impl Person {
    /// Starts a command at a terminal with this text already typed. Only the command has its end of
    /// the terminal, so reading stops when the command ends.
    fn starts(mut command: Command, typed: &str) -> (Self, Child) {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let end = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let mut person = Self { terminal: terminal.into(), seen: Vec::new() };
        person.types(typed);
        let child = command.stdin(end.try_clone().unwrap()).stderr(end).spawn().unwrap();
        (person, child)
    }

    fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until this text appears after the output so far.
    fn sees(&mut self, words: &str) -> String {
        let mut byte = [0];
        while !String::from_utf8_lossy(&self.seen).contains(words) {
            self.terminal.read_exact(&mut byte).unwrap();
            self.seen.extend(byte);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.seen)).into_owned()
    }
}

/// Text typed before a question is no answer to it, and approvals are asked for in order.
#[test]
fn a_person_at_a_terminal_approves_calls() {
    let calls: String =
        (1..=3).map(|n| format!("<|start|>assistant{}\n", call(n, "note"))).collect();
    let folder = folder(&format!("{QUESTION}{calls}"));
    let mut command =
        command(["run", "--tools", "tools.toml", "--in-place", "--approve", "always", "chat.ocml"]);
    command.current_dir(folder.path());
    let (mut person, mut child) = Person::starts(command, "y\ny\n");
    let asked = person.sees("dit the arguments: ");
    assert!(asked.contains("functions.note {\"n\":1}"), "{asked}");
    person.types("n too early\n");
    let asked = person.sees("dit the arguments: ");
    assert!(asked.contains("functions.note {\"n\":2}"), "{asked}");
    person.types("e\n");
    person.sees("on one line: ");
    person.types("{\"n\":\"two\"}\n");
    let asked = person.sees("dit the arguments: ");
    assert!(asked.contains("The arguments are invalid"), "{asked}");
    person.types("e\n");
    person.sees("on one line: ");
    person.types("{\"n\":22}\n");
    let asked = person.sees("dit the arguments: ");
    assert!(asked.contains("functions.note {\"n\":3}"), "{asked}");
    person.types("y\n");
    assert!(child.wait().unwrap().success());
    // Approved calls run concurrently.
    let log = folder.read("log");
    let mut made: Vec<_> = log.lines().collect();
    made.sort_unstable();
    assert_eq!(made, ["{\"n\":22}", "{\"n\":3}"]);
    let text = folder.read("chat.ocml");
    is_valid(&text);
    assert!(text.contains("E-TOOL-CANCELLED") && text.contains("too early"), "{text}");
}
