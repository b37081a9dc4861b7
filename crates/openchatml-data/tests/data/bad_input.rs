//! Bad input gives an error with its place, or a rejected row, and never a panic.

use std::fs;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use openchatml_data::{DataError, Fields, FileFormat, OnReject, Summary, convert};
use std::sync::Arc;

use crate::support::{Folder, in_format, joined, mixed_lines, sized, to_harmony};

fn run(folder: &Folder, inputs: &[&str]) -> Result<Summary, DataError> {
    let _ = fs::remove_dir_all(folder.path("out"));
    let run = sized(folder.run(inputs, "out"), 1 << 20, 2, 1000);
    convert(&run, &Fields::default(), to_harmony())
}

fn good() -> String {
    r#"{"messages":[{"role":"user","content":"Hi"}]}"#.to_owned()
}

#[test]
fn rows_that_cannot_be_read_are_rejected_with_their_places() {
    let folder = Folder::new();
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let good = good();
    let lines: [&[u8]; 7] = [
        good.as_bytes(),
        b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xFF\"}]}",
        b"\x00\x01\x02",
        b"null",
        b"{\"messages\":7}",
        &deep,
        good.as_bytes(),
    ];
    let text = lines.join(&b"\r\n"[..]);
    folder.write("in.jsonl", &text);
    let summary = run(&folder, &["in.jsonl"]).unwrap();
    assert_eq!((summary.rows, summary.tally.rejected), (2, 5));
    let rejects = folder.others("out", "rejects");
    let numbers: Vec<_> = rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6]);
    let hex: String = lines[1].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(rejects[0]["input_hex"], hex);
    let at = text.iter().position(|byte| *byte == 0xFF).unwrap();
    assert_eq!(rejects[0]["diagnostics"][0]["span"]["start"], at);
    assert_eq!(rejects[0]["diagnostics"][0]["code"], "E-PARSE-UTF8");
}

#[test]
fn a_line_that_is_too_long_is_rejected_and_not_held_in_memory() {
    let folder = Folder::new();
    let long = format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, "x".repeat(1 << 20));
    // The limit is a sixteenth of the memory.
    let most = (1 << 16) - good().len();
    let fits = format!("{}{}", good(), " ".repeat(most));
    let barely = format!("{}{}", good(), " ".repeat(most + 1));
    let lines = [good(), long.clone(), fits, String::new(), barely, good(), long.clone()];
    folder.write("in.jsonl", joined(&lines));
    let summary = run(&folder, &["in.jsonl"]).unwrap();
    assert_eq!((summary.rows, summary.tally.rejected), (3, 3));
    let rejects = folder.others("out", "rejects");
    let found = &rejects[0]["diagnostics"][0];
    assert_eq!(found["code"], "E-LIMIT");
    assert!(found["message"].as_str().unwrap().contains("exceeds the limit of 65536"), "{found}");
    assert_eq!(
        (&rejects[0]["line"], &found["span"]["start"]),
        (&2.into(), &(good().len() + 1).into())
    );
    assert_eq!(rejects[0]["input"].as_str().unwrap(), &long[..256]);
    assert_eq!((&rejects[1]["line"], &rejects[2]["line"]), (&5.into(), &7.into()));
}

#[test]
fn a_run_can_stop_at_the_first_rejected_row() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&[good(), "no".to_owned(), good()]));
    let mut options = folder.run(&["in.jsonl"], "out");
    options.on_reject = OnReject::Stop;
    let error = convert(&options, &Fields::default(), to_harmony()).unwrap_err();
    assert!(matches!(&error, DataError::Rejected { row: 2, .. }), "{error}");
    assert!(error.to_string().contains("in.jsonl`, row 2: E-"), "{error}");
}

#[test]
fn compressed_files_that_are_cut_off_are_errors_with_their_places() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&mixed_lines(1, 300)));
    for format in [FileFormat::JsonlGzip, FileFormat::JsonlZstd] {
        let options = in_format(folder.run(&["in.jsonl"], "packed"), format);
        convert(&options, &Fields::default(), to_harmony()).unwrap();
        let name = format!("part-00000.{}", format.ending());
        let whole = fs::read(folder.path("packed").join(&name)).unwrap();
        folder.write("cut", &whole[..whole.len() / 2]);
        let error = run(&folder, &["cut"]).unwrap_err();
        let has_place = matches!(error, DataError::Input { row: Some(_), byte: Some(_), .. });
        assert!(has_place, "{error}");
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        changed[middle..middle + 64].fill(0xA5);
        folder.write("changed", changed);
        // Such a change is found by the checksum, if not before.
        assert!(matches!(run(&folder, &["changed"]), Err(DataError::Input { .. })), "{name}");
        fs::remove_dir_all(folder.path("packed")).unwrap();
    }
}

#[test]
fn tables_that_are_cut_off_or_changed_are_errors() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&mixed_lines(1, 300)));
    for format in [FileFormat::Parquet, FileFormat::Arrow] {
        let options = in_format(folder.run(&["in.jsonl"], "table"), format);
        convert(&options, &Fields::default(), to_harmony()).unwrap();
        let whole =
            fs::read(folder.path("table").join(format!("part-00000.{}", format.ending()))).unwrap();
        for len in (8..whole.len()).step_by(whole.len() / 40) {
            folder.write("cut", &whole[..len]);
            let error = run(&folder, &["cut"]).unwrap_err();
            assert!(matches!(error, DataError::Input { .. }), "{len}: {error}");
            assert!(error.to_string().contains("cut`"), "{error}");
        }
        for at in (8..whole.len() - 32).step_by(whole.len() / 40) {
            let mut changed = whole.clone();
            changed[at..at + 24].fill(0xA5);
            folder.write("changed", changed);
            // Not every change can be found, but none makes the run panic.
            if let Err(error) = run(&folder, &["changed"]) {
                assert!(matches!(error, DataError::Input { .. }), "{at}: {error}");
            }
        }
        fs::remove_dir_all(folder.path("table")).unwrap();
    }
}

/// Writes a Parquet file with these columns.
fn table(folder: &Folder, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    folder.write(name, bytes);
}

#[test]
fn inputs_that_do_not_fit_together_are_refused_by_name() {
    let folder = Folder::new();
    let text = || -> ArrayRef { Arc::new(StringArray::from(vec![good()])) };
    let number = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    table(&folder, "a.parquet", vec![("text", text())]);
    table(&folder, "b.parquet", vec![("text", number())]);
    table(&folder, "c.parquet", vec![("text", text()), ("id", number())]);
    table(&folder, "d.parquet", vec![("chat", text())]);
    folder.write("e.jsonl", joined(&[good()]));
    let refused = |inputs: &[&str]| run(&folder, inputs).unwrap_err().to_string();
    let found = refused(&["a.parquet", "b.parquet"]);
    assert!(
        found.contains("b.parquet`: its column `text` has the type Int64, but that of `"),
        "{found}"
    );
    assert!(refused(&["a.parquet", "c.parquet"]).contains("it has the column `id`, unlike"));
    assert!(refused(&["a.parquet", "d.parquet"]).contains("it has no column `text`, unlike"));
    assert!(refused(&["a.parquet", "e.jsonl"]).contains("it is of another kind than"));
    assert_eq!(run(&folder, &["a.parquet"]).unwrap().rows, 1);
    let found = refused(&["b.parquet"]);
    assert!(
        found.starts_with("column `text`: values of type Int64 are no conversations"),
        "{found}"
    );
}

#[test]
fn other_files_are_named() {
    let folder = Folder::new();
    folder.write("in.csv", b"role,content\nuser,hi\n");
    let error = run(&folder, &["in.csv"]).unwrap_err();
    assert!(error.to_string().contains("it is a table as text"), "{error}");
    folder.write("json.csv", br#"{"messages":[{"role":"user","content":"hi"}]}"#);
    assert_eq!(run(&folder, &["json.csv"]).unwrap().rows, 1);
    folder.write("lines.json", b"{\n  \"messages\": []\n}\n");
    let error = run(&folder, &["lines.json"]).unwrap_err();
    assert!(error.to_string().contains("take several lines"), "{error}");
    for (content, what) in [
        (&b"PK\x03\x04...."[..], "it is a ZIP archive"),
        (b"\xFF\xFEh\0i\0", "it is UTF-16"),
        (b"{\0\"\0m\0", "it is UTF-16"),
        (b"\0{\0\"\0m", "it is UTF-16"),
        (b"BZh9", "bzip2"),
        (b"SQLite format 3\0", "SQLite"),
        (b"PAR1", "cannot read"),
        (b"ARROW1\0\0", "cannot read"),
    ] {
        folder.write("in", content);
        let error = run(&folder, &["in"]).unwrap_err();
        assert!(matches!(error, DataError::Input { .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    assert!(run(&folder, &["none"]).unwrap_err().to_string().contains("none`"));
    fs::create_dir(folder.path("empty")).unwrap();
    assert!(run(&folder, &["empty"]).unwrap_err().to_string().contains("has no files named"));
    folder.write("in.jsonl", "");
    assert_eq!(run(&folder, &["in.jsonl"]).unwrap().rows, 0);
    folder.write("in.jsonl", "\u{feff}\n\n");
    assert_eq!(run(&folder, &["in.jsonl"]).unwrap().tally.records, 0);
    folder.write("in.jsonl", format!("\u{feff}{}", good()));
    assert_eq!(run(&folder, &["in.jsonl"]).unwrap().rows, 1);
}

#[test]
fn each_row_of_mixed_formats_is_read_in_its_own() {
    let folder = Folder::new();
    let lines = [
        good(),
        r#"{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello"}]}"#
            .to_owned(),
        r#"{"text":"<|im_start|>user\nHi<|im_end|>\n"}"#.to_owned(),
        r#""<|start|>user<|message|>Hi<|end|>""#.to_owned(),
        r#"{"prompt":"Hi","completion":"Hello"}"#.to_owned(),
        "?".to_owned(),
    ];
    folder.write("in.jsonl", joined(&lines));
    let summary = run(&folder, &["in.jsonl"]).unwrap();
    assert_eq!(
        (summary.rows, summary.tally.rejected),
        (5, 1),
        "{:?}",
        folder.others("out", "rejects")
    );
    assert!(
        folder.lines("out").iter().all(|line| line.contains("<|start|>user<|message|>Hi<|end|>"))
    );
}
