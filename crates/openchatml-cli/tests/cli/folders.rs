//! Folders as input and output, and files that hold many records.

use std::fs::{create_dir_all, read_to_string};

use crate::support::{Folder, json, ocml_with};

const MESSAGES: &str =
    r#"{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello!"}]}"#;

/// A folder with files of several kinds.
fn data() -> Folder {
    let folder = Folder::new();
    create_dir_all(folder.path().join("data/sub")).unwrap();
    create_dir_all(folder.path().join("data/.hidden")).unwrap();
    for name in ["a.jsonl", "b.jsonl", "sub/c.json", "notes.md", ".hidden/d.jsonl"] {
        folder.file(&format!("data/{name}"), MESSAGES);
    }
    folder
}

/// The files of the folder that `detect` reads, without their results.
fn read(folder: &Folder, args: &[&str]) -> Vec<String> {
    let ran = folder.ocml(["detect", "data"].iter().chain(args)).silent();
    let lines = ran.stdout.lines().filter(|line| !line.starts_with(' '));
    lines.map(|line| line.split_once(": ").unwrap().0.to_owned()).collect()
}

#[test]
fn a_folder_stands_for_its_files() {
    let folder = data();
    assert_eq!(read(&folder, &[]), ["data/a.jsonl", "data/b.jsonl", "data/sub/c.json"]);
    assert_eq!(read(&folder, &["--glob", "*.json"]), ["data/sub/c.json"]);
    assert_eq!(read(&folder, &["--glob", "!sub/"]), ["data/a.jsonl", "data/b.jsonl"]);
    folder.ocml(["check", "data", "--glob", "*.none"]).exits(2).says("has no files named *.none");
    folder.ocml(["check", "data"]).exits(0);
}

/// A shell expands patterns, but not in quotation marks, and not those of programs.
#[test]
fn a_pattern_stands_for_its_files() {
    let folder = data();
    let read = |pattern: &str| {
        let ran = folder.ocml(["detect", pattern]).silent();
        let lines = ran.stdout.lines().filter(|line| !line.starts_with(' '));
        lines.map(|line| line.split(": ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(read("data/*.jsonl"), ["data/a.jsonl", "data/b.jsonl"]);
    assert_eq!(read("data/?.jsonl"), ["data/a.jsonl", "data/b.jsonl"]);
    let ran = folder.ocml(["detect", "data/*.jsonl", "--glob", "!b.jsonl"]).silent();
    assert!(ran.stdout.contains("a.jsonl") && !ran.stdout.contains("b.jsonl"), "{ran:#?}");
    assert_eq!(read("data/**/*.json"), ["data/sub/c.json"]);
    folder.file("data/x[1].json", MESSAGES);
    assert_eq!(read("data/x[1].json"), ["data/x[1].json"]);
    folder.ocml(["detect", "data/*.none"]).exits(2).says("has no files named /*.none");
    folder.ocml(["detect", "none/*.json"]).exits(2).says("no such file");
}

#[test]
fn tables_in_a_folder_are_named() {
    let folder = data();
    folder.file("data/t.parquet", "PAR1");
    let ran = folder.ocml(["check", "data"]).exits(0);
    ran.says("`data/t.parquet` not read: `ocml data` reads tables");
    let ran = folder.ocml(["check", "data", "--glob", "*.json"]).exits(0);
    assert!(!ran.stderr.contains("table"), "{ran:?}");
    let folder = Folder::new();
    create_dir_all(folder.path().join("data")).unwrap();
    folder.file("data/t.parquet", "PAR1");
    folder.ocml(["check", "data"]).exits(2).says("; `ocml data` reads its tables");
}

#[test]
fn ignored_files_are_not_read() {
    let folder = data();
    for (patterns, expected) in [
        ("b.jsonl", &["data/a.jsonl", "data/sub/c.json"][..]),
        ("*.jsonl\n!a.jsonl", &["data/a.jsonl", "data/sub/c.json"]),
        ("sub/*", &["data/a.jsonl", "data/b.jsonl"]),
        ("/sub/", &["data/a.jsonl", "data/b.jsonl"]),
        ("# a comment\n**/c.json\na.jsonl", &["data/b.jsonl"]),
    ] {
        folder.file("data/.ocmlignore", patterns);
        assert_eq!(read(&folder, &[]), expected, "{patterns}");
        // What is ignored is not read by a pattern either.
        let found = read(&folder, &["--glob", "*.json*"]);
        assert_eq!(found, expected, "{patterns}");
    }
}

#[test]
fn the_output_has_the_same_folders() {
    let folder = data();
    folder.ocml(["convert", "-t", "chatml", "data", "-o", "out/"]).exits(0);
    let out = |name: &str| read_to_string(folder.path().join("out").join(name)).unwrap();
    assert!(json(out("a.jsonl").trim_end())["text"].is_string());
    assert!(out("sub/c.txt").starts_with("<|im_start|>user\n"));
}

#[test]
fn two_inputs_have_two_outputs() {
    let folder = Folder::new();
    create_dir_all(folder.path().join("data")).unwrap();
    folder.file("data/x.json", MESSAGES);
    folder.file("data/x.txt", "<|im_start|>user\nHi.<|im_end|>\n");
    for format in ["chatml", "openai"] {
        let ran = folder.ocml(["convert", "-t", format, "data", "-o", "out/"]).exits(2);
        ran.says("would both be written");
        assert!(!folder.path().join("out").exists());
    }
}

#[test]
fn records_of_an_array_are_documents() {
    let input = format!("[{MESSAGES},\n{MESSAGES}]");
    let ran = ocml_with(["convert", "-t", "openai"], &input).exits(0);
    assert_eq!(ran.stdout, format!("{MESSAGES}\n{MESSAGES}\n"));
    for wrong in [format!("[{MESSAGES},,{MESSAGES}]"), format!("[{MESSAGES},]")] {
        ocml_with(["convert", "-t", "openai"], &wrong).exits(1).says("refused");
    }
    let cut = format!("[{MESSAGES},");
    let ran = ocml_with(["convert", "-t", "openai"], &cut).exits(1);
    assert_eq!(ran.stdout, format!("{MESSAGES}\n"));
    ran.says("cut off");
    ocml_with(["check"], &cut).exits(1).says("cut off");
    ocml_with(["check"], format!("[{MESSAGES}")).exits(1).says("is not valid JSON");
}

#[test]
fn text_in_utf_16_is_named() {
    for bytes in [&b"\xFF\xFE{\0\"\0"[..], b"\xFE\xFF\0{\0\"", b"{\0\"\0a\0"] {
        ocml_with(["check"], bytes).exits(2).says("UTF-16");
    }
}

#[test]
fn unreadable_files_do_not_stop_the_others() {
    let folder = Folder::new();
    create_dir_all(folder.path().join("in")).unwrap();
    let chat = r#"{"messages":[{"role":"user","content":"Hi."}]}"#;
    folder.file("in/a.json", chat);
    folder.file("in/b.txt", "");
    folder.file("in/c.json", "PAR1 and more PAR1");
    folder.file("in/d.json", chat);
    folder.ocml(["convert", "-t", "chatml", "in", "-o", "out/"]).exits(2);
    for file in ["out/a.txt", "out/d.txt"] {
        assert_eq!(folder.read(file).trim_end(), "<|im_start|>user\nHi.<|im_end|>", "{file}");
    }
}

#[test]
#[cfg(unix)]
fn links_to_files_are_read_and_links_to_folders_are_not() {
    use std::os::unix::fs::symlink;

    // A cache of Hugging Face consists of links to files with other names.
    let folder = Folder::new();
    create_dir_all(folder.path().join("blobs")).unwrap();
    create_dir_all(folder.path().join("data")).unwrap();
    folder.file("blobs/0123", MESSAGES);
    symlink("../blobs/0123", folder.path().join("data/a.jsonl")).unwrap();
    assert_eq!(read(&folder, &[]), ["data/a.jsonl"]);
    symlink(".", folder.path().join("data/again.jsonl")).unwrap();
    let ran = folder.ocml(["check", "data"]).exits(0).says("1 file checked");
    ran.says("`data/again.jsonl` is a link to a folder, which is not followed");
    symlink("../blobs/none", folder.path().join("data/b.jsonl")).unwrap();
    folder.ocml(["check", "data"]).exits(2).says("cannot read `data/b.jsonl`");
    // Where nothing is read, it is not said that nothing was found.
    create_dir_all(folder.path().join("broken")).unwrap();
    symlink("../blobs/none", folder.path().join("broken/a.jsonl")).unwrap();
    let ran = folder.ocml(["check", "broken"]).exits(2).says("0 files checked; 1 file unreadable");
    assert!(!ran.stderr.contains("no problems"), "{ran:#?}");
    create_dir_all(folder.path().join("links")).unwrap();
    symlink("../data", folder.path().join("links/data")).unwrap();
    folder.ocml(["check", "links"]).exits(2).says("such as `links/data`, are not followed");
}

/// Otherwise a second run would convert the results of the first one.
#[test]
fn an_output_inside_of_the_input_is_not_read() {
    let folder = Folder::new();
    create_dir_all(folder.path().join("in/more")).unwrap();
    folder.file("in/a.jsonl", MESSAGES);
    folder.file("in/more/b.jsonl", MESSAGES);
    for _ in 0..2 {
        folder.ocml(["convert", "-t", "sharegpt", "in", "-o", "in/out"]).exits(0);
        assert!(folder.path().join("in/out/more/b.jsonl").exists());
        assert!(!folder.path().join("in/out/out").exists());
    }
    // A folder that is named is read.
    folder.ocml(["convert", "-t", "openai", "in/out", "-o", "back"]).exits(0);
    assert!(folder.path().join("back/a.jsonl").exists());
}

#[test]
fn an_array_in_a_json_file_stays_an_array() {
    let folder = Folder::new();
    create_dir_all(folder.path().join("data")).unwrap();
    folder.file("data/a.json", format!("[{MESSAGES},\n{MESSAGES}]"));
    folder.file("data/b.jsonl", format!("{MESSAGES}\n{MESSAGES}\n"));
    folder.ocml(["convert", "-t", "sharegpt", "data", "-o", "out"]).silent();
    assert_eq!(json(&folder.read("out/a.json")).as_array().unwrap().len(), 2);
    assert_eq!(folder.read("out/b.jsonl").lines().count(), 2);
    folder.ocml(["convert", "-t", "sharegpt", "data/a.json", "-o", "c.json"]).silent();
    assert_eq!(folder.read("c.json"), folder.read("out/a.json"));
    // Lines and texts are written as lines.
    for (format, target) in [("sharegpt", "d.jsonl"), ("chatml", "d.json"), ("sharegpt", "-")] {
        let ran = folder.ocml(["convert", "-t", format, "data/a.json", "-o", target]).silent();
        let written = if target == "-" { ran.stdout } else { folder.read(target) };
        assert_eq!(written.lines().count(), 2, "{target}: {written}");
    }
}
