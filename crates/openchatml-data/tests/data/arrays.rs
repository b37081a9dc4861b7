//! Files with one JSON array of records.

use std::io::Write as _;

use openchatml_data::{DataError, Fields, Near, RunOptions, Summary, convert, dedup};

use crate::support::{Folder, Random, conversation, joined, sized, to_harmony};

fn records(count: usize) -> Vec<String> {
    let mut random = Random::new(5);
    (0..count).map(|_| conversation(&mut random)).collect()
}

/// The records as an array, with line breaks and spaces between and inside of them.
fn array(records: &[String]) -> String {
    let records: Vec<_> = records
        .iter()
        .map(|record| record.replacen("{\"messages\":[", "{\n  \"messages\": [\r\n", 1))
        .collect();
    format!("\u{feff} [\n{}\n]\n", records.join(" ,\n"))
}

fn run(options: &RunOptions) -> Result<Summary, DataError> {
    convert(options, &Fields::default(), to_harmony())
}

#[test]
fn the_elements_of_an_array_are_records() {
    let folder = Folder::new();
    let records = records(200);
    folder.write("in.jsonl", joined(&records));
    let expected = {
        run(&folder.run(&["in.jsonl"], "lines")).unwrap();
        folder.lines("lines")
    };
    let text = array(&records);
    folder.write("in.json", &text);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    folder.write("in.json.gz", gzip.finish().unwrap());
    folder.write("in.json.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    // All records in one line, without anything else.
    folder.write("one.json", format!("[{}]", records.join(",")));
    for (number, name) in ["in.json", "in.json.gz", "in.json.zst", "one.json"].iter().enumerate() {
        for (size, memory) in [512 << 20, 256 << 10].into_iter().enumerate() {
            let output = format!("out{number}{size}");
            let summary = run(&sized(folder.run(&[name], &output), memory, 2, 70)).unwrap();
            assert_eq!((summary.rows, summary.tally.rejected, summary.files), (200, 0, 3));
            assert!(folder.lines(&output) == expected, "{name} with {memory}");
        }
    }
}

#[test]
fn rejected_elements_have_their_places() {
    let folder = Folder::new();
    let records = records(3);
    let long = format!("{{\"messages\":\"{}\"}}", "x".repeat(100_000));
    let all = [&records[0], "17", &records[1], "{\"a\": }", &long, "null", &records[2], "\"?\""];
    let text = format!("[{}]", all.join(",\n"));
    folder.write("in.json", &text);
    let summary = run(&sized(folder.run(&["in.json"], "out"), 1 << 20, 2, 100)).unwrap();
    assert_eq!((summary.rows, summary.tally.rejected), (3, 5));
    let rejects = folder.others("out", "rejects");
    let numbers: Vec<_> = rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 8]);
    for (reject, record) in rejects.iter().zip(["17", "{\"a\": }", &long, "null", "\"?\""]) {
        let start = reject["diagnostics"][0]["span"]["start"].as_u64().unwrap();
        let at = u64::try_from(text.find(&format!("\n{record}")).unwrap()).unwrap() + 1;
        assert!((at..=at + 8).contains(&start), "{reject}");
    }
    assert_eq!(rejects[2]["diagnostics"][0]["code"], "E-LIMIT");
}

#[test]
fn arrays_that_are_cut_off_or_damaged_are_errors_with_their_places() {
    let folder = Folder::new();
    let records = records(3);
    let whole = format!("[{}]", records.join(", "));
    for len in 2..whole.len() {
        if !whole.is_char_boundary(len) {
            continue;
        }
        folder.write("in.json", &whole[..len]);
        let error = run(&sized(folder.run(&["in.json"], "out"), 1 << 20, 1, 100)).unwrap_err();
        let DataError::Input { row: Some(row), byte: Some(byte), .. } = &error else {
            // The only evidence of a format is cut off.
            assert!(error.to_string().contains("in.json`"), "{error}");
            continue;
        };
        assert!((1..=4).contains(row), "{len}: {error}");
        assert!(*byte <= u64::try_from(len).unwrap(), "{len}: {error}");
        let _ = std::fs::remove_dir_all(folder.path("out"));
    }
    let [a, b, _] = &records[..] else { unreachable!() };
    for (text, place, what) in [
        (format!("[{a} {b}]"), 2 + a.len(), "no `,` or `]`"),
        (format!("[{a},,{b}]"), 2 + a.len(), "no record before"),
        (format!("[{a},]"), 2 + a.len(), "no record before"),
        (format!("[{a}] {b}"), 3 + a.len(), "something follows"),
    ] {
        folder.write("in.json", &text);
        let error = run(&folder.run(&["in.json"], "out")).unwrap_err();
        let expected = format!("in.json` at row 2, byte {place}: ");
        let found = error.to_string();
        assert!(found.contains(&expected) && found.contains(what), "{found}");
    }
    folder.write("in.json", "[]");
    assert_eq!(run(&folder.run(&["in.json"], "none")).unwrap().tally.records, 0);
}

#[test]
fn elements_that_stay_become_lines() {
    let folder = Folder::new();
    let mut records = records(5);
    records.push(records[0].clone());
    folder.write("in.json", array(&records));
    let options = folder.run(&["in.json"], "out");
    let near = Some(Near::new(0.99));
    let (summary, dropped) = dedup(&options, &Fields::default(), to_harmony(), near).unwrap();
    assert_eq!((summary.rows, dropped), (5, 1));
    let parse = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let found: Vec<_> = folder.lines("out").iter().map(parse).collect();
    assert_eq!(found, records[..5].iter().map(parse).collect::<Vec<_>>());
}
