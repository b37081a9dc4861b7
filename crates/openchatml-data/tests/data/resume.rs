//! Runs that were interrupted continue, and give the same bytes.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use openchatml_data::kernel::KernelOptions;
use openchatml_data::{
    DataError, Fields, FileFormat, Near, RunOptions, Share, Size, Summary, convert, dedup, sample,
    split, tokenize,
};

use crate::support::{
    Folder, in_format, joined, mixed_lines, sized, to_harmony, tokenize as to_ids,
};

/// The commands that write shards.
const COMMANDS: &[&str] = &[
    "convert",
    "convert-gzip",
    "convert-parquet",
    "from-parquet",
    "convert-zstd",
    "convert-arrow",
    "from-gzip",
    "from-array",
    "pack",
    "dedup",
    "near",
    "sample",
    "split",
];

fn run(command: &str, options: RunOptions) -> Result<Summary, DataError> {
    let fields = Fields::default();
    match command {
        "convert" | "from-gzip" | "from-array" => convert(&options, &fields, to_harmony()),
        "convert-gzip" => {
            convert(&in_format(options, FileFormat::JsonlGzip), &fields, to_harmony())
        }
        "convert-zstd" => {
            convert(&in_format(options, FileFormat::JsonlZstd), &fields, to_harmony())
        }
        "convert-arrow" => convert(&in_format(options, FileFormat::Arrow), &fields, to_harmony()),
        "convert-parquet" => {
            convert(&in_format(options, FileFormat::Parquet), &fields, to_harmony())
        }
        "from-parquet" => convert(&options, &fields, to_harmony()),
        "pack" => tokenize(&options, &fields, to_ids(), Some(8192)),
        "dedup" => dedup(&options, &fields, kernel(), None).map(|done| done.0),
        "near" => dedup(&options, &fields, kernel(), Some(Near::new(0.8))).map(|done| done.0),
        "sample" => sample(&options, Size::Rows(60), 1),
        _ => {
            let parts = [("a", 0.5), ("b", 0.5)];
            let parts = parts.map(|(name, share)| Share { name: name.to_owned(), share });
            split(&options, &fields, kernel(), &parts, 1)
        }
    }
}

fn kernel() -> KernelOptions {
    to_harmony()
}

fn options(folder: &Folder, command: &str, output: &str) -> RunOptions {
    let input = match command {
        "from-parquet" => "parquet",
        "from-gzip" => "gzip",
        "from-array" => "array.json",
        _ => "in",
    };
    sized(folder.run(&[input], output), 256 << 10, 2, 40)
}

/// Inputs for all commands.
fn inputs() -> Folder {
    let folder = Folder::new();
    let lines = mixed_lines(1, 150);
    // Some rows occur again.
    folder.write("in/a.jsonl", joined(&lines));
    folder.write("in/b.jsonl", joined(&lines[50..80]));
    let records: Vec<_> = lines.iter().filter(|line| line.ends_with('}')).cloned().collect();
    folder.write("array.json", format!("[{}\n]", records.join(",\n")));
    for (format, name) in [(FileFormat::Parquet, "parquet"), (FileFormat::JsonlGzip, "gzip")] {
        let run = in_format(folder.run(&["in"], name), format);
        convert(&run, &Fields::default(), to_harmony()).unwrap();
    }
    folder
}

/// Runs a command in a process of its own, which ends without any warning before it takes the
/// result with this number. Returns whether it did.
fn run_until(folder: &Folder, command: &str, output: &str, results: usize) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "resume::a_process_that_ends_early", "--ignored", "--nocapture"]);
    child.env("DATA_FOLDER", folder.path("")).env("DATA_COMMAND", command);
    child.env("DATA_OUTPUT", output).env("DATA_RESULTS", results.to_string());
    child.stdout(Stdio::null()).stderr(Stdio::null());
    !child.status().unwrap().success()
}

#[test]
#[ignore = "the other tests run it in a process of its own"]
fn a_process_that_ends_early() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let path = |name: &str| {
        std::path::Path::new(&variable("DATA_FOLDER")).join(name).display().to_string()
    };
    let command = variable("DATA_COMMAND");
    let input = match command.as_str() {
        "from-parquet" => "parquet",
        "from-gzip" => "gzip",
        "from-array" => "array.json",
        _ => "in",
    };
    let options = RunOptions::new([path(input)], path(&variable("DATA_OUTPUT")));
    let mut options = sized(options, 256 << 10, 2, 40);
    let left = AtomicUsize::new(variable("DATA_RESULTS").parse().unwrap());
    options.progress = Some(Arc::new(move |_| {
        // Nothing is dropped and no buffer is written, as after `kill -9`.
        if left.fetch_sub(1, Ordering::SeqCst) == 0 {
            std::process::abort();
        }
    }));
    run(&command, options).unwrap();
}

#[test]
fn a_run_that_ends_anywhere_continues_with_the_same_bytes() {
    let folder = inputs();
    for command in COMMANDS {
        let whole = run(command, options(&folder, command, "whole")).unwrap();
        let expected = folder.files("whole");
        assert!(expected.len() > 4, "{command}: {}", expected.len());
        std::fs::remove_dir_all(folder.path("whole")).unwrap();
        let mut resumed = 0;
        let ends = (0..).step_by(3).take_while(|results| {
            let ended = run_until(&folder, command, "out", *results);
            // It may be interrupted again.
            run_until(&folder, command, "out", 2);
            let summary = run(command, options(&folder, command, "out")).unwrap();
            assert!(folder.files("out") == expected, "{command}, after {results} results");
            assert_eq!((&summary.tally, summary.rows), (&whole.tally, whole.rows), "{command}");
            resumed = resumed.max(summary.resumed);
            std::fs::remove_dir_all(folder.path("out")).unwrap();
            ended
        });
        assert!(ends.count() > 3, "{command}");
        assert!(resumed > 0, "{command}");
    }
}

#[test]
fn files_that_were_not_finished_are_replaced() {
    let folder = inputs();
    run("convert", options(&folder, "convert", "whole")).unwrap();
    let expected = folder.files("whole");
    assert!(run_until(&folder, "convert", "out", 7));
    // The end of a process can be between any two changes of files.
    folder.write("out/part-00001.jsonl.unfinished", "torn");
    folder.write("out/part-00002.jsonl", "not in the journal");
    folder.write("out/_journal-00001.json.unfinished", "{\"shard\":");
    run("convert", options(&folder, "convert", "out")).unwrap();
    assert!(folder.files("out") == expected);
}

#[test]
fn a_complete_run_is_not_repeated() {
    let folder = inputs();
    let first = run("convert", options(&folder, "convert", "out")).unwrap();
    let written =
        || std::fs::metadata(folder.path("out/part-00000.jsonl")).unwrap().modified().unwrap();
    let before = written();
    let second = run("convert", options(&folder, "convert", "out")).unwrap();
    assert!(!first.was_complete && second.was_complete);
    assert_eq!((before, first.tally, first.rows), (written(), second.tally, second.rows));
}

#[test]
fn another_run_needs_permission_to_replace_files() {
    let folder = inputs();
    assert!(run_until(&folder, "convert", "out", 7));
    let refused = |options: RunOptions| {
        let error = run("convert", options).unwrap_err();
        assert!(matches!(error, DataError::Usage(_)), "{error}");
        error.to_string()
    };
    let of = || options(&folder, "convert", "out");
    let mut other = of();
    other.description.insert("--to".to_owned(), "harmony".to_owned());
    let text = "the output folder has another run: the option --to was not given; name another folder, or use `--overwrite`";
    assert_eq!(refused(other), text);
    let other = sized(of(), 256 << 10, 2, 41);
    assert!(refused(other).contains("the option --shard-rows was `40`"));
    let mut other = of();
    other.inputs = vec![folder.name("in/a.jsonl")];
    assert!(refused(other).contains("the number of inputs was another"));
    // The number of threads may change.
    run("convert", sized(of(), 256 << 10, 1, 40)).unwrap();
    folder.write("in/b.jsonl", joined(&mixed_lines(9, 10)));
    assert!(refused(of()).contains("b.jsonl` has changed"));
    let mut other = of();
    other.overwrite = true;
    let expected = run("convert", options(&folder, "convert", "fresh")).unwrap();
    assert_eq!(run("convert", other).unwrap(), expected);
    assert!(folder.files("out") == folder.files("fresh"));

    let mut other = of();
    (other.inputs, other.overwrite) = (vec![folder.name("out")], true);
    assert!(refused(other).contains("is in the output folder"));
    folder.write("notes/todo.txt", "mine");
    folder.write("notes/mine.unfinished", "mine");
    let mut other = of();
    other.output = folder.name("notes");
    assert!(refused(other).contains("is not empty"));
    assert_eq!(folder.files("notes").len(), 2);
    std::fs::remove_file(folder.path("out/part-00000.jsonl")).unwrap();
    let error = run("convert", of()).unwrap_err().to_string();
    assert!(error.contains("part-00000.jsonl") && error.contains("removed or changed"), "{error}");
}

#[test]
fn two_runs_do_not_write_to_the_same_folder() {
    let folder = inputs();
    let mut outer = options(&folder, "convert", "out");
    let inner = options(&folder, "convert", "out");
    let refused = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&refused);
    outer.progress = Some(Arc::new(move |_| {
        if !told.swap(true, Ordering::SeqCst) {
            let error = run("convert", inner.clone()).unwrap_err();
            assert!(error.to_string().starts_with("another run writes to"), "{error}");
        }
    }));
    run("convert", outer).unwrap();
    assert!(refused.load(Ordering::SeqCst));
}

#[test]
fn a_run_can_be_cancelled() {
    let folder = inputs();
    let mut cancelled = options(&folder, "convert", "out");
    let cancel = Arc::clone(&cancelled.cancel);
    cancelled.progress = Some(Arc::new(move |_| cancel.store(true, Ordering::SeqCst)));
    assert_eq!(run("convert", cancelled).unwrap_err(), DataError::Interrupted);
    run("convert", options(&folder, "convert", "out")).unwrap();
    run("convert", options(&folder, "convert", "whole")).unwrap();
    assert!(folder.files("out") == folder.files("whole"));
}
