//! Programs end with the process that started them, whatever ends it.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// A shell that reads which process groups run, and kills those that still do when its input ends:
/// that is when this process ends, and nothing that kills it can keep that from happening. Nothing else
/// would end them then, since what a process asks of the system for its descendants takes unsafe code.
///
/// Signals of the terminal are none of its business: it has a process group of its own.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
while read -r what group; do
    case $what in
    +) groups="$groups $group" ;;
    -)
        left=
        for one in $groups; do
            [ "$one" = "$group" ] || left="$left $one"
        done
        groups=$left
        ;;
    esac
done
for one in $groups; do
    kill -s KILL -- "-$one" 2>/dev/null
done
"#;

/// Where the shell reads.
enum Watch {
    Unstarted,
    Started(ChildStdin),
    /// There is no shell. Programs run all the same.
    Missing,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch::Unstarted);

/// Sees to it that there is somebody to watch, before there is what is to be watched.
pub(super) fn prepare() {
    let mut watch = WATCH.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*watch, Watch::Unstarted) {
        *watch = start().map_or(Watch::Missing, Watch::Started);
    }
}

/// A process group that is watched until this is dropped.
pub(super) struct Watched(Pid);

impl Watched {
    pub(super) fn new(leader: Pid) -> Self {
        tell('+', leader);
        Self(leader)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        tell('-', self.0);
    }
}

fn tell(what: char, group: Pid) {
    let mut watch = WATCH.lock().unwrap_or_else(PoisonError::into_inner);
    if let Watch::Started(input) = &mut *watch
        && input.write_all(format!("{what} {}\n", group.as_raw_nonzero()).as_bytes()).is_err()
    {
        *watch = Watch::Missing;
    }
}

fn start() -> Option<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()?.stdin
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::SCRIPT;

    #[test]
    fn groups_that_still_run_are_killed_at_the_end_of_the_input() {
        let sleeper = || {
            let mut command = Command::new("sh");
            command.args(["-c", "echo here; exec sleep 1000"]).process_group(0);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            child
        };
        let (mut killed, mut spared) = (sleeper(), sleeper());
        let mut watch = Command::new("/bin/sh");
        let mut watch = watch.args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = watch.stdin.take().unwrap();
        for child in [&killed, &spared] {
            writeln!(input, "+ {}", child.id()).unwrap();
        }
        writeln!(input, "- {}", spared.id()).unwrap();
        drop(input);
        watch.wait().unwrap();
        assert!(!killed.wait().unwrap().success());
        assert!(spared.try_wait().unwrap().is_none());
        spared.kill().unwrap();
        spared.wait().unwrap();
    }
}
