//! Programs as tools: the arguments are the standard input, and the result is the standard output.

mod cgroup;
mod contain;
mod group;
mod mark;
mod orphans;
mod run;
mod watchdog;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use openchatml::{Code, Data, Value};
use tokio::process::Command;

pub use self::contain::{Containment, contain, contain_by};
#[cfg_attr(not(feature = "mcp"), allow(unused_imports, reason = "servers are programs"))]
pub(crate) use self::group::Group;
pub use self::group::ended;
#[cfg_attr(not(feature = "python"), allow(unused_imports, reason = "a sandbox hides it"))]
pub(crate) use self::mark::MARK;
#[cfg_attr(
    not(feature = "python"),
    allow(unused_imports, reason = "an interpreter is listened to")
)]
pub(crate) use self::run::{
    Bounds, CollectedOutput, OutputSink, ProgramOutput, RunError, drain, pump, run,
};
use crate::{Call, Failure, Outcome, Output, Tool, ToolFuture};

/// A program as a tool. Each call starts the program once.
///
/// The standard input is the arguments of the call, byte for byte. The result is everything that
/// the program wrote before it ended. The program leads its own process group. The whole group is
/// killed when the program ends, when the call is dropped, when the output exceeds
/// [`ProcessLimits::output_bytes`], and when this process ends for any reason (a shell watches for
/// that). On Linux, descendants that left the group (`setsid`) are killed as well if they kept
/// `OPENCHATML_PROCESS` in their environment, or if [`contain`] is active. Run untrusted code in a
/// sandbox.
///
/// The program sees only these environment variables: those of [`inherit`](Self::inherit) and of
/// [`env`](Self::env), `OPENCHATML_PROCESS`, which identifies its descendants, and `PWD` if a shell
/// sets the limits.
///
/// ```
/// use openchatml_tools::kinds::process::{Process, ResultFormat};
/// use openchatml_tools::{Call, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut upper = Process::new("tr");
/// upper.args = vec!["a-z".into(), "A-Z".into()];
/// upper.result = ResultFormat::Text;
/// let output = upper.call(&Call::new("functions.upper", "c1", "oslo")).await.unwrap();
/// assert_eq!(output.content.as_str(), Some("OSLO"));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// The program. Without a slash, it is searched in `PATH`.
    pub program: PathBuf,
    /// The arguments. No shell interprets them.
    pub args: Vec<OsString>,
    /// The environment variables of the program.
    pub env: Vec<(OsString, OsString)>,
    /// The environment variables of this process that the program inherits.
    pub inherit: Vec<OsString>,
    /// The working directory. The default is that of this process.
    pub directory: Option<PathBuf>,
    /// The form of the output.
    pub result: ResultFormat,
    /// The limits of the program.
    pub limits: ProcessLimits,
}

/// The form of the output of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultFormat {
    /// One JSON value. Other output is `E-TOOL-OUTPUT`.
    #[default]
    Json,
    /// JSON if the output is JSON, otherwise text.
    JsonOrText,
    /// Text, even if it is JSON.
    Text,
}

/// The limits of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessLimits {
    /// The maximum size of the output, in bytes. A program that writes more is killed.
    pub output_bytes: usize,
    /// The number of bytes from the end of the standard error that a failure contains.
    pub stderr_bytes: usize,
    /// The address space of each process in bytes (`RLIMIT_AS`). Some runtimes reserve far more
    /// than they use.
    pub memory_bytes: Option<u64>,
    /// The processor time of each process in seconds (`RLIMIT_CPU`).
    pub cpu_seconds: Option<u64>,
    /// How long a program may continue after its call is cancelled and it receives `SIGTERM`,
    /// before it is killed. With zero, it is killed at once.
    pub grace: Duration,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            output_bytes: 1 << 20,
            stderr_bytes: 2 << 10,
            memory_bytes: None,
            cpu_seconds: None,
            grace: Duration::ZERO,
        }
    }
}

impl Process {
    /// Creates a program without arguments whose result is JSON.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            inherit: ["PATH", "LANG", "LC_ALL", "TZ"].map(OsString::from).to_vec(),
            directory: None,
            result: ResultFormat::default(),
            limits: ProcessLimits::default(),
        }
    }

    /// Returns the command that starts the program.
    pub(crate) fn command(&self) -> Command {
        let mut command = limited(&self.limits, self.program.as_os_str().into(), &self.args);
        command.env_clear();
        for name in &self.inherit {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    async fn run(&self, call: &Call) -> Outcome {
        let ProcessLimits { output_bytes, stderr_bytes, grace, .. } = self.limits;
        let bounds = Bounds { output: output_bytes, tail: stderr_bytes, grace };
        let ended = run(&mut self.command(), call.arguments().as_bytes(), bounds)
            .await
            .map_err(|broken| refusal(&broken))?;
        if !ended.status.success() {
            return Err(unsuccessful(&ended));
        }
        let text = text(ended.stdout)?;
        if self.result == ResultFormat::Text {
            return Ok(Output::text(text));
        }
        match Value::from_json(&text, &openchatml::Limits::default()) {
            Ok(value) => Ok(Output::json(value.into_owned())),
            Err(_) if self.result == ResultFormat::JsonOrText => Ok(Output::text(text)),
            Err(found) => {
                let at = found.span.start;
                let message = format!("the output is not JSON: {} at byte {at}", found.message);
                Err(Failure::with_code(Code::ToolOutput, message))
            }
        }
    }
}

impl Tool for Process {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(self.run(call))
    }
}

/// Makes this process non-dumpable, so that the programs that it starts cannot read its environment
/// and memory. On Linux, processes of the same user can otherwise read each other (`/proc`). The
/// system also writes no core dumps of the process. On other systems, this does nothing.
///
/// Users who may trace any process, such as `root`, can still read it.
///
/// # Errors
///
/// The system rejects the change.
pub fn make_non_dumpable() -> std::io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

/// Returns the command of a program. If there are limits, a shell sets them and starts the program:
/// setting them in this process before `exec` requires unsafe code, and setting them later is too
/// late.
pub(crate) fn limited(limits: &ProcessLimits, program: OsString, args: &[OsString]) -> Command {
    if limits.memory_bytes.is_none() && limits.cpu_seconds.is_none() {
        let mut command = Command::new(program);
        command.args(args);
        return command;
    }
    let or_none = |limit: Option<u64>| limit.map_or("unlimited".into(), |it| it.to_string());
    let memory = or_none(limits.memory_bytes.map(|bytes| bytes.div_ceil(1024)));
    let script = r#"ulimit -c 0 && ulimit -v "$1" && ulimit -t "$2" && shift 2 && exec "$@""#;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh"]).args([memory, or_none(limits.cpu_seconds)]);
    command.arg(program).args(args);
    command
}

/// Connects the command to three pipes.
pub(crate) fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Converts the output of a program to text.
pub(crate) fn text(output: Vec<u8>) -> std::result::Result<String, Failure> {
    String::from_utf8(output).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::with_code(Code::ToolOutput, format!("the output is not UTF-8 at byte {at}"))
    })
}

/// Returns the failure of a program without a result, for the model.
pub(crate) fn refusal(broken: &RunError) -> Failure {
    match broken {
        // Only the kind of the error: its text may contain the path of the program.
        RunError::Start(error) => {
            Failure::new(format!("cannot start the program: {}", error.kind()))
        }
        RunError::Flood { limit } => {
            let message = format!("the output is longer than {limit} bytes");
            Failure::with_code(Code::ToolOutput, message)
        }
        RunError::Pipe(error) => {
            Failure::new(format!("cannot read the output of the program: {}", error.kind()))
        }
    }
}

fn unsuccessful(ended: &ProgramOutput) -> Failure {
    let mut failure = Failure::new(format!("the program ended with {}", how(ended.status)));
    let (name, number) = match (ended.status.code(), ended.status.signal()) {
        (Some(code), _) => ("exit_status", Some(code)),
        (None, signal) => ("signal", signal),
    };
    let mut details = Vec::new();
    if let Some(number) = number {
        details.push((name.into(), Value::from(Data::Number(number.to_string().into()))));
    }
    let stderr = String::from_utf8_lossy(ended.stderr.as_slices().0).into_owned();
    details.push(("stderr".into(), Value::from(stderr)));
    failure.details = Some(Data::Map(details).into());
    failure
}

/// `status 3`, `signal 9`.
pub(crate) fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".into(),
    }
}
