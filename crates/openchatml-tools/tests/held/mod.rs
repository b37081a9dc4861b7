//! Programs whose end a test can observe.

// Each test uses only a part of this module.
#![allow(dead_code)]

use std::path::Path;
use std::time::Duration;

use openchatml_tools::kinds::process::Process;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// How long a test waits for processes to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pipe that a program and its descendants hold open. It is closed when the last of them has
/// ended.
pub(crate) struct HeldPipe {
    directory: tempfile::TempDir,
    pub(crate) pipe: BufReader<pipe::Receiver>,
    /// Keeps the pipe open until the program has written its first line.
    ours: Option<pipe::Sender>,
    /// The pipe that the program reads from before it continues.
    go: pipe::Sender,
}

impl HeldPipe {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("there is room");
        let [held, go] = ["held", "go"].map(|name| directory.path().join(name));
        let made = std::process::Command::new("mkfifo").args([&held, &go]).status();
        assert!(made.is_ok_and(|status| status.success()));
        let open = |path| pipe::OpenOptions::new().read_write(true).open_sender(path);
        let pipe = pipe::OpenOptions::new().open_receiver(&held).expect("it was made");
        let (ours, go) = (open(&held).expect("it has a reader"), open(&go).expect("it is ours"));
        Self { directory, pipe: BufReader::new(pipe), ours: Some(ours), go }
    }

    /// Waits for a line from the program.
    pub(crate) async fn word(&mut self) -> String {
        let mut line = String::new();
        let word = tokio::time::timeout(PATIENCE, self.pipe.read_line(&mut line)).await;
        word.expect("nobody says a word").expect("it is open");
        self.ours = None;
        line.trim_end().into()
    }

    /// Waits for a line from the program, and lets it continue.
    pub(crate) async fn go(&mut self) -> String {
        let word = self.word().await;
        self.let_it_go().await;
        word
    }

    /// Lets the program continue.
    pub(crate) async fn let_it_go(&mut self) {
        self.go.write_all(b"go\n").await.expect("it is open");
    }

    /// Waits until no process holds the pipe open.
    pub(crate) async fn let_go(&mut self) {
        let mut rest = Vec::new();
        let end = self.pipe.read_to_end(&mut rest);
        let end = tokio::time::timeout(PATIENCE, end).await.expect("somebody holds it");
        end.expect("it is open");
    }

    /// A program that holds the pipe open, starts a descendant that also does, and then runs
    /// `then`.
    pub(crate) fn program(&self, then: &str) -> Process {
        let sleeper = "trap '' TERM HUP INT; echo ready >&3; while :; do sleep 60; done";
        self.shell(&format!("exec 3>held; ({sleeper}) & {then}"))
    }

    /// A shell that holds the pipe open and runs this script.
    pub(crate) fn shell(&self, script: &str) -> Process {
        let mut process = Process::new("/bin/sh");
        process.args = vec!["-c".into(), script.into()];
        process.directory = Some(self.directory.path().into());
        process
    }

    /// The folder of the pipe.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }
}
