//! Output is written completely or not at all.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use crate::support::{BAD, Folder, GOOD, MESSAGES, command, finish, run};

#[test]
fn a_file_is_written_completely() {
    let folder = Folder::new();
    folder.file("a.txt", GOOD);
    folder.file("out.json", "old");
    let ran = folder.ocml(["parse", "a.txt", "-o", "out.json"]).silent();
    assert_eq!(ran.stdout, "");
    assert!(folder.read("out.json").starts_with("{\"header\""));
    // An input would be lost.
    let args = ["convert", "-t", "openchatml-2.2", "a.txt", "--output", "./a.txt"];
    folder.ocml(args).exits(2).says("the output `./a.txt` is also input");
    assert_eq!(folder.read("a.txt"), GOOD);
    assert_eq!(folder.names(), ["a.txt", "out.json"]);
    assert_eq!(folder.ocml(["parse", "a.txt", "-o", "-"]).silent().stdout, folder.read("out.json"));
}

#[test]
fn a_file_is_not_changed_without_output() {
    let folder = Folder::new();
    folder.file("bad.txt", BAD);
    folder.file("good.txt", GOOD);
    folder.file("out", "old");
    for (args, status) in [
        (&["parse", "--strict", "bad.txt", "-o", "out"][..], 1),
        (&["convert", "-t", "chatml", "--no-loss", "good.txt", "-o", "out"], 1),
        (&["convert", "-t", "chatml", "none.txt", "-o", "out"], 2),
        (&["convert", "-t", "chatml", "good.txt", "none.txt", "-o", "out"], 2),
        (&["render", "-t", "chatml", "--no-loss", "good.txt", "-o", "out"], 1),
        (&["parse", "--jsonl", "good.txt", "-o", "out"], 1),
        (&["parse", "--jsonl", ".", "-o", "out"], 2),
        (&["parse", "good.txt", "-o", "."], 2),
        (&["parse", "good.txt", "-o", "none/out"], 2),
        (&["check", "--output-format", "json", "-o", "none/out", "good.txt"], 2),
    ] {
        folder.ocml(args).exits(status);
        assert_eq!(folder.read("out"), "old", "{args:?}");
        assert_eq!(folder.names(), ["bad.txt", "good.txt", "out"], "{args:?}");
    }
    // Recoverable parts are still written.
    folder.ocml(["parse", "bad.txt", "-o", "out"]).exits(1);
    assert!(folder.read("out").contains("never ends"));
}

#[test]
fn an_unwritable_path_is_reported_on_one_line() {
    let folder = Folder::new();
    let line = folder.ocml_with(["parse", "-o", "."], GOOD).says_one_line(2);
    assert_eq!(line, "error: cannot write `.`: is a directory\n");
    let line = folder.ocml_with(["parse", "-o", "none/out"], GOOD).says_one_line(2);
    assert_eq!(line, "error: cannot write `none/out`: no such file or directory\n");
}

#[cfg(unix)]
#[test]
fn new_files_have_default_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let mode = |name: &str| {
        std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
    };
    folder.file("plain", "");
    folder.ocml_with(["parse", "-o", "new"], GOOD).silent();
    assert_eq!(mode("new"), mode("plain"));
    let fixed = folder.file("fixed", "old");
    std::fs::set_permissions(&fixed, std::fs::Permissions::from_mode(0o444)).unwrap();
    let line = folder.ocml_with(["parse", "-o", "fixed"], GOOD).says_one_line(2);
    assert_eq!(line, "error: cannot write `fixed`: permission denied\n");
    assert_eq!(folder.read("fixed"), "old");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_on_one_line() {
    let jsonl = format!("{MESSAGES}\n").repeat(2000);
    for (args, input) in [
        (&["parse"][..], GOOD),
        (&["convert", "-q", "-t", "chatml"], GOOD),
        (&["parse", "--jsonl"], &jsonl),
        (&["fmt"], GOOD),
        (&["show"], GOOD),
        (&["detect"], GOOD),
        (&["check", "--output-format", "sarif"], GOOD),
        (&["check", "--output-format", "json"], BAD),
        (&["stream", "-f", "openchatml-2.2"], GOOD),
        (&["explain"], ""),
        (&["man"], ""),
        (&["completions", "bash"], ""),
        (&["--help"], ""),
        (&["--version"], ""),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = run(command(args).stdout(full), input);
        assert_eq!(ran.status, 2, "{args:?}: {ran:?}");
        let expected = "error: cannot write standard output: no space left on device\n";
        assert_eq!(ran.stderr, expected, "{args:?}");
    }
    let folder = Folder::new();
    let line = folder.ocml_with(["parse", "-o", "/dev/full"], GOOD).says_one_line(2);
    assert_eq!(line, "error: cannot write `/dev/full`: no space left on device\n");
    folder.ocml_with(["parse", "-o", "/dev/null"], GOOD).silent();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_closed_pipe_prints_no_message() {
    let jsonl = format!("{MESSAGES}\n").repeat(100_000);
    for (args, input) in [
        (&["parse"][..], GOOD),
        (&["convert", "-q", "-t", "chatml", "--jsonl"], &jsonl),
        (&["fmt", "--jsonl"], &jsonl),
        (&["stream", "-f", "openchatml-2.2"], GOOD),
        (&["check", "--output-format", "json"], BAD),
        (&["completions", "zsh"], ""),
        (&["--help"], ""),
    ] {
        let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        // The command may have ended already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let ran = finish(child);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_closed_output_ends_the_command() {
    let args = ["convert", "-q", "-f", "json", "-t", "chatml", "--jsonl"];
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = format!("{MESSAGES}\n");
    stdin.write_all(line.as_bytes()).unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 1]).unwrap();
    drop(stdout);
    // Standard input stays open: the command ends because nothing reads its output. A child process
    // of another test may hold the pipe open for a moment, so one more line is not always enough.
    let is_over = (0..1_000_000).any(|_| stdin.write_all(line.as_bytes()).is_err());
    assert!(is_over);
    let ran = finish(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_no_temporary_files() {
    use std::io::{BufRead as _, BufReader};
    let folder = Folder::new();
    folder.file("out.jsonl", "old");
    for signal in ["-INT", "-TERM"] {
        let args = ["parse", "-v", "--jsonl", "-o", "out.jsonl"];
        let mut command = command(args);
        let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // As many lines as detection reads. Once the format has been reported, the command has
        // begun to write.
        stdin.write_all(format!("{MESSAGES}\n").repeat(1000).as_bytes()).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut String::new()).unwrap();
        assert_eq!(folder.names().len(), 2);
        let id = child.id().to_string();
        let killed = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(killed.success());
        assert_eq!(finish(child).status, 130);
        assert_eq!(folder.names(), ["out.jsonl"]);
        assert_eq!(folder.read("out.jsonl"), "old");
    }
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = Folder::new();
    folder.file("in.json", MESSAGES);
    for args in [
        &["convert", "-t", "chatml", "in.json", "--rejects", "in.json"][..],
        &["convert", "-t", "harmony", "--sidecar", "in.json", "in.json"],
        &["convert", "-t", "chatml", "in.json", "-o", "out", "--rejects", "out"],
        &["tokens", "-t", "harmony", "in.json", "--rejects", "./in.json"],
    ] {
        folder.ocml(args).exits(2).says("names a file that is also input or output");
        assert_eq!(folder.read("in.json"), MESSAGES, "{args:?}");
        assert_eq!(folder.names(), ["in.json"], "{args:?}");
    }
}

#[test]
fn a_file_in_an_unknown_format_does_not_prevent_writing_the_others() {
    let folder = Folder::new();
    folder.file("a.json", MESSAGES);
    folder.file("null.json", "null");
    let ran = folder.ocml(["convert", "-t", "chatml", "null.json", "a.json"]).exits(1);
    assert!(ran.stdout.contains("<|im_start|>"), "{}", ran.stdout);
    ran.says("cannot detect the format of `null.json`");
}
