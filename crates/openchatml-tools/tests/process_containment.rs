//! Programs that leave their process group and change their environment, on systems where they can
//! still be found.
//!
//! Containment affects a whole process, so each case runs in its own one.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod held;

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use openchatml_testkit::external_files;
use openchatml_tools::kinds::process::{Containment, Process, contain_by};
use openchatml_tools::{Call, Tool};

use self::held::HeldPipe;

/// The variable with the folder of a case.
const FOLDER: &str = "OPENCHATML_CASE_FOLDER";

/// Runs a case in a process of its own.
fn alone(case: &str, held: Option<&HeldPipe>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", case, "--ignored", "--nocapture"]);
    command.envs(held.map(|held| (FOLDER, held.directory())));
    command.spawn().unwrap()
}

fn succeeds_alone(case: &str) -> bool {
    alone(case, None).wait().unwrap().success()
}

/// Whether control groups can be used here.
fn has_control_groups() -> bool {
    succeeds_alone("can_make_control_groups")
}

#[test]
#[ignore = "another test runs it, in a process of its own"]
fn can_make_control_groups() {
    contain_by(Containment::ControlGroup).unwrap();
}

/// Starts a descendant in a new session that holds the pipe open and writes its process id.
fn escape(environment: &str) -> String {
    let sleeper = "echo $$ >&3; exec sleep 1000";
    format!("exec 3>held; {environment} setsid sh -c '{sleeper}' </dev/null >/dev/null 2>&1 &")
}

const SCRUBBED: &str = "env -i PATH=\"$PATH\"";

async fn succeeds(process: &Process) {
    let outcome = process.call(&Call::new("functions.f", "c1", "{}")).await;
    assert_eq!(outcome.unwrap().content.to_json(), "1");
}

/// A descendant with an empty environment ends with the call.
async fn ends_with_its_call() {
    let mut held = HeldPipe::new();
    let process = held.shell(&format!("{} read l <go; echo 1", escape(SCRUBBED)));
    tokio::join!(succeeds(&process), held.go());
    held.let_go().await;
}

/// The end of a call does not kill the descendants of other calls.
async fn spares_others(environment: &str) {
    let [mut ends, mut goes_on] = [HeldPipe::new(), HeldPipe::new()];
    let then = "read l <go; kill -0 \"$(cat pid)\" && echo 1";
    let one = goes_on.shell(&format!("{} {then}", escape(environment)));
    let other = ends.shell(&format!("{} read l <go; echo 1", escape("")));
    let first = async {
        let escaped = goes_on.word().await;
        std::fs::write(goes_on.directory().join("pid"), escaped).unwrap();
        tokio::join!(succeeds(&other), ends.go());
        ends.let_go().await;
        goes_on.let_it_go().await;
    };
    tokio::join!(succeeds(&one), first);
    goes_on.let_go().await;
}

#[test]
fn control_groups_contain_escaped_processes() {
    if has_control_groups() {
        assert!(succeeds_alone("in_control_groups"));
    } else {
        external_files::say_skipped("control groups", "none can be made here");
    }
}

#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn in_control_groups() {
    contain_by(Containment::ControlGroup).unwrap();
    ends_with_its_call().await;
    spares_others(SCRUBBED).await;
    // This process stays in its group, whether or not programs start.
    let missing = Process::new("/nowhere/program");
    assert!(missing.call(&Call::new("functions.f", "c1", "{}")).await.is_err());
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    assert!(!groups.contains("/openchatml-"), "{groups}");
}

#[test]
fn a_subreaper_finds_escaped_processes() {
    assert!(succeeds_alone("as_a_subreaper"));
}

#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn as_a_subreaper() {
    contain_by(Containment::Subreaper).unwrap();
    ends_with_its_call().await;
    spares_others("").await;
    // A process without a mark may belong to any running call.
    spares_others(SCRUBBED).await;
    // Ended processes are reaped.
    succeeds(&HeldPipe::new().shell("echo 1")).await;
    for child in children() {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(!stat.contains(") Z "), "{stat}");
    }
}

fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.filter_map(|it| std::fs::read_to_string(it.path().join("children")).ok());
    lists.flat_map(|it| it.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A program that kills the process that started it.
async fn is_killed(environment: &str) {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("it is a case"));
    let mut process = Process::new("/bin/sh");
    let script = format!("{} read l <go; kill -9 $PPID; sleep 1000", escape(environment));
    process.args = vec!["-c".into(), script.into()];
    process.directory = Some(folder);
    let _ = process.call(&Call::new("functions.f", "c1", "{}")).await;
}

#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn is_killed_with_marks() {
    is_killed("").await;
}

#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn is_killed_with_control_groups() {
    contain_by(Containment::ControlGroup).unwrap();
    is_killed(SCRUBBED).await;
}

#[tokio::test]
async fn escaped_processes_end_with_a_killed_process() {
    let mut cases = vec!["is_killed_with_marks"];
    if has_control_groups() {
        cases.push("is_killed_with_control_groups");
    }
    for case in cases {
        let mut held = HeldPipe::new();
        let mut killed = alone(case, Some(&held));
        held.go().await;
        assert_eq!(killed.wait().unwrap().signal(), Some(9), "{case}");
        held.let_go().await;
    }
}

/// Existing children belong to other code, and so do their orphans.
#[test]
fn a_process_with_children_does_not_adopt_orphans() {
    assert!(succeeds_alone("with_a_foreign_child"));
}

#[test]
#[ignore = "another test runs it, in a process of its own"]
fn with_a_foreign_child() {
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let refused = contain_by(Containment::Subreaper).is_err();
    // Otherwise it would outlive a failed test and hold its output open.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused);
    contain_by(Containment::Subreaper).unwrap();
}
