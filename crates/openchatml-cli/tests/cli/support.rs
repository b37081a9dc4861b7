//! Running the command, and documents for it.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A valid transcript with every kind of message.
pub(crate) const GOOD: &str = "\
version: 2.2
model: gpt-oss-120b

<|start|>system<|message|>SECRET system.<|end|>
<|start|>developer<|message|>SECRET developer.<|end|>
<|start|>user<|message|>What's the weather in Tokyo?<|end|>
<|start|>assistant<|channel|>analysis<|message|>SECRET thought.<|end|>
<|start|>assistant intent=preamble<|channel|>commentary<|message|>I look it up.<|end|>
<|start|>assistant to=functions.weather call_id=wx1<|channel|>commentary<|constrain|>json<|message|>{\"q\":\"SECRET\"}<|call|>
<|start|>tool name=functions.weather call_id=wx1 to=assistant<|channel|>commentary<|message|>{\"ok\":true,\"content\":\"SECRET\"}<|end|>
<|start|>assistant<|channel|>final<|message|>It is 20 °C.<|return|>
";

/// A transcript with several faults.
pub(crate) const BAD: &str = "\
version: 2.2

<|start|>user<|message|>Hi<|end|>
stray words
<|start|>assistant<|channel|>finl<|message|>Hello<|end|>
<|start|>assistant<|channel|>final<|message|>never ends
";

/// Three messages as canonical JSON.
pub(crate) const MESSAGES: &str = r#"{"messages":[{"role":"user","content":"What is 2 + 2?"},{"role":"assistant","channel":"analysis","content":"Easy."},{"role":"assistant","channel":"final","content":"4."}]}"#;

/// The result of running the command.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clip = |text: &str| text.chars().take(2000).collect::<String>();
        write!(f, "status {}\nstdout:\n{}\n", self.status, clip(&self.stdout))?;
        write!(f, "stderr:\n{}", clip(&self.stderr))
    }
}

impl Ran {
    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self:#?}");
        self
    }

    /// Checks that the command succeeded and wrote nothing on standard error.
    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert_eq!(self.stderr, "", "{self:#?}");
        self.exits(0)
    }

    /// Checks that standard error has one line and standard output none.
    #[track_caller]
    pub(crate) fn says_one_line(self, status: i32) -> String {
        assert_eq!(self.stdout, "", "{self:#?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:#?}");
        assert!(self.stderr.starts_with("error: ") && self.stderr.ends_with('\n'), "{self:#?}");
        self.exits(status).stderr
    }

    /// Standard error, which must contain these words.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "no {words:?} in {self:#?}");
        self
    }
}

/// The command with a clean environment.
pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocml"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS"] {
        command.env_remove(name);
    }
    command.args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command, with `input` on its standard input.
pub(crate) fn run(command: &mut Command, input: impl AsRef<[u8]>) -> Ran {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref().to_vec();
    // In a separate thread: the command may write before it has read everything.
    let writer = std::thread::spawn(move || {
        // The command need not read all of its input.
        let _ = stdin.write_all(&input);
    });
    let ran = finish(child);
    writer.join().unwrap();
    ran
}

/// Waits for the end of a command.
pub(crate) fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the command with nothing on its standard input.
pub(crate) fn ocml<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    run(&mut command(args), "")
}

/// Runs the command with `input` on its standard input.
pub(crate) fn ocml_with<A: AsRef<OsStr>>(
    args: impl IntoIterator<Item = A>,
    input: impl AsRef<[u8]>,
) -> Ran {
    run(&mut command(args), input)
}

/// A folder for one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// The names of all files, hidden ones included, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the command in this folder.
    pub(crate) fn ocml<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        self.ocml_with(args, "")
    }

    /// Runs the command in this folder with `input` on its standard input.
    pub(crate) fn ocml_with<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: impl AsRef<[u8]>,
    ) -> Ran {
        run(command(args).current_dir(self.0.path()), input)
    }
}

/// Parses JSON.
#[track_caller]
pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
