//! Commands that keep rows as they are: deduplication, samples, parts.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use std::collections::HashSet;

use openchatml_data::{DataError, Fields, FileFormat, Near, Share, Size, dedup, sample, split};

use crate::support::{Folder, Random, conversation, in_format, joined, sized, to_harmony};

fn lines(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    (0..count).map(|_| conversation(&mut random)).collect()
}

#[test]
fn equal_conversations_are_dropped_after_the_first() {
    let folder = Folder::new();
    let mut all = lines(1, 50);
    // White space in the JSON, and between words, does not matter.
    let spaced = all[3].replace("\"messages\":", "\"messages\" : ").replace(" world", "  world");
    all.extend([all[7].clone(), spaced]);
    all.extend(lines(2, 10));
    folder.write("a.jsonl", joined(&all));
    folder
        .write("b.jsonl", joined(&[all[0].clone(), "no conversation".to_owned(), all[51].clone()]));
    for (shard, near) in [(1000, None), (7, None), (9, Some(Near::new(0.95)))] {
        let output = format!("out{shard}");
        let run = sized(folder.run(&["a.jsonl", "b.jsonl"], &output), 1 << 20, 2, shard);
        let (summary, dropped) = dedup(&run, &Fields::default(), to_harmony(), near).unwrap();
        let kept: Vec<_> = all[..50].iter().chain(&all[52..]).cloned().collect();
        assert_eq!(folder.lines(&output), kept);
        assert_eq!((dropped, summary.tally.rejected), (4, 1));
        let duplicates = folder.others(&output, "duplicates");
        let rows: Vec<_> = duplicates
            .iter()
            .map(|it| (it["row"].as_u64().unwrap(), it["of"]["row"].as_u64().unwrap()))
            .collect();
        assert_eq!(rows, [(51, 8), (52, 4), (1, 1), (3, 4)]);
        assert!(duplicates[2]["file"].as_str().unwrap().ends_with("b.jsonl"));
        assert!(duplicates[2]["of"]["file"].as_str().unwrap().ends_with("a.jsonl"));
    }
}

#[test]
fn samples_that_differ_beside_their_words_stay() {
    let folder = Folder::new();
    let turns = r#"[{"role":"user","content":"What is in it?"},{"role":"assistant","content":"A cat, I think, on a mat."}]"#;
    let sample = |more: &str| format!(r#"{{"messages":{turns}{more}}}"#);
    let image = |url: &str| {
        let parts = format!(
            r#"[{{"type":"text","text":"What is in it?"}},{{"type":"image_url","image_url":{{"url":"{url}"}}}}]"#
        );
        sample("").replacen("\"What is in it?\"", &parts, 1)
    };
    let tool = r#","tools":[{"type":"function","function":{"name":"look"}}]"#;
    let weight = sample("").replace("mat.\"", "mat.\",\"weight\":0");
    let all = [
        sample(""),
        sample(r#","label":false"#),
        sample(r#","images":["a.png"]"#),
        sample(r#","images":["b.png"]"#),
        image("https://a.example/a.png"),
        image("https://a.example/b.png"),
        sample(tool),
        weight,
        // The same as the first one.
        sample(r#","id":7,"label":true"#),
    ];
    folder.write("in.jsonl", joined(&all));
    for (output, near) in [("exact", None), ("near", Some(Near::new(0.8)))] {
        let run = folder.run(&["in.jsonl"], output);
        let (_, dropped) = dedup(&run, &Fields::default(), to_harmony(), near).unwrap();
        let rows: Vec<_> =
            folder.others(output, "duplicates").iter().map(|it| it["row"].as_u64()).collect();
        assert_eq!((dropped, rows), (1, vec![Some(9)]), "{output}");
    }
}

/// A conversation of words, of which some are changed.
fn words(number: usize, changed: usize) -> String {
    let word = |at: usize| match at * 37 % 200 < changed {
        true => format!("new{number}x{at}"),
        false => format!("old{number}x{at}"),
    };
    let text: Vec<_> = (0..200).map(word).collect();
    format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, text.join(" "))
}

#[test]
fn similar_conversations_are_dropped_above_the_threshold() {
    let folder = Folder::new();
    let originals = (0..60).map(|number| words(number, 0));
    // A changed word changes three of about 198 shingles.
    let near = (0..60).map(|number| words(number, 2));
    let far = (0..60).map(|number| words(number, 60));
    folder.write("in.jsonl", joined(&originals.chain(near).chain(far).collect::<Vec<_>>()));
    let run = sized(folder.run(&["in.jsonl"], "out"), 8 << 20, 2, 25);
    let (_, dropped) = dedup(&run, &Fields::default(), to_harmony(), Some(Near::new(0.8))).unwrap();
    assert_eq!(dropped, 60);
    for duplicate in folder.others("out", "duplicates") {
        let row = duplicate["row"].as_u64().unwrap();
        assert_eq!(duplicate["of"]["row"].as_u64().unwrap(), row - 60);
        let similarity = duplicate["similarity"].as_f64().unwrap();
        assert!((0.8..1.0).contains(&similarity), "{similarity}");
    }
    let run = folder.run(&["in.jsonl"], "exact");
    assert_eq!(dedup(&run, &Fields::default(), to_harmony(), None).unwrap().1, 0);
    for threshold in [0.0, 1.1, f64::NAN] {
        let near = Some(Near::new(threshold));
        let error = dedup(&run, &Fields::default(), to_harmony(), near).unwrap_err();
        assert!(matches!(error, DataError::Usage(_)), "{error}");
    }
}

#[test]
fn an_index_that_exceeds_the_memory_is_an_error() {
    let folder = Folder::new();
    folder.write("in.jsonl", joined(&lines(1, 400)));
    let run = sized(folder.run(&["in.jsonl"], "out"), 16 << 10, 1, 100);
    let error = dedup(&run, &Fields::default(), to_harmony(), None).unwrap_err();
    assert!(error.to_string().contains("raise `--memory`"), "{error}");
}

#[test]
fn samples_have_the_wanted_size_and_the_order_of_the_input() {
    let folder = Folder::new();
    let all: Vec<_> = (0..2000).map(|number| number.to_string()).collect();
    folder.write("a.jsonl", joined(&all[..700]));
    folder.write("b.jsonl", joined(&all[700..]));
    let mut number = 0;
    let mut take = |size: Size, seed: u64, shard: u64| {
        number += 1;
        let output = format!("out{number}");
        let run = sized(folder.run(&["a.jsonl", "b.jsonl"], &output), 1 << 20, 2, shard);
        sample(&run, size, seed).unwrap();
        folder.lines(&output)
    };
    for count in [0, 1, 100, 1999, 2000, 3000] {
        let taken = take(Size::Rows(count), 1, 150);
        assert_eq!(taken.len(), usize::try_from(count.min(2000)).unwrap());
        let numbers: Vec<usize> = taken.iter().map(|line| line.parse().unwrap()).collect();
        assert!(numbers.is_sorted());
    }
    let some = take(Size::Rows(100), 1, 10_000);
    assert_eq!(some, take(Size::Rows(100), 1, 33));
    assert_ne!(some, take(Size::Rows(100), 2, 33));
    let share = take(Size::Share(0.25), 1, 500).len();
    assert!((430..570).contains(&share), "{share}");
    assert_eq!(
        (take(Size::Share(0.0), 1, 500).len(), take(Size::Share(1.0), 1, 500).len()),
        (0, 2000)
    );
    // A smaller sample with the same seed is a part of a larger one.
    let more: HashSet<_> = take(Size::Rows(150), 1, 500).into_iter().collect();
    assert!(some.iter().all(|line| more.contains(line)));
}

#[test]
fn parts_have_no_conversation_in_common() {
    let folder = Folder::new();
    let mut all = lines(1, 400);
    all.extend(all.clone());
    folder.write("in.jsonl", joined(&all));
    let parts = |shares: &[(&str, f64)]| -> Vec<Share> {
        shares
            .iter()
            .map(|(name, share)| Share { name: (*name).to_owned(), share: *share })
            .collect()
    };
    let shares = parts(&[("train", 0.7), ("valid", 0.2), ("test", 0.1)]);
    let run = |output: &str, seed: u64| {
        let run = sized(folder.run(&["in.jsonl"], output), 1 << 20, 2, 150);
        split(&run, &Fields::default(), to_harmony(), &shares, seed).unwrap();
        ["train", "valid", "test"].map(|part| folder.lines(&format!("{output}/{part}")))
    };
    let found = run("out", 1);
    assert_eq!(found.iter().map(Vec::len).sum::<usize>(), 800);
    for (part, share) in found.iter().zip(&shares) {
        let wanted = share.share * 800.0;
        let len = f64::from(u32::try_from(part.len()).unwrap());
        assert!((len - wanted).abs() < 80.0, "{}: {len}", share.name);
    }
    for (one, two) in [(0, 1), (0, 2), (1, 2)] {
        let other: HashSet<_> = found[two].iter().collect();
        assert!(found[one].iter().all(|line| !other.contains(line)));
    }
    assert_ne!(found, run("other", 2));
    let empty: [Share; 0] = [];
    let run = folder.run(&["in.jsonl"], "none");
    assert!(split(&run, &Fields::default(), to_harmony(), &empty, 1).is_err());
}

#[test]
fn rows_of_tables_stay_as_they_are() {
    let folder = Folder::new();
    let all = lines(1, 120);
    folder.write("in.jsonl", joined(&all));
    let table = in_format(folder.run(&["in.jsonl"], "table"), FileFormat::Parquet);
    openchatml_data::convert(&table, &Fields::default(), to_harmony()).unwrap();
    let run = sized(folder.run(&["table", "table/part-00000.parquet"], "out"), 1 << 20, 2, 50);
    assert!(dedup(&run, &Fields::default(), to_harmony(), None).is_err(), "named twice");
    std::fs::copy(folder.path("table/part-00000.parquet"), folder.path("again.parquet")).unwrap();
    for format in [FileFormat::Parquet, FileFormat::Arrow, FileFormat::Jsonl] {
        let output = format!("out-{}", format.ending());
        let run = in_format(
            sized(folder.run(&["table", "again.parquet"], &output), 1 << 20, 2, 50),
            format,
        );
        let (summary, dropped) = dedup(&run, &Fields::default(), to_harmony(), None).unwrap();
        assert_eq!((summary.rows, dropped), (120, 120));
        assert_eq!(folder.lines(&output), folder.lines("table"));
    }
    let run = in_format(folder.run(&["in.jsonl"], "no"), FileFormat::Parquet);
    assert!(sample(&run, Size::Rows(1), 0).unwrap_err().to_string().contains("lines stay lines"));
}

#[test]
fn columns_with_another_dictionary_in_each_batch_are_kept() {
    let folder = Folder::new();
    let texts = lines(1, 300);
    let sources: Vec<_> = (0..300).map(|at| format!("source {}", at / 7)).collect();
    let sources: DictionaryArray<Int32Type> = sources.iter().map(String::as_str).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("chat", Arc::new(StringArray::from(texts))), ("source", Arc::new(sources))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    for start in (0..300).step_by(60) {
        writer.write(&batch.slice(start, 60)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    folder.write("in.parquet", bytes);
    let mut fields = Fields::default();
    fields.column = Some("chat".to_owned());
    fields.keep = vec!["source".to_owned()];
    let run = sized(folder.run(&["in.parquet"], "out"), 1 << 20, 2, 1000);
    let run = in_format(run, FileFormat::Arrow);
    let summary = openchatml_data::convert(&run, &fields, to_harmony()).unwrap();
    assert_eq!(summary.rows, 300);
    let file = std::fs::File::open(folder.path("out/part-00000.arrow")).unwrap();
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
    let mut found = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        let sources = batch.column_by_name("source").unwrap().as_string::<i32>();
        found.extend(sources.iter().flatten().map(str::to_owned));
    }
    assert_eq!(found, (0..300).map(|at| format!("source {}", at / 7)).collect::<Vec<_>>());
}

#[test]
fn the_same_chat_in_other_records_is_equal() {
    let folder = Folder::new();
    let chats = [
        r#"{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]}"#,
        r#"[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]"#,
        r#"{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello."}]}"#,
        r#"{"prompt":"Hi","completion":"Hello."}"#,
        r#"{"text":"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"}"#,
    ];
    folder.write("in.jsonl", joined(&chats.map(str::to_owned)));
    let options = folder.run(&["in.jsonl"], "out");
    let (summary, dropped) = dedup(&options, &Fields::default(), to_harmony(), None).unwrap();
    assert_eq!((summary.rows, dropped), (1, 4));
    let lints = vec![openchatml::Code::Duplicate];
    let kernel = openchatml_data::kernel::Task::Check { lints };
    let kernel = openchatml_data::kernel::KernelOptions::new(kernel);
    let checked = openchatml_data::check(&options, &Fields::default(), kernel, 1).unwrap();
    assert_eq!(checked.findings[0].count.records, 4);
}
