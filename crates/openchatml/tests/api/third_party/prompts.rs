//! Expectations of other projects about prompts: their text, the history in them, and the names of
//! tools.

use openchatml::{
    Channel, Code, Diagnostic, Dropped, Format, Message, ReadOptions, RenderOptions, Role,
    Severity, convert, history, parse, render,
};
use serde_json::{Value, json};

use super::chat::{harmony, text_of};
use super::score::Score;
use super::{cases, lines};

/// Returns the text of the conversation of a case.
fn raw_conversation(line: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Case {
        input: Input,
    }
    #[derive(serde::Deserialize)]
    struct Input {
        conversation: Box<serde_json::value::RawValue>,
    }
    let case: Case = serde_json::from_str(line).expect("a case");
    case.input.conversation.get().to_owned()
}

#[test]
fn prompts_equal_those_of_the_reference() {
    let mut score = Score::new("harmony.render");
    let Some(cases) = cases("harmony_upstream.jsonl", score.published()) else { return };
    let json: Format = "harmony:json".parse().expect("a format");
    let raw = lines("harmony_upstream.jsonl", 0).unwrap_or_default();
    let rendered = |(_, case): &(usize, &Value)| case["kind"] == "harmony.render";
    for (index, case) in cases.iter().enumerate().filter(rendered) {
        let input = &case["input"];
        // The original text, because the order of keys matters.
        let text = raw_conversation(&raw[index]);
        let parsed = parse(&text, json, &ReadOptions::default());
        assert!(!parsed.has_errors(), "{}: {:?}", case["id"], parsed.diagnostics);
        let conversation = parsed.into_conversation();
        let kept = match input["auto_drop_analysis"] == true {
            true => history::next_prompt(&conversation),
            false => conversation.clone(),
        };
        let mut options = RenderOptions::default();
        if input["mode"] == "completion" {
            options.generation_prompt = Some(Role::Assistant);
        }
        let prompt = render(&kept.into(), harmony(), &options).expect("a prompt");
        let wanted = case["expected"]["text"].as_str().expect("a text");
        score.take(&case["id"], prompt == wanted, || format!("{prompt}\n--- wanted\n{wanted}"));
        let again = render(&conversation.into(), json, &RenderOptions::default()).expect("JSON");
        let (again, read): (Value, Value) = (
            serde_json::from_str(&again).expect("JSON"),
            serde_json::from_str(&text).expect("JSON"),
        );
        assert_eq!(
            again["messages"].as_array().map(Vec::len),
            read["messages"].as_array().map(Vec::len)
        );
    }
    score.finish();
}

#[test]
fn histories_drop_the_same_reasoning_as_other_projects() {
    let mut score = Score::new("harmony.auto_drop_analysis");
    for case in score.cases(&["vllm_gptoss.jsonl"]) {
        let messages = case["input"]["messages"].as_array().expect("messages").iter().map(|it| {
            let role = Role::ALL.iter().find(|role| it["role"] == role.as_str());
            let channels = [Channel::Analysis, Channel::Commentary, Channel::Final];
            let mut message = Message::new(*role.expect("a role"), text_of(&it["content"]));
            message.channel = channels.into_iter().find(|known| it["channel"] == known.as_str());
            message
        });
        let kept = history::kept(&messages.collect::<Vec<_>>());
        let kept = kept.iter().enumerate().filter(|(_, keep)| **keep).map(|(index, _)| index);
        let (kept, wanted) = (json!(kept.collect::<Vec<_>>()), &case["expected"]["kept_indices"]);
        score.take(&case["id"], kept == *wanted, || format!("{kept}, not {wanted}"));
    }
    score.finish();
}

/// Returns the declared names of tools, or the reason why they are not declared.
fn declared(names: &[&Value]) -> Result<Vec<String>, String> {
    let tool = |name: &&Value| json!({"type": "function", "function": {"name": name}});
    let tools: Vec<Value> = names.iter().map(tool).collect();
    let user = json!({"role": "user", "content": "Hi."});
    let text = json!({"tools": tools, "messages": [user]}).to_string();
    let parsed = parse(&text, "json".parse().expect("a format"), &ReadOptions::default());
    // A name that is invalid in a header is reported and kept.
    let of_names = |found: &Diagnostic| found.code == Code::ParseHeader;
    assert!(parsed.diagnostics.iter().all(of_names), "{:?}", parsed.diagnostics);
    let prompt = convert::convert(&parsed.document, harmony(), &RenderOptions::default())
        .map_err(|error| error.to_string())?;
    let types = prompt.output.lines().filter_map(|line| line.strip_prefix("type "));
    Ok(types.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect())
}

#[test]
fn tools_have_the_same_names_as_in_other_projects() {
    let mut score = Score::new("harmony.function_name_sanitize");
    for case in score.cases(&["ollama_harmony.jsonl"]) {
        let names = declared(&[&case["input"]["name"]]);
        let wanted = vec![text_of(&case["expected"]["name"])];
        score.take(&case["id"], names.as_ref() == Ok(&wanted), || format!("{names:?}, {wanted:?}"));
    }
    score.finish();
}

#[test]
fn duplicate_tool_names_are_handled_as_by_other_projects() {
    let mut score = Score::new("harmony.function_name_map");
    for case in score.cases(&["ollama_harmony.jsonl"]) {
        let given: Vec<&Value> = case["input"]["names"].as_array().expect("names").iter().collect();
        let names = declared(&given);
        let wanted = case["expected"]["names"].as_array().expect("names");
        let wanted: Vec<String> = wanted.iter().map(text_of).collect();
        score.take(&case["id"], names.as_ref() == Ok(&wanted), || format!("{names:?}, {wanted:?}"));
    }
    score.finish();
}

/// Records of another project in the JSON of Harmony. Records that the reference library rejects
/// need not be read.
#[test]
fn records_are_read_as_by_other_projects() {
    let mut score = Score::new("dataset.harmony_json");
    for case in score.cases(&["dataset_samples.jsonl"]) {
        let text = case["input"]["record"].to_string();
        let json: Format = "harmony:json".parse().expect("a format");
        let parsed = parse(&text, json, &ReadOptions::default());
        let found = parsed.diagnostics.clone();
        // Fields that only the tool of the record defines are dropped with a report.
        let errors = found.iter().filter(|it| it.severity == Severity::Error);
        let has_errors = errors.filter(|it| it.dropped != Some(Dropped::Key)).count() > 0;
        let messages = parsed.into_conversation().messages;
        let roles: Vec<_> = messages.iter().map(|message| message.role.as_str()).collect();
        let is_same = !has_errors && json!(roles) == case["expected"]["roles"];
        score.take(&case["id"], is_same, || format!("{roles:?} {} {found:#?}", case["peer"]));
    }
    score.finish();
}
