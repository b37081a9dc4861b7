//! Programs as tools: their environment, and the processes that they leave.

use std::io::BufRead as _;

use openchatml_testkit::external_files;

use super::{QUESTION, call, folder};
use crate::support::{Ran, command};

/// A run with a key for a server and one for a tool in its environment.
fn run_with_keys(folder: &crate::support::Folder) -> Ran {
    let args = ["run", "--tools", "tools.toml", "--in-place", "chat.ocml"];
    let mut command = command(args);
    command.env("OCML_API_KEY", "key-of-server").env("KEY_OF_LOOK", "key-of-look");
    crate::support::run(command.current_dir(folder.path()), "")
}

#[test]
fn a_program_sees_only_its_own_secrets() {
    let text = format!(
        "{QUESTION}<|start|>assistant{}\n<|start|>assistant{}\n",
        call(1, "note"),
        call(2, "look"),
    );
    let folder = folder(&text);
    let tools = "[tools.note]\ncommand = \"sh\"\nargs = [\"-c\", \"env > note; echo 1\"]\n\
                 [tools.look]\ncommand = \"sh\"\nargs = [\"-c\", \"env > look; echo 1\"]\n\
                 env = { KEY = \"${KEY_OF_LOOK}\" }\n";
    folder.file("tools.toml", tools);
    run_with_keys(&folder).silent();
    let (note, look) = (folder.read("note"), folder.read("look"));
    assert!(note.contains("PATH=") && look.contains("KEY=key-of-look"), "{note}{look}");
    assert!(!look.contains("key-of-server"), "{look}");
    assert!(!note.contains("key-of"), "{note}");
}

/// A failure goes to the model, and may repeat what the program was given.
#[test]
fn a_failure_of_a_program_contains_no_secret() {
    let text = format!("{QUESTION}<|start|>assistant{}\n", call(1, "look"));
    let folder = folder(&text);
    let tools = "[tools.look]\ncommand = \"sh\"\nargs = [\"-c\", \"echo bad $KEY >&2; exit 1\"]\n\
                 env = { KEY = \"${KEY_OF_LOOK}\" }\n";
    folder.file("tools.toml", tools);
    let ran = run_with_keys(&folder);
    let written = folder.read("chat.ocml") + &ran.stdout + &ran.stderr;
    assert!(written.contains("bad [secret]"), "{written}");
    assert!(!written.contains("key-of-look"), "{written}");
}

/// Starts a process in a new session, writes its id, and waits until it runs.
#[cfg(target_os = "linux")]
fn leave(then: &str) -> String {
    let left = "echo $$ > name; mv name pid; exec sleep 1000";
    format!(
        "[tools.note]\ncommand = \"sh\"\nargs = [\"-c\", \"\"\"\n\
         setsid sh -c '{left}' </dev/null >/dev/null 2>&1 &\n\
         until [ -e pid ]; do sleep 0.01; done\n{then}\n\"\"\"]\n"
    )
}

/// Whether a process exists and is not a zombie.
#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[cfg(target_os = "linux")]
#[test]
fn descendants_outside_of_the_process_group_also_end() {
    for (then, status) in [("echo 1", 0), ("kill -9 $PPID; sleep 1000", -1)] {
        let folder = folder(&format!("{QUESTION}<|start|>assistant{}\n", call(1, "note")));
        folder.file("tools.toml", leave(then));
        super::run(&folder, &["chat.ocml"]).exits(status);
        let pid = folder.read("pid");
        while is_alive(pid.trim()) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn a_new_interpreter_reports_that_variables_are_lost() {
    let code = |n: usize, code: &str| {
        format!(
            "<|start|>assistant to=python call_id=c{n}<|channel|>analysis<|message|>{code}<|call|>\n"
        )
    };
    let reply = |text: &str| {
        format!(
            "<|start|>tool name=python call_id=c1 to=assistant<|channel|>commentary<|message|>{text}<|end|>\n"
        )
    };
    let gone = "[the interpreter was restarted: variables and files of earlier calls are lost]\n";
    let later = [code(2, "y = 2; print(y)"), code(3, "print(y + 1)")].concat();
    let earlier = [code(1, "x = 1"), reply("")].concat();
    for (text, begins) in [(format!("{earlier}{later}"), gone), (later, "")] {
        let folder = folder(&format!("{QUESTION}{text}"));
        folder.file("tools.toml", "[router]\nenvelope = \"raw\"\n[python]\n");
        let ran = super::run(&folder, &["chat.ocml"]);
        if ran.stderr.contains("no sandbox") {
            let is_required = std::env::var("OPENCHATML_SANDBOX").is_ok_and(|it| it == "required");
            assert!(!is_required, "{ran:?}");
            external_files::say_skipped("python in a sandbox", &ran.stderr);
            return;
        }
        ran.silent();
        let written = folder.read("chat.ocml");
        let expected = format!("<|message|>{begins}2\n<|end|>");
        assert!(
            written.contains(&expected) && written.contains("<|message|>3\n<|end|>"),
            "{written}"
        );
    }
}

/// The program reports that it runs, and writes something after it was asked to end.
#[test]
fn an_interrupt_grants_programs_their_grace_period() {
    let folder = folder(&format!("{QUESTION}<|start|>assistant{}\n", call(1, "note")));
    let script = "trap 'sleep 0.3; echo bye > bye; exit' TERM; exec 3>held; echo here >&3; \
                  while :; do sleep 0.02; done";
    let tools = format!(
        "[tools.note]\ncommand = \"sh\"\nargs = [\"-c\", \"{script}\"]\ngrace_ms = 20000\n"
    );
    folder.file("tools.toml", tools);
    let held = folder.path().join("held");
    assert!(std::process::Command::new("mkfifo").arg(&held).status().unwrap().success());
    let args = ["run", "--tools", "tools.toml", "--in-place", "chat.ocml"];
    let child = command(args).current_dir(folder.path()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(std::fs::File::open(held).unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "here");
    super::signal(child.id(), "INT");
    crate::support::finish(child).exits(130);
    assert_eq!(folder.read("bye"), "bye\n");
}

/// A shell that has started a process replaces itself with the command.
#[cfg(target_os = "linux")]
#[test]
fn processes_of_others_are_not_killed() {
    let folder = folder(&format!("{QUESTION}<|start|>assistant{}\n", call(1, "look")));
    let ocml = env!("CARGO_BIN_EXE_ocml");
    let script = format!(
        "sleep 1000 >/dev/null 2>&1 & echo $! > pid; exec {ocml} run --tools tools.toml --in-place chat.ocml"
    );
    let mut shell = std::process::Command::new("sh");
    let status = shell.args(["-c", &script]).current_dir(folder.path()).status().unwrap();
    assert!(status.success());
    let pid = folder.read("pid");
    assert!(is_alive(pid.trim()));
    let killed = std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(killed.success());
}
