//! A sandbox for untrusted code.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use super::PythonLimits;
use crate::kinds::process::{Bounds, MARK, ProgramOutput, RunError, how, run};

/// A tested sandbox for Python code.
///
/// The sandbox uses [bubblewrap](https://github.com/containers/bubblewrap): its own namespaces,
/// without network and other processes, and with no files except `/usr`, the Python installation
/// and three small file systems in memory. The kernel is shared: an exploit of the kernel is an
/// exploit of the sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    bwrap: PathBuf,
    python: PathBuf,
    /// The directories that the interpreter needs besides `/usr`.
    roots: Vec<PathBuf>,
}

/// How code is passed to the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeInput {
    /// The standard input is the code, and the interpreter ends after it.
    Once,
    /// Cell by cell, as an [`Interpreter`](super::interpreter::Interpreter) sends them.
    Session,
}

/// The user and the group `nobody`. The limit on processes does not apply to root.
const NOBODY: u32 = 65534;

/// The timeout of a test run.
const PATIENCE: Duration = Duration::from_secs(30);

impl Sandbox {
    /// Finds `bwrap` and Python, and tests the isolation of the sandbox.
    ///
    /// ```no_run
    /// use openchatml_tools::kinds::python::{Python, Sandbox};
    ///
    /// # async fn example() -> Result<(), openchatml_tools::kinds::python::SandboxError> {
    /// let python = Python::new(Sandbox::detect().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no sandbox, or its isolation is not effective.
    pub async fn detect() -> Result<Self, SandboxError> {
        let mut tried = SandboxError { why: "python3 is not installed".into() };
        let mut candidates: Vec<_> = in_path("python3").collect();
        candidates.extend(Some(PathBuf::from("/usr/bin/python3")).filter(|it| it.is_file()));
        for python in candidates {
            match Self::with_python(&python).await {
                Ok(sandbox) => return Ok(sandbox),
                Err(error) => tried = error,
            }
        }
        Err(tried)
    }

    /// Finds `bwrap`, and tests the isolation of the sandbox with this interpreter.
    ///
    /// # Errors
    ///
    /// There is no sandbox, or its isolation is not effective.
    pub async fn with_python(python: impl AsRef<Path>) -> Result<Self, SandboxError> {
        let bwrap = in_path("bwrap").next();
        let bwrap = bwrap.ok_or_else(|| SandboxError { why: "bwrap is not installed".into() })?;
        let mut ask = Command::new(python.as_ref());
        ask.args(["-I", "-S", "-c", ROOTS]);
        let answer = listen(base(&mut ask)).await?;
        let mut lines = answer.lines().map(PathBuf::from);
        let python = lines.next().unwrap_or_default();
        let is_within = |path: &PathBuf| path.starts_with("/usr");
        let roots: Vec<_> = lines.filter(|root| !is_within(root)).collect();
        if roots.iter().any(|root| root.parent().is_none()) {
            return Err(SandboxError { why: "python3 is installed at the root".into() });
        }
        let sandbox = Self { bwrap, python, roots };
        let limits = PythonLimits { memory_bytes: 256 << 20, ..PythonLimits::default() };
        let mut command = sandbox.command(&limits, CodeInput::Once);
        let probe = run(&mut command, PROBE.as_bytes(), BOUNDS);
        match received(probe).await?.trim_end() {
            "done" => Ok(sandbox),
            found => {
                let found = found.trim_end_matches("done").trim_end().replace('\n', ", ");
                Err(SandboxError { why: format!("it allows {found}") })
            }
        }
    }

    /// Returns the command that runs code in the sandbox.
    pub(super) fn command(&self, limits: &PythonLimits, mode: CodeInput) -> Command {
        let mut command = Command::new(&self.bwrap);
        base(&mut command).args(["--unshare-all", "--unshare-user", "--disable-userns"]);
        command.args(["--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
        command.args(["--hostname", "sandbox", "--ro-bind", "/usr", "/usr"]);
        for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64"] {
            match std::fs::read_link(name) {
                Ok(target) => command.arg("--symlink").arg(target).arg(name),
                Err(_) => command.args(["--ro-bind-try", name, name]),
            };
        }
        for name in ["/etc/alternatives", "/etc/ld.so.cache"] {
            command.args(["--ro-bind-try", name, name]);
        }
        for root in &self.roots {
            command.arg("--ro-bind").arg(root).arg(root);
        }
        command.args(["--proc", "/proc", "--dev", "/dev"]);
        let disk = limits.disk_bytes.to_string();
        for place in ["/dev/shm", "/tmp", "/mnt/data"] {
            command.args(["--size", &disk, "--tmpfs", place]);
        }
        command.args(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/mnt/data"]);
        for (name, value) in [("PATH", "/usr/bin:/bin"), ("HOME", "/mnt/data")] {
            command.args(["--setenv", name, value]);
        }
        command.args(["--unsetenv", MARK, "--"]).arg(&self.python).args(["-I", "-u", "-c", DRIVER]);
        command.arg(match mode {
            CodeInput::Once => "once",
            CodeInput::Session => "session",
        });
        let numbers = [limits.memory_bytes, limits.cpu_seconds, limits.processes];
        command.args(numbers.map(|number| number.to_string()));
        command
    }
}

const DRIVER: &str = include_str!("driver.py");
const PROBE: &str = include_str!("probe.py");
const BOUNDS: Bounds = Bounds { output: 64 << 10, tail: 2 << 10, grace: std::time::Duration::ZERO };

/// Prints the real path of the interpreter, without links and virtual environments, and the
/// directories of its files.
const ROOTS: &str = "import os, sys
print(os.path.realpath(sys.executable))
print('\\n'.join({os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}))";

/// Returns the programs of this name in `PATH`.
fn in_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let places: Vec<_> = std::env::split_paths(&path).map(|place| place.join(name)).collect();
    places.into_iter().filter(|place| place.is_file())
}

/// Clears the environment, which the sandbox could read, and drops privileges.
fn base(command: &mut Command) -> &mut Command {
    command.env_clear().env("LC_ALL", "C.UTF-8").current_dir("/");
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

async fn listen(command: &mut Command) -> Result<String, SandboxError> {
    received(run(command, b"", BOUNDS)).await
}

async fn received(
    run: impl Future<Output = Result<ProgramOutput, RunError>>,
) -> Result<String, SandboxError> {
    let why = match tokio::time::timeout(PATIENCE, run).await {
        Ok(Ok(ended)) if ended.status.success() => {
            return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
        }
        Ok(Ok(ended)) => {
            let stderr_text = String::from_utf8_lossy(ended.stderr.as_slices().0).trim().to_owned();
            format!("it ended with {}: {stderr_text}", how(ended.status))
        }
        Ok(Err(RunError::Start(error))) => format!("cannot start it: {error}"),
        Ok(Err(RunError::Flood { .. } | RunError::Pipe(_))) => "cannot read its output".into(),
        Err(_) => "it did not answer".into(),
    };
    Err(SandboxError { why })
}

/// The error if no sandbox is available.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxError {
    /// The attempt that failed.
    pub why: String,
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot create a sandbox for python: {}; it requires bubblewrap 0.8 or newer (package `bubblewrap`), a python3 that all users can read, and user namespaces for all users",
            self.why.escape_debug()
        )
    }
}

impl std::error::Error for SandboxError {}
