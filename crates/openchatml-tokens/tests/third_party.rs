//! Ids that other projects expect in their own tests, from the folder that `OPENCHATML_THIRD_PARTY`
//! names.

use openchatml::{Event, ReadOptions, Role, Stream, TextFormat};
use openchatml_testkit::external_files;
use openchatml_testkit::property::StreamOutput;
use openchatml_tokens::{O200kHarmony, Tokenizer};
use serde_json::Value;

/// The cases of a file. Without the folder there are none, and the test reports that it is skipped
/// and how many texts it would have used.
fn cases(file: &str, least: usize) -> Vec<Value> {
    let what = format!("at least {least} texts of other projects, as ids");
    let Some(folder) = external_files::folder("OPENCHATML_THIRD_PARTY", None, &what) else {
        return Vec::new();
    };
    let path = folder.join(file);
    let text = std::fs::read_to_string(path).expect("the file of cases");
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

fn is_skipped() -> bool {
    std::env::var_os("OPENCHATML_THIRD_PARTY").is_none()
}

fn tokenizer() -> Tokenizer<O200kHarmony> {
    Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default())
}

/// The inputs of a case that have both a text and ids.
fn pairs(case: &Value) -> Vec<(String, Vec<u32>)> {
    let input = &case["input"];
    let deltas = input["deltas"].as_array().into_iter().flatten();
    std::iter::once(input)
        .chain(deltas)
        .filter_map(|one| {
            let ids = one["tokens"].as_array()?;
            let ids =
                ids.iter().map(|id| u32::try_from(id.as_u64().expect("an id")).expect("32 bits"));
            Some((one["text"].as_str()?.to_owned(), ids.collect()))
        })
        .collect()
}

/// Ids decode to the text that is given with them, and are parsed like it.
#[test]
fn parsing_ids_equals_parsing_their_text() {
    let tokenizer = tokenizer();
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let mut count = 0;
    for file in ["vllm_gptoss.jsonl", "harmony_upstream.jsonl", "tinker_gptoss.jsonl"] {
        for case in cases(file, 60) {
            for (text, ids) in pairs(&case) {
                count += 1;
                for role in [None, Some(Role::Assistant)] {
                    options.continues = role;
                    let read = tokenizer.parse(&ids, &options);
                    assert_eq!(read.text(), text, "{}", case["id"]);
                    let format = tokenizer.format();
                    let from_text = openchatml::parse(&text, format.into(), &options);
                    assert_eq!(from_text.document, *read.document(), "{}", case["id"]);
                    let mut streamed = Vec::new();
                    let mut stream = tokenizer.stream(&options);
                    stream.feed_with(&ids, |event| {
                        if let Event::MessageDone { message, .. } = event {
                            streamed.push(message.into_value().into_owned());
                        }
                    });
                    stream.finish_with(|event| {
                        if let Event::MessageDone { message, .. } = event {
                            streamed.push(message.into_value().into_owned());
                        }
                    });
                    let messages = &read.document().as_conversation().expect("one").messages;
                    assert_eq!(streamed, *messages, "{}", case["id"]);
                }
            }
        }
    }
    assert!(is_skipped() || count >= 60, "{count}");
}

/// A stream of ids gives at each step what a stream of their text gives, and the message is the
/// same.
#[test]
fn streaming_ids_equals_streaming_their_text() {
    let tokenizer = tokenizer();
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let mut count = 0;
    for case in cases("vllm_gptoss.jsonl", 28) {
        options.continues = match case["kind"].as_str() {
            Some("gptoss.chat_stream") => Some(Role::Assistant),
            Some("gptoss.is_reasoning_end") => None,
            _ => continue,
        };
        let mut of_text = Stream::new(tokenizer.format(), &options);
        let mut of_ids = tokenizer.stream(&options);
        for (text, ids) in pairs(&case) {
            let mut told = [StreamOutput::default(), StreamOutput::default()];
            of_text.feed_with(text.as_bytes(), |event| told[0].event(event));
            for id in ids {
                of_ids.feed_with(&[id], |event| told[1].event(event));
            }
            let [one, two] = told.map(StreamOutput::finish);
            assert_eq!(one, two, "{}", case["id"]);
            assert_eq!(of_text.open_message(), of_ids.open_message(), "{}", case["id"]);
            count += 1;
        }
    }
    assert!(is_skipped() || count >= 28, "{count}");
}

/// Well-formed texts are written as the given ids.
#[test]
fn texts_have_the_given_ids() {
    let tokenizer = tokenizer();
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let mut count = 0;
    for case in cases("vllm_gptoss.jsonl", 20) {
        for (text, ids) in pairs(&case) {
            let prompt = format!("<|start|>assistant{text}");
            let parsed = openchatml::parse(&prompt, tokenizer.format().into(), &options);
            if !parsed.diagnostics.is_empty() {
                continue;
            }
            let Ok(rendered) = tokenizer.render(&parsed.document, &Default::default()) else {
                continue;
            };
            assert_eq!(rendered.ids[2..], ids, "{}: {text:?}", case["id"]);
            count += 1;
        }
    }
    assert!(is_skipped() || count >= 20, "{count}");
}
