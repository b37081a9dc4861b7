//! Ends programs when the process that started them ends for any reason.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

use super::orphans;

/// A shell that reads which programs run, and kills them when its input ends. The input ends when
/// this process ends, even if it is killed. Asking the system to kill descendants
/// (`PR_SET_PDEATHSIG`) would require unsafe code.
///
/// It reads one line for the tree of control groups, if there is one. For each program, it reads a
/// line before its start, a line with its process group, and a line when all of its processes are
/// dead. Processes that left their group are recognized by their control group and by their mark.
///
/// The shell has its own process group, so that it does not receive the signals of the terminal.
const SCRIPT: &str = r#"
PATH=/usr/bin:/bin
trap '' HUP INT TERM
tree= tokens= groups=
without() {
    left= token=$1
    shift
    for one; do
        [ "${one%%:*}" = "$token" ] || left="$left $one"
    done
}
while read -r what one more; do
    case $what in
    tree) tree=$one${more:+ $more} ;;
    start) tokens="$tokens $one" ;;
    lead) groups="$groups $one:$more" ;;
    end)
        without "$one" $tokens
        tokens=$left
        without "$one" $groups
        groups=$left
        ;;
    esac
done
for one in $groups; do
    kill -s KILL -- "-${one#*:}" 2>/dev/null
done
[ -z "$tree" ] || echo 1 >"$tree/cgroup.kill"
set --
for one in $tokens; do
    set -- "$@" -e "OPENCHATML_PROCESS=$one"
done
round=0
quiet=0
# The environment of a process that starts a program cannot be read for a moment.
while [ $# -gt 0 ] && [ $round -lt 100 ] && [ $quiet -lt 8 ]; do
    quiet=$((quiet + 1))
    for one in $(grep -l -F "$@" /proc/[0-9]*/environ 2>/dev/null); do
        one=${one#/proc/}
        kill -s KILL "${one%/environ}" 2>/dev/null && quiet=0
    done
    round=$((round + 1))
done
round=0
while [ -n "$tree" ] && [ -d "$tree" ] && [ $round -lt 100 ]; do
    rmdir "$tree"/*/ "$tree" 2>/dev/null
    round=$((round + 1))
done
"#;

/// The state of the shell.
enum Watchdog {
    Unstarted,
    Started(ChildStdin),
    /// There is no shell. Programs run without a watchdog.
    Missing,
}

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog::Unstarted);

/// Starts the watchdog before the first program.
pub(super) fn prepare() {
    let mut watch = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*watch, Watchdog::Unstarted) {
        *watch = start().map_or(Watchdog::Missing, Watchdog::Started);
    }
}

/// Registers a program at the watchdog until this is dropped.
#[derive(Debug)]
pub(super) struct WatchedProgram(String);

impl WatchedProgram {
    /// Registers the processes with this mark.
    pub(super) fn new(token: &str) -> Self {
        tell(format_args!("start {token}"));
        Self(token.into())
    }

    /// Registers the process group.
    pub(super) fn lead(&self, leader: Pid) {
        tell(format_args!("lead {} {}", self.0, leader.as_raw_nonzero()));
    }
}

impl Drop for WatchedProgram {
    fn drop(&mut self) {
        tell(format_args!("end {}", self.0));
    }
}

/// Registers a tree of control groups.
pub(super) fn tell_tree(tree: &Path) {
    prepare();
    tell(format_args!("tree {}", tree.display()));
}

fn tell(line: std::fmt::Arguments<'_>) {
    let mut watch = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Watchdog::Started(input) = &mut *watch
        && input.write_all(format!("{line}\n").as_bytes()).is_err()
    {
        *watch = Watchdog::Missing;
    }
}

fn start() -> Option<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    orphans::child(|| command.spawn(), |child| Some(child.id())).ok()?.stdin
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::super::mark::MARK;
    use super::SCRIPT;

    /// Runs a script that prints a line and then becomes a sleeping program.
    fn sleeper(script: &str, token: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).env(MARK, token);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child
    }

    const SLEEP: &str = "echo here; exec sleep 1000";

    /// Runs the shell with this input.
    fn watched(script_input: &str) {
        let mut watch = Command::new("/bin/sh");
        let mut watch = watch.args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
        watch.stdin.take().unwrap().write_all(script_input.as_bytes()).unwrap();
        watch.wait().unwrap();
    }

    fn is_spared(mut child: Child) {
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn running_groups_are_killed_at_the_end_of_the_input() {
        let (mut killed, spared) = (sleeper(SLEEP, "none"), sleeper(SLEEP, "none"));
        let script_input: String = [(&killed, "watch-a"), (&spared, "watch-b")]
            .map(|(child, token)| format!("start {token}\nlead {token} {}\n", child.id()))
            .concat();
        watched(&format!("{script_input}end watch-b\n"));
        assert!(!killed.wait().unwrap().success());
        is_spared(spared);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_outside_of_their_group_are_found_by_their_mark() {
        let (mut killed, spared) = (sleeper(SLEEP, "watch-c"), sleeper(SLEEP, "watch-e"));
        watched("start watch-c\nstart watch-d\nstart watch-e\nend watch-e\n");
        assert!(!killed.wait().unwrap().success());
        is_spared(spared);
    }
}
