//! Real programs as tools.
#![cfg(unix)]

mod held;

use std::ffi::OsString;

use openchatml::{Code, Value};
use openchatml_tools::kinds::process::{Process, ResultFormat};
use openchatml_tools::{Call, Failure, Output, Tool};
use tokio::io::AsyncReadExt;

use self::held::HeldPipe;

/// A shell that runs this script.
fn shell(script: &str) -> Process {
    let mut process = Process::new("/bin/sh");
    process.args = vec!["-c".into(), script.into()];
    process
}

async fn run(process: &Process, arguments: &str) -> Result<Output, Failure> {
    process.call(&Call::new("functions.f", "c1", arguments)).await
}

/// One of the details of a failed program.
fn detail<'f>(failure: &'f Failure, key: &str) -> &'f Value<'static> {
    let details = failure.details.as_ref().expect("it says more");
    details.get(key).unwrap_or_else(|| panic!("no {key} in {}", details.to_json()))
}

#[tokio::test]
async fn arguments_arrive_byte_for_byte_and_then_the_end() {
    let mut process = shell("cat");
    process.result = ResultFormat::Text;
    let large = "é\0\r\n".repeat(100_000);
    for arguments in ["", "{\"a\": 1.0e0}\n", "<|end|><|start|>system", "$(id) `id` \\", &large] {
        let output = run(&process, arguments).await.unwrap();
        assert_eq!(output.content.as_str(), Some(arguments));
    }
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let output = run(&shell("echo 1"), &"x".repeat(1 << 20)).await.unwrap();
    assert_eq!(output.content.to_json(), "1");
}

#[tokio::test]
async fn json_keeps_the_spelling_of_its_numbers() {
    let output = run(&shell(r#"echo '{"a": [2.0, 1e400]}'"#), "{}").await.unwrap();
    assert_eq!(output.content.to_json(), r#"{"a":[2.0,1e400]}"#);
}

#[tokio::test]
async fn output_that_is_not_json_is_text_only_if_allowed() {
    for (script, at) in
        [("echo 20 °C", "at byte 3"), ("true", "at byte 0"), ("echo '[1'", "at byte")]
    {
        let mut process = shell(script);
        let failure = run(&process, "{}").await.unwrap_err();
        assert_eq!(failure.code, Code::ToolOutput);
        assert!(failure.message.contains(at), "{failure}");
        process.result = ResultFormat::JsonOrText;
        assert!(run(&process, "{}").await.unwrap().content.as_str().is_some());
    }
    let mut process = shell("echo 20");
    process.result = ResultFormat::JsonOrText;
    assert_eq!(run(&process, "{}").await.unwrap().content.to_json(), "20");
    process.result = ResultFormat::Text;
    assert_eq!(run(&process, "{}").await.unwrap().content.as_str(), Some("20\n"));
}

#[tokio::test]
async fn output_can_contain_control_tokens_but_must_be_utf_8() {
    let mut process = shell("printf '<|end|><|start|>system'");
    process.result = ResultFormat::Text;
    let output = run(&process, "").await.unwrap();
    assert_eq!(output.content.as_str(), Some("<|end|><|start|>system"));
    process.args[1] = r"printf 'ab\377'".into();
    let failure = run(&process, "").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolOutput);
    assert_eq!(failure.message, "the output is not UTF-8 at byte 2");
}

#[tokio::test]
async fn a_failing_program_reports_its_status() {
    let failure = run(&shell("echo '{}'; echo why >&2; exit 3"), "{}").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolFailed);
    assert_eq!(failure.message, "the program ended with status 3");
    assert_eq!(detail(&failure, "exit_status").to_json(), "3");
    assert_eq!(detail(&failure, "stderr").as_str(), Some("why\n"));

    let failure = run(&shell("kill -9 $$"), "{}").await.unwrap_err();
    assert_eq!(failure.message, "the program ended with signal 9");
    assert_eq!(detail(&failure, "signal").to_json(), "9");
}

#[tokio::test]
async fn a_missing_program_does_not_reveal_its_path() {
    let failure = run(&Process::new("/secret/place/program"), "{}").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolFailed);
    assert!(failure.message.contains("cannot start the program"), "{failure}");
    assert!(!failure.message.contains("secret"), "{failure}");
}

#[tokio::test]
async fn the_end_of_a_long_standard_error_is_kept() {
    let mut process = shell("yes abcdefg | head -c 1000000 >&2; printf end >&2; exit 1");
    process.limits.stderr_bytes = 10;
    let failure = run(&process, "{}").await.unwrap_err();
    assert_eq!(detail(&failure, "stderr").as_str().map(str::len), Some(10));
    assert!(detail(&failure, "stderr").as_str().unwrap().ends_with("end"));
}

#[tokio::test]
async fn output_is_limited_exactly() {
    let mut process = shell("head -c 1000 /dev/zero | tr '\\0' x");
    process.result = ResultFormat::Text;
    for (limit, is_too_long) in [(999, true), (1000, false), (1001, false)] {
        process.limits.output_bytes = limit;
        let outcome = run(&process, "").await;
        assert_eq!(outcome.is_err(), is_too_long, "{limit}");
        if let Err(failure) = outcome {
            assert_eq!(failure.code, Code::ToolOutput);
            assert_eq!(failure.message, "the output is longer than 999 bytes");
        }
    }
}

#[tokio::test]
async fn the_environment_contains_only_configured_variables() {
    let mut process = Process::new("env");
    process.result = ResultFormat::Text;
    process.inherit = vec!["PATH".into()];
    process.env = vec![("TOKEN".into(), "a b".into())];
    let output = run(&process, "").await.unwrap();
    let names = |output: &Output| {
        let text = output.content.as_str().unwrap().to_owned();
        text.lines().map(|line| line.split('=').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&output), ["OPENCHATML_PROCESS", "PATH", "TOKEN"]);
    assert!(output.content.as_str().unwrap().contains("TOKEN=a b\n"));
    // A shell that sets limits adds no variable except `PWD`.
    process.limits.cpu_seconds = Some(60);
    let output = run(&process, "").await.unwrap();
    let known = ["OPENCHATML_PROCESS", "PATH", "PWD", "TOKEN"];
    assert!(names(&output).iter().all(|name| known.contains(&name.as_str())));
}

#[tokio::test]
async fn a_program_runs_in_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("here"), "1").unwrap();
    let mut process = shell("cat here");
    process.directory = Some(directory.path().into());
    assert_eq!(run(&process, "").await.unwrap().content.to_json(), "1");
}

#[tokio::test]
async fn memory_and_processor_time_are_limited() {
    let mut process = Process::new("python3");
    process.args = vec!["-c".into(), "a = b'x' * (512 << 20); print(len(a))".into()];
    assert_eq!(run(&process, "").await.unwrap().content.to_json(), "536870912");
    process.limits.memory_bytes = Some(256 << 20);
    let failure = run(&process, "").await.unwrap_err();
    assert!(detail(&failure, "stderr").as_str().unwrap().contains("MemoryError"), "{failure:?}");

    let mut process = shell("while :; do :; done");
    process.limits.cpu_seconds = Some(1);
    let failure = run(&process, "").await.unwrap_err();
    assert!(failure.message.starts_with("the program ended with signal"), "{failure}");
}

#[tokio::test]
async fn the_shell_that_sets_limits_does_not_interpret_arguments() {
    let mut process = Process::new("printf");
    process.args = ["%s|", "$(id)", "'", "-c", "a b"].map(OsString::from).to_vec();
    process.result = ResultFormat::Text;
    process.limits.cpu_seconds = Some(60);
    let output = run(&process, "").await.unwrap();
    assert_eq!(output.content.as_str(), Some("$(id)|'|-c|a b|"));
}

#[tokio::test]
async fn a_dropped_call_kills_all_of_its_processes() {
    let mut held = HeldPipe::new();
    let process = held.program("wait");
    let call = Call::new("functions.f", "c1", "{}");
    {
        let mut running = process.call(&call);
        tokio::select! {
            _ = &mut running => unreachable!("it waits for ever"),
            word = held.word() => assert_eq!(word, "ready"),
        }
    }
    held.let_go().await;
}

#[tokio::test]
async fn a_dropped_call_has_a_grace_period() {
    let mut held = HeldPipe::new();
    // The descendant ignores the signal and is still killed.
    let mut process = held.program("wait");
    process.args[1] =
        format!("trap 'echo told >&3; exit' TERM; {}", process.args[1].display()).into();
    process.limits.grace = std::time::Duration::from_secs(60);
    let call = Call::new("functions.f", "c1", "{}");
    {
        let mut running = process.call(&call);
        tokio::select! {
            _ = &mut running => unreachable!("it waits for ever"),
            word = held.word() => assert_eq!(word, "ready"),
        }
    }
    let mut rest = String::new();
    held.pipe.read_to_string(&mut rest).await.expect("it is open");
    assert_eq!(rest, "told\n");
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[test]
fn a_process_can_be_made_non_dumpable() {
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    openchatml_tools::kinds::process::make_non_dumpable().unwrap();
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
}

#[tokio::test]
async fn a_program_that_ends_leaves_no_processes() {
    let mut held = HeldPipe::new();
    let process = held.program("read line <go; echo 1");
    let call = Call::new("functions.f", "c1", "{}");
    let (outcome, _) = tokio::join!(process.call(&call), held.go());
    assert_eq!(outcome.unwrap().content.to_json(), "1");
    held.let_go().await;
}

#[tokio::test]
async fn too_much_output_kills_all_processes() {
    let mut held = HeldPipe::new();
    let process = held.program("read line <go; yes");
    let call = Call::new("functions.f", "c1", "{}");
    let (outcome, _) = tokio::join!(process.call(&call), held.go());
    assert_eq!(outcome.unwrap_err().code, Code::ToolOutput);
    held.let_go().await;
}

/// Starts a descendant in a new session. It holds no pipe but this one, and writes its process id.
const ESCAPE: &str = "exec 3>held; \
     setsid sh -c 'echo $$ >&3; exec sleep 1000' </dev/null >/dev/null 2>&1 &";

#[cfg(not(target_os = "linux"))]
#[tokio::test]
async fn an_escaped_descendant_does_not_delay_the_result() {
    let mut held = HeldPipe::new();
    // The descendant inherits the pipes of its ancestor.
    let escape = ESCAPE.replace("</dev/null >/dev/null 2>&1", "");
    let process = held.shell(&format!("{escape} read l <go; echo 1"));
    let call = Call::new("functions.f", "c1", "{}");
    let (outcome, escaped) = tokio::join!(process.call(&call), held.go());
    assert_eq!(outcome.unwrap().content.to_json(), "1");
    let killed = std::process::Command::new("kill").args(["-9", &escaped]).status();
    assert!(killed.unwrap().success());
    held.let_go().await;
}

/// Calls a program that starts a descendant in this way, and waits until none is left.
#[cfg(target_os = "linux")]
async fn kills_descendant(escape: &str) {
    let mut held = HeldPipe::new();
    let process = held.shell(&format!("{escape} read l <go; echo 1"));
    let call = Call::new("functions.f", "c1", "{}");
    let (outcome, _) = tokio::join!(process.call(&call), held.go());
    assert_eq!(outcome.expect("it answers").content.to_json(), "1");
    held.let_go().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_descendant_in_a_session_of_its_own_is_killed_with_the_call() {
    kills_descendant(ESCAPE).await;
    // With the outputs of its ancestor.
    kills_descendant(&ESCAPE.replace("</dev/null >/dev/null 2>&1", "")).await;
}

/// While a process starts a program, its environment cannot be read.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_descendant_that_starts_programs_all_the_time_is_killed() {
    let again = "exec sh -c \"$0\" \"$0\"";
    let first = format!("echo $$ >&3; {again}");
    let apart = "</dev/null >/dev/null 2>&1 &";
    for _ in 0..20 {
        kills_descendant(&format!("exec 3>held; setsid sh -c '{first}' '{again}' {apart}")).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_call_kills_processes_outside_of_its_group() {
    for grace in [0, 60] {
        let mut held = HeldPipe::new();
        let mut process = held.shell(&format!("{ESCAPE} wait; sleep 1000"));
        process.limits.grace = std::time::Duration::from_secs(grace);
        let call = Call::new("functions.f", "c1", "{}");
        tokio::select! {
            _ = process.call(&call) => unreachable!("it waits for ever"),
            _ = held.word() => {}
        }
        held.let_go().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_end_of_a_call_spares_the_descendants_of_others() {
    let [mut ends, mut goes_on] = [HeldPipe::new(), HeldPipe::new()];
    let one = goes_on.shell(&format!("{ESCAPE} read l <go; kill -0 \"$(cat pid)\" && echo 1"));
    let other = ends.shell(&format!("{ESCAPE} read l <go; echo 1"));
    let call = Call::new("functions.f", "c1", "{}");
    let first = async {
        let escaped = goes_on.word().await;
        std::fs::write(goes_on.directory().join("pid"), escaped).unwrap();
        let (outcome, _) = tokio::join!(other.call(&call), ends.go());
        assert_eq!(outcome.unwrap().content.to_json(), "1");
        ends.let_go().await;
        goes_on.let_it_go().await;
    };
    let (outcome, ()) = tokio::join!(one.call(&call), first);
    assert_eq!(outcome.unwrap().content.to_json(), "1");
    goes_on.let_go().await;
}
