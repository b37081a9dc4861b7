//! Data sets.

use std::process::Stdio;

use crate::support::{Folder, Ran, command, finish};

const CHAT: &str =
    r#"{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]}"#;

fn lines(count: usize) -> String {
    let line = |number: usize| match number % 50 {
        49 => "no conversation\n".to_owned(),
        _ => {
            format!(
                r#"{{"messages":[{{"role":"user","content":"{number} {}"}},{{"role":"assistant","content":"ok"}}]}}"#,
                "word ".repeat(number % 30)
            ) + "\n"
        }
    };
    (0..count).map(line).collect()
}

/// The names and contents of the files in a folder.
fn files(folder: &Folder, name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder.path().join(name)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.push((name, std::fs::read(entry.path()).unwrap()));
    }
    files.sort();
    files
}

fn run(folder: &Folder, args: &str) -> Ran {
    folder.ocml_with(args.split_whitespace(), "")
}

#[test]
fn the_status_tells_what_happened() {
    let folder = Folder::new();
    folder.file("good.jsonl", format!("{CHAT}\n"));
    folder.file("bad.jsonl", format!("{CHAT}\nno\n"));
    let ran = run(&folder, "data convert -t chatml good.jsonl -o good").exits(0);
    assert_eq!(ran.stderr, "1 record: 1 row in 1 file, 0 rejected\n");
    run(&folder, "-q data convert -t chatml bad.jsonl -o bad").exits(1);
    run(&folder, "data convert -t chatml bad.jsonl -o stop --stop-on-reject")
        .exits(1)
        .says("`bad.jsonl`, row 2: E-");
    run(&folder, "data convert -t chatml none.jsonl -o x").says_one_line(2);
    run(&folder, "data convert -t chatml good.jsonl -o bad").exits(2).says("has another run");
    run(&folder, "data convert -t harmony:tokens good.jsonl -o x").exits(2).says("tokenize");
    run(&folder, "data convert -t chatml good.jsonl -o x --memory 1K").exits(2);
    run(&folder, "data check good.jsonl").exits(0);
    run(&folder, "data check bad.jsonl").exits(1);
    run(&folder, "data sample good.jsonl -o x").exits(2);
    run(&folder, "data split --part a=0.4 --part b=0.4 good.jsonl -o x")
        .exits(2)
        .says("add up to 1");
    let ran = run(&folder, "data convert -t chatml s3://bucket/x.jsonl -o x").exits(2);
    assert!(ran.stderr.starts_with("error: "), "{ran:?}");
}

#[test]
fn standard_input_is_read_once() {
    let folder = Folder::new();
    let text = lines(2000);
    folder.file("in.jsonl", &text);
    run(&folder, "-q data convert -t chatml in.jsonl -o file").exits(1);
    let args = |args: &str| folder.ocml_with(args.split_whitespace(), &text);
    args("-q data convert -t chatml -o named -").exits(1);
    args("-q data convert -t chatml -o piped").exits(1);
    let part = |name: &str| folder.read(&format!("{name}/part-00000.jsonl"));
    assert!(part("named") == part("file") && part("piped") == part("file"));
    let rejects = folder.read("piped/_rejects-00000.jsonl");
    assert!(rejects.starts_with(r#"{"file":"<stdin>","line":50,"#), "{rejects}");
    args("data check").exits(1).says("");
    args("data convert -t chatml -o piped").exits(2).says("`<stdin>` can be read only once");
    args("data sample --rows 3 -o some").exits(2).says("requires two readings");
    args("-q data sample --share 0.5 -o some").exits(0);
    args("data convert -t chatml - - -o x").exits(2).says("`-` is named twice");
    folder.ocml_with(["data", "check"], "PAR1....").exits(2).says("cannot read `<stdin>`");
    let array = format!("[{CHAT},\n{CHAT}]");
    let ran = folder.ocml_with(["data", "check"], &array).exits(0);
    assert!(ran.stdout.contains("<stdin>:2: the same conversation as in row 1"), "{ran:?}");
}

#[test]
fn findings_of_rows_are_lines() {
    let folder = Folder::new();
    folder.file("in.jsonl", format!("{CHAT}\nno\n\n{CHAT}\n"));
    run(&folder, "data check --findings rows.jsonl in.jsonl").exits(1);
    let rows = folder.read("rows.jsonl");
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<_> = rows.iter().map(|row| (&row["row"], &row["byte"])).collect();
    let bytes = [CHAT.len() + 1, CHAT.len() + 5];
    assert_eq!(places, [(&2.into(), &bytes[0].into()), (&4.into(), &bytes[1].into())]);
    let code = |row: &serde_json::Value| row["findings"][0]["code"].clone();
    assert_eq!(code(&rows[1]), "W-DUPLICATE");
    run(&folder, "data check --findings none/rows.jsonl in.jsonl").says_one_line(2);
}

#[test]
fn ids_are_those_of_tokens() {
    let folder = Folder::new();
    folder.file("in.jsonl", format!("{CHAT}\n"));
    run(&folder, "data tokenize -t harmony in.jsonl -o ids").exits(0);
    let own: serde_json::Value =
        serde_json::from_str(&folder.read("ids/part-00000.jsonl")).unwrap();
    let ran = run(&folder, "tokens -t harmony --training --bare --mask in.jsonl").silent();
    assert_eq!(own, serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap());
    // They can be read back.
    let ran = run(&folder, "convert -f harmony:tokens -t openai ids/part-00000.jsonl").exits(0);
    assert_eq!(ran.stdout, format!("{CHAT}\n"));
}

#[test]
fn counts_are_written_as_json_and_as_a_page() {
    let folder = Folder::new();
    folder.file("in.jsonl", lines(100));
    let ran = run(&folder, "data stats --json --html page.html in.jsonl").exits(1);
    let stats: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&stats["records"], &stats["messages"]["sum"]), (&100.into(), &196.into()));
    let page = folder.read("page.html");
    assert!(page.contains("<td>user<td>98<td>98<td>") && page.contains("<svg "), "{page}");
    assert!(!page.contains("http"), "the page needs no other files");
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_killed_continues_with_the_same_bytes() {
    let folder = Folder::new();
    folder.file("in.jsonl", lines(3000));
    let args = |output: &str| {
        format!("-q data convert -t harmony in.jsonl --shard-rows 50 --memory 1M -o {output}")
    };
    run(&folder, &args("whole")).exits(1);
    let expected = files(&folder, "whole");
    let kills = std::env::var("OPENCHATML_KILLS").map_or(20, |kills| kills.parse().unwrap());
    for kill in 0..kills {
        // Somewhere in the run, which writes 120 files.
        let least = 1 + kill * 37 % 60;
        let mut child = command(args("out").split_whitespace());
        let child = child.current_dir(folder.path()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap();
        // Kill it after some files are there, wherever it is then.
        let count = || std::fs::read_dir(folder.path().join("out")).map_or(0, Iterator::count);
        while count() < 2 * least && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        finish(child);
        run(&folder, &args("out")).exits(1);
        assert!(files(&folder, "out") == expected, "after {least}");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_after_which_the_run_continues() {
    let folder = Folder::new();
    folder.file("in.jsonl", lines(3000));
    let args = "-q data convert -t harmony in.jsonl --shard-rows 500";
    run(&folder, &format!("{args} -o whole")).exits(1);
    // Files of more than 64 blocks of 512 bytes cannot be written, as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", script, "bash", env!("CARGO_BIN_EXE_ocml")]);
    shell.args(args.split_whitespace()).args(["-o", "out"]).current_dir(folder.path());
    // The counts of a build that measures coverage are a file, too, and would not fit.
    shell.env("LLVM_PROFILE_FILE", "/dev/null");
    let ran = finish(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let error = ran.says_one_line(2);
    assert!(error.starts_with("error: cannot write `out/part-0000"), "{error}");
    run(&folder, &format!("{args} -o out")).exits(1);
    assert!(files(&folder, "out") == files(&folder, "whole"));
}

#[test]
fn records_with_errors_are_not_tokenized() {
    let folder = Folder::new();
    folder.file("in.jsonl", r#"{"prompt":"A?","chosen":"B."}"#);
    let ran = run(&folder, "data tokenize -t harmony in.jsonl -o out").exits(1);
    ran.says("E-PARSE-JSON in 1 record").says("1 rejected");
    let ran = run(&folder, "data convert -t harmony in.jsonl -o text").exits(1);
    ran.says("E-PARSE-JSON in 1 record").says("0 rejected");
}

#[test]
fn a_truncated_sample_keeps_its_last_answer() {
    let folder = Folder::new();
    folder.file(
        "in.jsonl",
        r#"{"messages":[{"role":"user","content":"A?"},{"role":"assistant","content":"one two three four five six"}]}"#,
    );
    let args = "data tokenize -t harmony --max-length 10 --too-long truncate in.jsonl -o out";
    run(&folder, args).exits(1).says("1 rejected");
}

/// A column that is kept is still a part of the record.
#[test]
fn what_is_kept_is_also_read() {
    let folder = Folder::new();
    folder.file("bad.jsonl", r#"{"prompt":"Q","completion":"A","label":false,"source":"x"}"#);
    let written = |args: &str| {
        let output = args.replace([',', ' '], "-");
        run(&folder, &format!("-q data {args} bad.jsonl -o {output}")).exits(0);
        String::from_utf8(files(&folder, &output).pop().unwrap().1).unwrap()
    };
    for keep in ["label", "source", "label,source"] {
        let ids = written(&format!("tokenize -t harmony --keep {keep}"));
        assert!(ids.contains(r#""mask":[0,0,0,0,0,0,0,0,0,0,0,0]"#), "{keep}: {ids}");
        assert_eq!(ids.contains(r#""label":false"#), keep.contains("label"), "{keep}: {ids}");
    }
    run(&folder, "data convert -t chatml --keep label bad.jsonl -o refused").exits(1);
    folder.file("bad.jsonl", r#"{"instruction":"Translate.","input":"Bonjour","output":"Hello"}"#);
    assert!(written("convert -t chatml --keep input").contains("Translate.\\nBonjour"));
}

/// Without a column that is named, the fields of lines are not known before they are read.
#[test]
fn all_other_fields_are_kept_beside_json() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"}],\"id\":7}\n");
    for keep in [&["--keep-all"][..], &["--keep", "id"], &[]] {
        let args = ["data", "convert", "-t", "openai", "--column", "messages", "--allow-loss=all"];
        folder.ocml([&args[..], keep, &["a.jsonl", "-o", "out"]].concat()).exits(0);
        let id = if keep.is_empty() { "" } else { ",\"id\":7" };
        let expected = format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"Q\"}}]{id}}}\n");
        assert_eq!(folder.read("out/part-00000.jsonl"), expected, "{keep:?}");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
    let args = ["data", "convert", "-t", "openai", "--column", "messages", "--keep-all"];
    let to = ["--output-format", "parquet", "a.jsonl", "-o", "out"];
    folder.ocml([&args[..], &to].concat()).exits(2).says("name those that become columns");
}

/// Of two fields of one name, most readers would use the last one.
#[test]
fn a_field_is_not_kept_beside_a_column_of_its_name() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"chat\":[{\"role\":\"user\",\"content\":\"Q\"}],\"text\":\"T\"}\n");
    let args = ["data", "convert", "--column", "chat", "--keep-all", "a.jsonl", "-o", "out", "-t"];
    folder.ocml([&args[..], &["chatml"]].concat()).exits(2).says("a column of this name");
    std::fs::remove_dir_all(folder.path().join("out")).ok();
    folder.ocml([&args[..], &["openai"]].concat()).exits(0);
}
