//! Runs: the same rows whatever the sizes, and nothing is lost.

use openchatml_data::kernel::{KernelOptions, Task};
use openchatml_data::{Fields, FileFormat, Summary, check, check_rows, convert, stats, tokenize};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::support::{
    Folder, Random, conversation, in_format, joined, mixed_lines, sized, to_harmony,
    tokenize as to_ids, tokens,
};

#[test]
fn rows_do_not_depend_on_batches_threads_and_shards() {
    let folder = Folder::new();
    folder.write("in/a.jsonl", joined(&mixed_lines(1, 300)));
    folder.write("in/b.jsonl", joined(&mixed_lines(2, 50)));
    folder.write("in/c.jsonl", "");
    let mut expected: Option<(Vec<String>, Vec<serde_json::Value>, Summary)> = None;
    let sizes = [
        (512 << 20, 2, 100_000),
        (1 << 20, 1, 100_000),
        (1 << 20, 4, 7),
        (64 << 10, 3, 1),
        (2 << 20, 2, 49),
    ];
    for (number, (memory, jobs, shard)) in sizes.into_iter().enumerate() {
        let output = format!("out{number}");
        let run = sized(folder.run(&["in"], &output), memory, jobs, shard);
        let mut summary = convert(&run, &Fields::default(), to_harmony()).unwrap();
        summary.files = 0;
        let found = (folder.lines(&output), folder.others(&output, "rejects"), summary);
        match &expected {
            Some(expected) => assert_eq!(&found, expected, "{memory} {jobs} {shard}"),
            None => {
                assert!(found.0.len() > 200 && found.1.len() > 20);
                expected = Some(found);
            }
        }
    }
}

#[test]
fn files_do_not_depend_on_threads() {
    let folder = Folder::new();
    let mut random = Random::new(7);
    let lines: Vec<_> = (0..6_000).map(|_| conversation(&mut random)).collect();
    folder.write("in.jsonl", joined(&lines));
    for format in FileFormat::ALL {
        let files = [1, 2, 5].map(|jobs| {
            let output = format!("{}{jobs}", format.ending());
            let run = in_format(folder.run(&["in.jsonl"], &output), *format);
            // So little memory that there are several row groups.
            let run = sized(run, 1 << 20, jobs, 5_000);
            convert(&run, &Fields::default(), to_harmony()).unwrap();
            folder.files(&output)
        });
        let outputs = |files: &[(String, Vec<u8>)]| -> Vec<_> {
            files.iter().filter(|(name, _)| !name.starts_with("_manifest")).cloned().collect()
        };
        let [one, two, five] = files.each_ref().map(|files| outputs(files));
        assert!(one == two && one == five, "{format:?}");
        if *format == FileFormat::Parquet {
            let first = bytes::Bytes::from(one[0].1.clone());
            let reader = ParquetRecordBatchReaderBuilder::try_new(first).unwrap();
            assert!(reader.metadata().num_row_groups() > 3);
        }
    }
}

#[test]
fn conversations_that_occur_again_are_found() {
    let folder = Folder::new();
    let chat = |at: i32| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"Question {at}"}},{{"role":"assistant","content":"Answer"}}]}}"#
        )
    };
    let chats: Vec<_> = (0..50).map(chat).collect();
    let list = chats[1].strip_prefix("{\"messages\":").unwrap().strip_suffix('}').unwrap();
    let lines = [&chats[..], &["no".to_owned(), chats[3].clone(), list.to_owned()]].concat();
    folder.write("a.jsonl", joined(&lines));
    folder.write("b.jsonl", joined(&chats[7..8]));
    let mut lints = openchatml::lint::SAMPLE.to_vec();
    lints.push(openchatml::Code::Duplicate);
    let kernel = || KernelOptions::new(Task::Check { lints: lints.clone() });
    for (memory, jobs) in [(512 << 20, 2), (128 << 10, 3)] {
        let run = sized(folder.run(&["a.jsonl", "b.jsonl"], ""), memory, jobs, 10);
        let mut rows = Vec::new();
        let checked = check_rows(&run, &Fields::default(), kernel(), 9, |row| {
            rows.push(row);
            Ok(())
        })
        .unwrap();
        let of = |code: &str| checked.findings.iter().find(|found| found.code == code).unwrap();
        let duplicates = of("W-DUPLICATE");
        let places: Vec<_> =
            duplicates.examples.iter().map(|it| (it.row, it.message.as_str())).collect();
        let other = format!("the same conversation as in row 8 of {}", folder.name("a.jsonl"));
        let same = ["the same conversation as in row 4", "the same conversation as in row 2"];
        assert_eq!(places, [(52, same[0]), (53, same[1]), (1, other.as_str())]);
        assert_eq!((duplicates.count.records, checked.unindexed), (3, 0));
        assert_eq!((checked.tally.with_errors, checked.tally.with_warnings), (1, 3));
        let numbers: Vec<_> = rows.iter().map(|row| row.row).collect();
        assert_eq!(numbers, [51, 52, 53, 1]);
        let start = lines[..51].iter().map(|line| line.len() + 1).sum::<usize>();
        assert_eq!(rows[1].byte, Some(u64::try_from(start).unwrap()));
    }
    // With too little memory, the others are counted.
    let run = sized(folder.run(&["a.jsonl"], ""), 40 * 64, 2, 10);
    let checked = check(&run, &Fields::default(), kernel(), 1).unwrap();
    assert_eq!(checked.unindexed, 10);
}

#[test]
fn outputs_and_rejects_are_the_input() {
    let folder = Folder::new();
    let lines = mixed_lines(3, 500);
    folder.write("in.jsonl", joined(&lines));
    let run = sized(folder.run(&["in.jsonl"], "out"), 1 << 20, 2, 60);
    let summary = convert(&run, &Fields::default(), to_harmony()).unwrap();
    let rejects = folder.others("out", "rejects");
    let blank = lines.iter().filter(|line| line.is_empty()).count();
    assert_eq!(folder.lines("out").len() + rejects.len() + blank, lines.len());
    assert_eq!(summary.tally.records, u64::try_from(lines.len() - blank).unwrap());
    assert_eq!(summary.tally.rejected, u64::try_from(rejects.len()).unwrap());
    for reject in &rejects {
        let line = usize::try_from(reject["line"].as_u64().unwrap()).unwrap();
        assert_eq!(reject["input"].as_str().unwrap(), lines[line - 1]);
        let found = &reject["diagnostics"][0];
        assert_eq!(found["severity"], "error");
        // Places are those of the file.
        let start = usize::try_from(found["span"]["start"].as_u64().unwrap()).unwrap();
        let before: usize = lines[..line - 1].iter().map(|line| line.len() + 1).sum();
        assert!((before..=before + lines[line - 1].len()).contains(&start), "{reject}");
    }
    // What was written says the same as what was read.
    let back = folder.run(&["out"], "back");
    let openai = crate::support::convert_to(openchatml::Format::OPENAI);
    let summary = convert(&back, &Fields::default(), openai).unwrap();
    assert_eq!(summary.tally.rejected, 0, "{:?}", folder.others("back", "rejects"));
    let readable = lines.iter().filter(|line| line.starts_with(r#"{"messages":[{"role":"system""#));
    let parse = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let expected: Vec<_> = readable.map(parse).collect();
    assert_eq!(folder.lines("back").iter().map(parse).collect::<Vec<_>>(), expected);
}

#[test]
fn files_of_all_kinds_have_the_same_rows() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&mixed_lines(4, 400)));
    let run = folder.run(&["in.jsonl"], "jsonl");
    convert(&run, &Fields::default(), to_harmony()).unwrap();
    let expected = folder.lines("jsonl");
    for format in FileFormat::ALL {
        let name = format!("to-{}", format.ending());
        let run = in_format(sized(folder.run(&["in.jsonl"], &name), 1 << 20, 2, 150), *format);
        convert(&run, &Fields::default(), to_harmony()).unwrap();
        assert_eq!(folder.lines(&name), expected, "{name}");
        // They are inputs, too.
        let back = format!("from-{}", format.ending());
        let run = in_format(sized(folder.run(&[&name], &back), 1 << 20, 2, 37), FileFormat::Jsonl);
        let summary = convert(&run, &Fields::default(), to_harmony()).unwrap();
        assert_eq!((folder.lines(&back), summary.tally.rejected), (expected.clone(), 0), "{name}");
    }
}

#[test]
fn checksums_and_ranges_describe_the_files() {
    use sha2::Digest as _;
    let folder = Folder::new();
    folder.write("a.jsonl", joined(&mixed_lines(5, 100)));
    folder.write("b.jsonl", joined(&mixed_lines(6, 100)));
    let run = sized(folder.run(&["a.jsonl", "b.jsonl"], "out"), 1 << 20, 2, 30);
    convert(&run, &Fields::default(), to_harmony()).unwrap();
    let files = folder.files("out");
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.iter().all(|name| !name.contains("journal") && !name.contains("unfinished")));
    let manifest = files.iter().find(|(name, _)| name == "_manifest.json").unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest.1).unwrap();
    let mut rows = 0;
    let mut described = 0;
    let mut end = ("".to_owned(), 0, 0);
    for shard in manifest["shards"].as_array().unwrap() {
        for range in shard["inputs"].as_array().unwrap() {
            let number = |key: &str| range[key].as_u64().unwrap();
            rows += number("rows");
            let file = range["file"].as_str().unwrap();
            // Ranges follow each other without gaps.
            let expected = if end.0 == file { end.2 } else { 0 };
            assert_eq!(number("first_byte"), expected);
            end = (file.to_owned(), end.1, number("end_byte"));
        }
        let outputs = shard["outputs"].as_array().unwrap();
        for file in outputs.iter().chain(shard["others"].as_array().unwrap()) {
            let (_, content) = files.iter().find(|(name, _)| *name == file["file"]).unwrap();
            let sum: String =
                sha2::Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(file["sha256"], sum);
            assert_eq!(file["bytes"], content.len());
            described += 1;
        }
    }
    assert_eq!(described, files.len() - 1);
    assert_eq!(rows, manifest["total"]["records"].as_u64().unwrap());
}

#[test]
fn packed_rows_have_all_conversations_whole() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&mixed_lines(7, 200)));
    let run = folder.run(&["in.jsonl"], "plain");
    tokenize(&run, &Fields::default(), to_ids(), None).unwrap();
    let parse = |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap();
    let list = |row: &serde_json::Value, key: &str| row[key].as_array().unwrap().clone();
    let mut plain: Vec<_> = folder
        .lines("plain")
        .into_iter()
        .map(parse)
        .map(|row| (list(&row, "ids"), list(&row, "mask")))
        .filter(|row| row.0.len() <= 4096)
        .collect();
    for (memory, shard) in [(1 << 20, 50), (64 << 20, 100_000)] {
        let output = format!("packed{shard}");
        let run = sized(folder.run(&["in.jsonl"], &output), memory, 2, shard);
        tokenize(&run, &Fields::default(), to_ids(), Some(4096)).unwrap();
        let rows: Vec<_> = folder.lines(&output).into_iter().map(parse).collect();
        let mut unpacked = Vec::new();
        for row in &rows {
            let (mut ids, mut mask) = (list(row, "ids"), list(row, "mask"));
            assert!(ids.len() <= 4096);
            for length in list(row, "lengths") {
                let length = usize::try_from(length.as_u64().unwrap()).unwrap();
                unpacked.push((ids.drain(..length).collect(), mask.drain(..length).collect()));
            }
            assert!(ids.is_empty() && mask.is_empty());
        }
        assert!(rows.len() * 2 < unpacked.len(), "{} {}", rows.len(), unpacked.len());
        let key = |row: &(Vec<serde_json::Value>, Vec<serde_json::Value>)| format!("{row:?}");
        unpacked.sort_by_key(key);
        plain.sort_by_key(key);
        assert!(unpacked == plain);
    }
}

#[test]
fn checks_and_counts_do_not_depend_on_sizes() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&mixed_lines(8, 300)));
    let fields = Fields::default();
    let count = || KernelOptions::new(Task::Count(Some(tokens())));
    let run = folder.run(&["in.jsonl"], "");
    let checked = check(&run, &fields, KernelOptions::new(Task::check()), 2).unwrap();
    let counted = stats(&run, &fields, count()).unwrap();
    assert!(checked.tally.with_errors > 20);
    assert_eq!(checked.findings[0].examples.len(), 2);
    assert!(counted.ids.sum > counted.bytes.sum && counted.without_ids == 0);
    assert_eq!(counted.messages.count + counted.tally.rejected, counted.tally.records);
    let roles: u64 = counted.roles.iter().map(|role| role.messages).sum();
    assert_eq!(roles, counted.messages.sum);
    for (memory, jobs) in [(64 << 10, 1), (1 << 20, 3)] {
        let run = sized(folder.run(&["in.jsonl"], ""), memory, jobs, 1);
        assert_eq!(check(&run, &fields, KernelOptions::new(Task::check()), 2).unwrap(), checked);
        assert_eq!(stats(&run, &fields, count()).unwrap(), counted);
    }
}
