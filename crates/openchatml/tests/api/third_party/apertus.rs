//! Expectations of other projects about outputs of Apertus, complete and streamed.

use openchatml::{End, Format, Policy, Stream, TextFormat, Visibility, parse};
use serde_json::Value;

use super::chat::{Chat, Deltas, chat_of, completion, expected, same, text_of};
use super::score::Score;

const FILES: &[&str] = &["vllm_apertus.jsonl"];

fn apertus() -> Format {
    "apertus".parse().expect("a format")
}

/// Other projects strip white space around an answer; this library keeps it.
fn is_same(read: &Chat, wanted: &Value) -> bool {
    let trimmed = |chat: &Chat| Chat {
        reasoning: chat.reasoning.clone(),
        content: chat.content.trim().to_owned(),
        calls: chat.calls.clone(),
    };
    same(&trimmed(read), &trimmed(&expected(wanted)))
}

#[test]
fn outputs_of_apertus_are_read_as_by_other_projects() {
    let mut score = Score::new("apertus.assistant_output");
    for case in score.cases(FILES) {
        let text = text_of(&case["input"]["text"]);
        let read = chat_of(&text, apertus());
        let wanted = &case["expected"];
        score.take(&case["id"], is_same(&read, wanted), || {
            format!("{text:?}\n  {read:?}\n  {wanted}")
        });
    }
    score.finish();
}

#[test]
fn streams_of_apertus_equal_those_of_other_projects() {
    let mut score = Score::new("apertus.assistant_stream");
    for case in score.cases(FILES) {
        let mut stream = Stream::new(TextFormat::APERTUS, &completion());
        let mut deltas = Deltas::default();
        deltas.chunk();
        for chunk in case["input"]["chunks"].as_array().expect("chunks") {
            stream.feed_with(text_of(chunk).as_bytes(), |event| deltas.event(event));
        }
        stream.finish_with(|event| deltas.event(event));
        let told = deltas.chunks.pop().expect("a chunk");
        let mut read = Chat { reasoning: told.reasoning, content: told.content, calls: Vec::new() };
        for (_, name, arguments) in told.calls {
            match (name, read.calls.last_mut()) {
                (None, Some((_, all))) => all.push_str(&arguments),
                (name, _) => read.calls.push((name.unwrap_or_default(), arguments)),
            }
        }
        let wanted = &case["expected"];
        let never = wanted["must_not_contain_in_content"].as_array().expect("tokens").iter();
        let has_none = never.map(text_of).all(|token| !read.content.contains(&token));
        score.take(&case["id"], has_none && is_same(&read, wanted), || {
            format!("{read:?}\n  {wanted}")
        });
    }
    score.finish();
}

/// An engine may strip the token that ends the turn. The output then has no visible end.
#[test]
fn an_answer_without_its_end_is_open() {
    for case in super::cases(FILES[0], 23).unwrap_or_default() {
        let Some(text) = case["input"]["text"].as_str() else { continue };
        let conversation = parse(text, apertus(), &completion()).into_conversation();
        let last = conversation.messages.last().expect("a message");
        let is_answer = Policy::default().visibility(last) == Visibility::User;
        assert!(!is_answer || last.end == End::Open, "{}: {last:?}", case["id"]);
    }
}
