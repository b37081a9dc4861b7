//! The tool `python` of Harmony: code runs in a sandbox, as a cell of a notebook.

mod sandbox;

use std::time::Duration;

use openchatml::{Code, Data, Value};

pub use self::sandbox::{NoSandbox, Sandbox};
use crate::kinds::process::{Bounds, Ended, how, refusal, run, text};
use crate::{Call, Entry, Failure, Outcome, Output, Run, Tool};

/// Runs the code that is its argument.
///
/// The result is what the code wrote to its output and to its standard error, in order, and the
/// `repr` of its last expression. An exception is part of it, as in a notebook: the model reads the
/// traceback. Each call begins anew: no variable and no file is left of the one before, which
/// Harmony's declaration of the tool promises and [`Entry::description`] denies.
#[derive(Clone, Debug)]
pub struct Python {
    sandbox: Sandbox,
    /// How much the code may use.
    pub limits: Limits,
}

/// How much code may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// The bytes of its output. Code that writes more is killed.
    pub output_bytes: usize,
    /// The bytes of address space that each of its processes has.
    pub memory_bytes: u64,
    /// The seconds of processor time that each of its processes has.
    pub cpu_seconds: u64,
    /// How many processes and threads it has.
    pub processes: u64,
    /// The bytes of each of its file systems.
    pub disk_bytes: u64,
}

impl Default for Limits {
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

impl Python {
    /// Code in this sandbox.
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, limits: Limits::default() }
    }

    /// The entry of a toolbox for `python`.
    pub fn entry(self) -> Entry {
        let time = self.limits.time;
        let mut entry = Entry::new(self);
        entry.timeout = Some(time);
        entry.description = Some(
            "Runs Python code and answers with what it printed and the value of its last \
             expression. Every call starts anew. There is no network; `/mnt/data` can be written."
                .into(),
        );
        entry
    }

    async fn run(&self, call: &Call) -> Outcome {
        let mut command = self.sandbox.command(&self.limits);
        let grace = std::time::Duration::ZERO;
        let bounds = Bounds { output: self.limits.output_bytes, tail: 2 << 10, grace };
        let running = run(&mut command, call.arguments().as_bytes(), bounds);
        let ended = match tokio::time::timeout(self.limits.time, running).await {
            Ok(ended) => ended.map_err(|broken| refusal(&broken))?,
            Err(_) => {
                let message = format!("the code ran longer than {:?}", self.limits.time);
                return Err(Failure::with_code(Code::ToolTimeout, message));
            }
        };
        if ended.status.success() {
            return Ok(Output::text(text(ended.stdout)?));
        }
        Err(unsuccessful(ended))
    }
}

impl Tool for Python {
    fn call<'t>(&'t self, call: &'t Call) -> Run<'t> {
        Box::pin(self.run(call))
    }
}

/// What a shell says of a process that a signal ended: this and the signal's number.
const SIGNALLED: i32 = 128;
const SIGXCPU: i32 = 24;

fn unsuccessful(ended: Ended) -> Failure {
    let message = if ended.status.code() == Some(SIGNALLED + SIGXCPU) {
        "the code used all of its processor time".into()
    } else {
        format!("the code ended with {}", how(ended.status))
    };
    let mut failure = Failure::new(message);
    let output = Value::from(String::from_utf8_lossy(&ended.stdout).into_owned());
    failure.details = Some(Data::Map(vec![("output".into(), output)]).into());
    failure
}
