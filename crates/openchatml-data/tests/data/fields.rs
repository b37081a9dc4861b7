//! Columns and fields beside the conversations.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use openchatml::Format;
use openchatml_data::record::Consent;
use openchatml_data::{DataError, Fields, FileFormat, convert};

use crate::support::{Folder, convert_to, in_format, joined};

fn fields(column: Option<&str>, keep: &[&str], keep_all: bool) -> Fields {
    let mut fields = Fields::default();
    fields.column = column.map(str::to_owned);
    fields.keep = keep.iter().map(|name| (*name).to_owned()).collect();
    fields.keep_all = keep_all;
    fields
}

const CHAT: &str = r#"[{"role":"user","content":"Hi"}]"#;

const WRITTEN: &str = r#""text":"<|im_start|>user\nHi<|im_end|>\n""#;

#[test]
fn fields_of_lines_are_kept_or_refused() {
    let folder = Folder::new();
    let lines = [
        format!(r#"{{"id":1,"chat":{CHAT},"tags":["a"]}}"#),
        format!(r#"{{"chat":{},"id":"b"}}"#, serde_json::to_string(CHAT).unwrap()),
        r#"{"id":3}"#.to_owned(),
        "[]".to_owned(),
    ];
    folder.write("in.jsonl", joined(&lines));
    let mut number = 0;
    let mut run = |fields: &Fields| {
        number += 1;
        let output = format!("out{number}");
        let run = folder.run(&["in.jsonl"], &output);
        convert(&run, fields, convert_to(Format::CHATML)).unwrap();
        let rejects = folder.others(&output, "rejects");
        let numbers: Vec<_> = rejects.iter().map(|it| it["line"].as_u64().unwrap()).collect();
        (folder.lines(&output), numbers)
    };
    let both =
        [format!("{{{WRITTEN},\"id\":1,\"tags\":[\"a\"]}}"), format!("{{{WRITTEN},\"id\":\"b\"}}")];
    assert_eq!(run(&fields(Some("chat"), &[], true)), (both.to_vec(), vec![3, 4]));
    // The field `tags` would be lost.
    assert_eq!(run(&fields(Some("chat"), &["id"], false)), (vec![both[1].clone()], vec![1, 3, 4]));
    assert_eq!(run(&fields(Some("chat"), &["id", "tags"], false)).0, both);
}

#[test]
fn fields_beside_a_record_are_kept() {
    let folder = Folder::new();
    let line = format!(r#"{{"messages":{CHAT},"id":1,"x":{{"y":[null]}}}}"#);
    folder.write("in.jsonl", joined(&[line.clone(), line]));
    let run = folder.run(&["in.jsonl"], "lost");
    let mut strict = convert_to(Format::CHATML);
    strict.consent = Consent::no_loss();
    let summary = convert(&run, &Fields::default(), strict).unwrap();
    assert_eq!(summary.tally.rejected, 2);
    let run = folder.run(&["in.jsonl"], "text");
    convert(&run, &fields(None, &["id", "x"], false), convert_to(Format::CHATML)).unwrap();
    let expected = format!(r#"{{{WRITTEN},"id":1,"x":{{"y":[null]}}}}"#);
    assert_eq!(folder.lines("text"), [expected.clone(), expected]);
    let run = folder.run(&["in.jsonl"], "json");
    convert(&run, &fields(None, &["id", "x"], false), convert_to(Format::OPENAI)).unwrap();
    let expected = format!(r#"{{"messages":{CHAT},"id":1,"x":{{"y":[null]}}}}"#);
    assert_eq!(folder.lines("json")[0], expected);
    // In a table, they are columns.
    let run = in_format(folder.run(&["in.jsonl"], "table"), FileFormat::Parquet);
    convert(&run, &fields(None, &["id", "x"], false), convert_to(Format::OPENAI)).unwrap();
    let run = in_format(folder.run(&["table"], "back"), FileFormat::Jsonl);
    convert(&run, &fields(Some("text"), &[], true), convert_to(Format::OPENAI)).unwrap();
    let expected = format!(r#"{{"messages":{CHAT},"id":"1","x":"{{\"y\":[null]}}"}}"#);
    assert_eq!(folder.lines("back")[0], expected);
}

#[test]
fn columns_of_tables_are_kept_or_refused() {
    let folder = Folder::new();
    let chats: ArrayRef = Arc::new(StringArray::from(vec![CHAT, "no", CHAT]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None]));
    let columns = [("chat", chats, false), ("id", ids, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    folder.write("in.arrow", bytes);
    let run = |fields: &Fields, output: &str| {
        let run = in_format(folder.run(&["in.arrow"], output), FileFormat::Jsonl);
        convert(&run, fields, convert_to(Format::CHATML))
    };
    let error = run(&fields(Some("chat"), &[], false), "a").unwrap_err().to_string();
    assert_eq!(
        error,
        "the columns `id` would be lost: keep some with `--keep id`, or allow it with `--allow-loss=unknown-key`"
    );
    let summary = run(&fields(Some("chat"), &[], true), "b").unwrap();
    assert_eq!((summary.rows, summary.tally.rejected), (2, 1));
    assert_eq!(folder.lines("b"), [format!("{{{WRITTEN},\"id\":1}}"), format!("{{{WRITTEN}}}")]);
    let error = run(&fields(Some("chat"), &["name"], false), "c").unwrap_err();
    assert!(matches!(error, DataError::Column { .. }), "{error}");
    let error = run(&fields(None, &[], true), "d").unwrap_err();
    assert!(matches!(error, DataError::Usage(_)), "{error}");
}
