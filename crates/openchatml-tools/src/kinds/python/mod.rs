//! The tool `python` of Harmony: code runs in a sandbox, as a cell of a notebook.

mod interpreter;
mod notebook;
mod sandbox;

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use openchatml::{Code, Data, Value};

use self::interpreter::CellEnd;
use self::notebook::{Notebook, Turn};
use self::sandbox::CodeInput;
pub use self::sandbox::{Sandbox, SandboxError};
use crate::kinds::process::{Bounds, CollectedOutput, RunError, how, refusal, run, text};
use crate::{Call, Entry, Failure, Outcome, Output, Tool, ToolFuture};

/// Runs Python code in an interpreter that keeps its variables and files between calls, as
/// Harmony's declaration of the tool promises.
///
/// The result is the standard output and the standard error of the code, in order, and the `repr`
/// of its last expression. An exception is part of the result, as in a notebook: the model reads
/// the traceback.
///
/// The interpreter starts with the first call and ends when this value is dropped. It belongs to
/// one conversation; a clone has its own interpreter. Calls run one after another, in the order of
/// their dispatch ([`Entry::is_sequential`]). [`PythonLimits::time`] starts when a call runs. The
/// timeout of the router is longer and starts earlier.
///
/// A call that takes too long, writes too much or is cancelled is interrupted
/// (`KeyboardInterrupt`). If the interpreter does not respond within five seconds, or ends by
/// itself, it is restarted. The reply to the call says that variables and files are lost, or the
/// reply to the next call if this one was cancelled.
///
/// A reply does not contain the output of threads of an earlier call, or of programs that an
/// earlier call left running.
#[derive(Debug)]
pub struct Python {
    sandbox: Sandbox,
    /// The limits of the code.
    pub limits: PythonLimits,
    /// Whether each call has a new interpreter, so that no state remains between calls.
    pub is_stateless: bool,
    is_continued: bool,
    notebook: Notebook,
}

impl Clone for Python {
    fn clone(&self) -> Self {
        Self {
            sandbox: self.sandbox.clone(),
            limits: PythonLimits { time: Duration::from_secs(60), ..self.limits.clone() },
            is_stateless: self.is_stateless,
            is_continued: self.is_continued,
            notebook: Notebook::new(self.is_continued),
        }
    }
}

/// The limits of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PythonLimits {
    /// The maximum time of a call, without the time in the queue.
    pub time: Duration,
    /// The maximum size of the output, in bytes. Code that writes more is stopped.
    pub output_bytes: usize,
    /// The address space of each process, in bytes.
    pub memory_bytes: u64,
    /// The processor time of each process for each call, in seconds. In an interpreter that is kept
    /// between calls, only `time` limits C code that does not return to Python and code that lifts
    /// this limit.
    pub cpu_seconds: u64,
    /// The number of processes and threads.
    pub processes: u64,
    /// The size of each file system, in bytes.
    pub disk_bytes: u64,
}

impl Default for PythonLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            output_bytes: 64 << 10,
            memory_bytes: 1 << 30,
            cpu_seconds: 60,
            processes: 16,
            disk_bytes: 64 << 20,
        }
    }
}

/// The error for limits that are too small to run code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsTooSmall {
    limits: PythonLimits,
}

impl fmt::Display for LimitsTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PythonLimits { memory_bytes, cpu_seconds, processes, .. } = &self.limits;
        write!(
            f,
            "python cannot start within its limits: {memory_bytes} bytes of memory, {cpu_seconds} s of processor time, {processes} processes"
        )
    }
}

impl std::error::Error for LimitsTooSmall {}

/// The message for the model after a restart.
const GONE: &str = "the interpreter was restarted: variables and files of earlier calls are lost";

/// The message for the model after an interruption.
const INTERRUPTED: &str = "it was interrupted; the variables are kept";

impl Python {
    /// Creates a tool that runs code in this sandbox.
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            limits: PythonLimits::default(),
            is_stateless: false,
            is_continued: false,
            notebook: Notebook::new(false),
        }
    }

    /// Marks the conversation as one with calls that another interpreter answered: the first reply
    /// says that their variables are lost.
    pub fn continued(mut self) -> Self {
        self.is_continued = true;
        self.notebook = Notebook::new(true);
        self
    }

    /// Tests whether code runs within the [limits](Self::limits), without a time limit.
    ///
    /// # Errors
    ///
    /// The limits are too small.
    pub async fn check(&self) -> Result<(), LimitsTooSmall> {
        let trial = Self {
            sandbox: self.sandbox.clone(),
            limits: self.limits.clone(),
            is_stateless: self.is_stateless,
            is_continued: false,
            notebook: Notebook::new(false),
        };
        match trial.call(&Call::new("python", "check", "")).await {
            Ok(_) => Ok(()),
            Err(_) => Err(LimitsTooSmall { limits: trial.limits }),
        }
    }

    /// Returns the entry of a toolbox for `python`.
    ///
    /// The entry has the longest timeout that the router allows. [`PythonLimits::time`] applies inside
    /// the tool, where the time of other calls does not count.
    pub fn entry(self) -> Entry {
        let state = if self.is_stateless {
            "Every call starts anew."
        } else {
            "Variables and files are kept from one call to the next."
        };
        let is_sequential = !self.is_stateless;
        let mut entry = Entry::new(self);
        entry.is_sequential = is_sequential;
        entry.timeout = Some(Duration::MAX);
        entry.description = Some(format!(
            "Runs Python code and answers with what it printed and the value of its last \
             expression. {state} There is no network; `/mnt/data` can be written."
        ));
        entry
    }

    async fn run_once(&self, call: &Call) -> Outcome {
        let mut command = self.sandbox.command(&self.limits, CodeInput::Once);
        let bounds =
            Bounds { output: self.limits.output_bytes, tail: 2 << 10, grace: Duration::ZERO };
        let running = run(&mut command, call.arguments().as_bytes(), bounds);
        let ended = match tokio::time::timeout(self.limits.time, running).await {
            Ok(ended) => ended.map_err(|broken| refusal(&broken))?,
            Err(_) => return Err(self.late()),
        };
        if ended.status.success() {
            return Ok(Output::text(text(ended.stdout)?));
        }
        Err(with_output(exited(ended.status), &ended.stdout))
    }

    async fn run_in_turn(&self, call: &Call) -> Outcome {
        let limits = &self.limits;
        let mut turn = self.notebook.turn().await;
        let mut kept = CollectedOutput { bytes: Vec::new(), limit: limits.output_bytes };
        let running = turn.run(&self.sandbox, limits, call.arguments(), &mut kept);
        let end = tokio::time::timeout(limits.time, running).await;
        match end {
            Ok(Ok(CellEnd::Status(0))) => with_note(kept.bytes, &mut turn),
            Ok(Ok(CellEnd::Status(status))) => {
                let failure = Failure::new(format!("the code ended with status {status}"));
                Err(failure_with_note(with_output(failure, &kept.bytes), &mut turn))
            }
            Ok(Ok(CellEnd::ProcessorTime)) => {
                let failure = and(Failure::new(PROCESSOR_TIME), INTERRUPTED);
                Err(failure_with_note(with_output(failure, &kept.bytes), &mut turn))
            }
            Ok(Ok(CellEnd::Exit(status))) => {
                turn.tell_loss();
                Err(with_output(and(exited(status), GONE), &kept.bytes))
            }
            Ok(Err(broken @ RunError::Start(_))) => Err(refusal(&broken)),
            Ok(Err(broken)) => Err(interrupted(refusal(&broken), &mut turn).await),
            Err(_) => Err(interrupted(with_output(self.late(), &kept.bytes), &mut turn).await),
        }
    }

    fn late(&self) -> Failure {
        let message = format!("the code ran longer than {:?}", self.limits.time);
        Failure::with_code(Code::ToolTimeout, message)
    }
}

/// Returns the output of the code, with a note if the earlier state is lost.
fn with_note(output: Vec<u8>, turn: &mut Turn) -> Outcome {
    let output = text(output).map_err(|failure| failure_with_note(failure, turn))?;
    if turn.tell_loss() {
        return Ok(Output::text(format!("[{GONE}]\n{output}")));
    }
    Ok(Output::text(output))
}

/// Returns a failure that did not change the interpreter, with a note if the earlier state is lost.
fn failure_with_note(failure: Failure, turn: &mut Turn) -> Failure {
    if turn.tell_loss() { and(failure, GONE) } else { failure }
}

/// Interrupts the running cell, and returns the failure with a note about the state.
async fn interrupted(failure: Failure, turn: &mut Turn) -> Failure {
    if turn.interrupt().await {
        failure_with_note(and(failure, INTERRUPTED), turn)
    } else {
        turn.tell_loss();
        and(failure, GONE)
    }
}

/// Appends a note to a failure.
fn and(mut failure: Failure, more: &str) -> Failure {
    failure.message = format!("{}; {more}", failure.message);
    failure
}

impl Tool for Python {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        if self.is_stateless {
            Box::pin(self.run_once(call))
        } else {
            Box::pin(self.run_in_turn(call))
        }
    }
}

/// A shell reports the signal that ended a process as this number plus that of the signal.
const SIGNALLED: i32 = 128;
const SIGXCPU: i32 = 24;

const PROCESSOR_TIME: &str = "the code used all of its processor time";

fn exited(status: ExitStatus) -> Failure {
    if status.code() == Some(SIGNALLED + SIGXCPU) {
        return Failure::new(PROCESSOR_TIME);
    }
    Failure::new(format!("the code ended with {}", how(status)))
}

/// Adds the output of the code to a failure.
fn with_output(mut failure: Failure, output: &[u8]) -> Failure {
    let output = Value::from(String::from_utf8_lossy(output).into_owned());
    failure.details = Some(Data::Map(vec![("output".into(), output)]).into());
    failure
}
