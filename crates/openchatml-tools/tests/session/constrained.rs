//! Completions that are constrained by a grammar, in the forms that servers accept.

use openchatml::{Conversation, End, Format, Message, Role, TextFormat};
use openchatml_grammars::{Choice, Language};
use openchatml_testkit::upstream::{Answer, ScriptedServer, chunk, done, models};
use openchatml_tokens::{ByteEncoding, Encoding as _};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, ConstraintOptions, Model, Router,
    RouterOptions, Session, SessionError, StopReason, UpstreamError,
};
use serde_json::{Value, json};

use crate::{Log, tools};

/// A token of the encoding that is in no format.
const FOREIGN: &str = "<|endoftext|>";

/// An encoding with an id for each byte, for each control token of Harmony, and for `FOREIGN`.
fn encoding() -> ByteEncoding {
    let format: Format = "harmony".parse().unwrap();
    let entries = format.dialect().controls.entries().iter();
    ByteEncoding::new(entries.map(|entry| entry.1).chain([FOREIGN]))
}

fn id(spelling: &str) -> u32 {
    encoding().control(spelling).unwrap()
}

fn ids(parts: &[&str]) -> Vec<u32> {
    let encoding = encoding();
    let mut ids = Vec::new();
    for part in parts {
        match encoding.control(part) {
            Some(id) => ids.push(id),
            None => encoding.encode(part, &mut ids),
        }
    }
    ids
}

/// A call of `echo`, then an answer, with these ends.
fn turns(ends: [&str; 2]) -> [Vec<u32>; 2] {
    let header = ["<|channel|>", "commentary to=functions.echo ", "<|constrain|>", "json"];
    let call = ids(&[&header[..], &["<|message|>", r#"{"n": 1}"#, ends[0]]].concat());
    [call, ids(&["<|channel|>", "final", "<|message|>", "Done.", ends[1]])]
}

struct RunResult {
    ended: Result<StopReason, SessionError>,
    log: Vec<String>,
    asked: Vec<Value>,
    messages: Vec<Message<'static>>,
    unenforced: Vec<String>,
}

/// Runs a session with a server of this owner that sends these turns.
async fn run(
    owner: &str,
    turns: [Vec<u32>; 2],
    change: impl FnOnce(&mut ConstraintOptions),
) -> RunResult {
    let server = ScriptedServer::with_models(Some(models(owner)), move |_, number| {
        let told = json!({"text": "?", "token_ids": turns[number], "finish_reason": "stop"});
        Answer::stream(vec![chunk(told), done()])
    });
    let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
    let log = Log::default();
    let tools = tools(&log);
    let mut constrained = ConstraintOptions::new(tools.callable());
    change(&mut constrained);
    let model = Model::new(upstream, TextFormat::HARMONY);
    let model = model.with_encoding(encoding()).with_constraints(constrained);
    let conversation = Conversation::from_messages([Message::new(Role::User, "Go.")]);
    let router = Router::new(tools, RouterOptions::default()).unwrap();
    let mut session = Session::new(conversation, Format::JSON, router).with_model(model);
    let ended = session.run(&CancellationToken::new(), |_| {}).await;
    RunResult {
        ended,
        log: log.lines(),
        asked: server.asked(),
        messages: session.conversation().messages.clone(),
        unenforced: session.unenforced().iter().map(ToString::to_string).collect(),
    }
}

/// The ids that may not be sampled.
fn banned(asked: &Value) -> Vec<u32> {
    let bias = asked["logit_bias"].as_object().unwrap();
    assert!(bias.values().all(|bias| *bias == json!(-100)), "{bias:?}");
    let mut banned: Vec<u32> = bias.keys().map(|id| id.parse().unwrap()).collect();
    banned.sort_unstable();
    banned
}

fn tag(asked: &Value) -> Value {
    serde_json::from_str(asked["structured_outputs"]["structural_tag"].as_str().unwrap()).unwrap()
}

/// Whether a token is anywhere in a structural tag.
fn has_token(tag: &Value, id: u32) -> bool {
    match tag {
        Value::Array(values) => values.iter().any(|value| has_token(value, id)),
        Value::Object(entries) => {
            let is_token = entries.get("type") == Some(&json!("token"));
            is_token && entries.get("token") == Some(&json!(id))
                || entries.values().any(|value| has_token(value, id))
        }
        _ => false,
    }
}

#[tokio::test]
async fn a_required_call_comes_first() {
    let turns = turns(["<|call|>", "<|return|>"]);
    let came = run("vllm", turns, |it| it.options.choice = Choice::Required).await;
    assert_eq!(came.ended.ok(), Some(StopReason::Answered));
    assert_eq!(came.log, [r#"echo {"n": 1}"#]);
    let [first, second] = came.asked.as_slice() else { panic!("{:?}", came.asked) };
    let (first_tag, second_tag) = (tag(first).to_string(), tag(second).to_string());
    assert!(first_tag.contains("to=functions.echo") && !first_tag.contains("final"), "{first_tag}");
    assert!(second_tag.contains("to=functions.echo") && second_tag.contains("final"));
    // Tokens are given as numbers, which text cannot spell. The stop tokens are left out.
    assert!(has_token(&tag(first), id("<|channel|>")));
    let excluded = tag(second).to_string();
    assert!(excluded.contains(&format!(",{}", id(FOREIGN))), "{excluded}");
    for end in ["<|call|>", "<|return|>"] {
        assert!(!has_token(&tag(second), id(end)), "{second_tag}");
    }
    let mut wrong = [id("<|return|>"), id(FOREIGN)];
    wrong.sort_unstable();
    assert_eq!(banned(first), wrong);
    assert_eq!(banned(second), [id(FOREIGN)]);
    // It is no problem that the server may stop at any stop token: the others are banned.
    let unenforced =
        |name: &str| format!("functions.{name}: JSON strings can contain control tokens");
    assert_eq!(came.unenforced, ["echo", "fail", "evil"].map(unenforced));
}

#[tokio::test]
async fn the_message_determines_its_end_if_a_server_accepts_any() {
    // A server may end a completion wherever its grammar can end.
    let came = run("vllm", turns(["<|return|>", "<|call|>"]), |_| {}).await;
    assert_eq!(came.ended.ok(), Some(StopReason::Answered));
    assert_eq!(came.log, [r#"echo {"n": 1}"#]);
    let ends: Vec<_> = came.messages.iter().map(|message| message.end).collect();
    assert_eq!(ends, [End::End, End::Call, End::End, End::Return]);
    // The declarations in the prompt say the same.
    let prompt: Vec<u32> = serde_json::from_value(came.asked[1]["prompt"].clone()).unwrap();
    assert!(prompt.contains(&id("<|call|>")) && !prompt.contains(&id("<|return|>")));
}

#[tokio::test]
async fn constraints_require_a_server_with_grammars() {
    let turns = || turns(["<|call|>", "<|return|>"]);
    let refused = |came: RunResult| match came.ended {
        Err(SessionError::Upstream(error)) => (error, came.asked.len()),
        ended => panic!("{ended:?}"),
    };
    let none = |upstream: &str, language| UpstreamError::NoGrammars {
        upstream: Some(upstream.to_owned()),
        language,
    };
    assert_eq!(refused(run("library", turns(), |_| {}).await), (none("ollama", None), 0));
    let gbnf = Some(Language::Gbnf);
    let came = run("vllm", turns(), |it| it.language = gbnf).await;
    assert_eq!(refused(came), (none("vllm", gbnf), 0));
    assert_eq!(
        none("vllm", gbnf).to_string(),
        "the upstream (vllm) does not support grammars in gbnf"
    );
}

#[tokio::test]
async fn an_impossible_required_call_is_an_error() {
    let turns = turns(["<|call|>", "<|return|>"]);
    let named = Choice::Named("nobody".to_owned());
    let came = run("vllm", turns, |it| it.options.choice = named).await;
    assert!(matches!(came.ended, Err(SessionError::Grammar(_))), "{:?}", came.ended);
    assert!(came.asked.is_empty());
}
