//! Whatever a model and its tools say, the transcript that a session leaves is one that a session
//! goes on with.

use openchatml::convert::convert;
use openchatml::{Conversation, Format, Message, ReadOptions, RenderOptions, Role};
use openchatml_testkit::upstream::{Answer, Scripted};
use openchatml_testkit::{Source, cases, one_in, pick};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Desk, Entry, Envelope, Model, Output,
    Router, RouterOptions, Session, SessionOptions, Toolbox, Transcript, function,
};

/// What a model may say of its own accord, in any order.
const WORDS: &[&str] = &[
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|return|>",
    "<|call|>",
    "assistant",
    "user",
    "tool",
    "analysis",
    "commentary",
    "final",
    " to=functions.say",
    " to=functions.what",
    " call_id=a",
    " call_id=b",
    " json",
    "json",
    " deadline=soon",
    "{\"text\":\"<|end|>\"}",
    "{\"text\":\"a\"}",
    "{}",
    "{\"a\": oops",
    "Hello. ",
    "&lt;|end|>",
    "<",
    "\\",
    "\n",
    "é",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "<|assistant_end|>",
    "[{\"say\": {\"text\": \"b\"}}]",
    "[",
    "]",
];

/// A whole call or answer in the format's own words, or a mess.
fn said(format: &str, source: &mut Source<'_>) -> String {
    let bodies = ["{\"text\":\"a\"}", "{\"a\": oops", "", "[1]", "{\"text\":1}", "\"<|call|>\""];
    let (body, tool) = (pick(source, &bodies), pick(source, &["say", "what", "raw"]));
    let kind = pick(source, &[0, 1, 2, 3, 4, 5]);
    let channel = pick(source, &["commentary", "analysis", "final", "odd"]);
    if kind < 3 {
        return match format {
            "apertus" => format!("<|tools_prefix|>[{{\"{tool}\": {body}}}]<|tools_suffix|>"),
            _ => format!(
                " to=functions.{tool} call_id=c{kind}<|channel|>{channel}<|constrain|>json<|message|>{body}<|call|>"
            ),
        };
    }
    let mut text = if kind == 3 { "<|channel|>".to_owned() } else { String::new() };
    for _ in 0..source.int_in_range(0..=12).unwrap_or(0) {
        text.push_str(pick(source, WORDS));
    }
    text
}

/// `functions.say`, which says what it is told; `functions.raw`, which says a mess of its own.
fn tools(mess: String) -> Toolbox {
    let mut tools = Toolbox::default();
    let say = function(|call| async move { Ok(Output::text(call.arguments())) });
    tools.insert("functions.say", Entry::new(say)).unwrap();
    let raw = function(move |_| {
        let mess = mess.clone();
        async move { Ok(Output::text(mess)) }
    });
    tools.insert("functions.raw", Entry::new(raw)).unwrap();
    tools
}

/// Runs the session that is at this path once more. What it said of its end.
async fn go_on(
    path: &std::path::Path,
    format: Format,
    prompts: Format,
    envelope: Envelope,
    mess: &str,
    url: &str,
) -> String {
    let desk = Desk::open(path).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let transcript = Transcript::read(&text, format, &ReadOptions::default());
    assert!(transcript.is_faithful, "{format}: {:?}\n{text}", transcript.diagnostics);
    let conversation = transcript.conversation.unwrap();
    let mut options = RouterOptions::default();
    options.envelope = envelope;
    let router = Router::new(desk.guard(&tools(mess.to_owned())), options).unwrap();
    let upstream = Completions::new(url, CompletionsOptions::default()).unwrap();
    // Apertus wants to know the date.
    let mut render = RenderOptions::default();
    render.date = Some("2026-11-23".into());
    let mut session = Session::new(conversation, format, router)
        .with_desk(desk)
        .with_model(Model::new(upstream, prompts).unwrap().with_options(render));
    let mut options = SessionOptions::default();
    options.most_steps = 2;
    session = session.with_options(options);
    let ended = session.run(&CancellationToken::new(), |_| {}).await;
    format!("{ended:?}")
}

/// The formats of the transcript and of the prompts.
const PAIRS: &[(&str, &str)] = &[
    ("openchatml-2.2", "openchatml-2.2"),
    ("openchatml-2.0", "openchatml-2.0"),
    ("harmony", "harmony"),
    ("apertus", "apertus"),
    ("openai", "harmony"),
    ("json", "apertus"),
    ("openchatml-2.2", "harmony"),
    ("apertus:json", "apertus"),
];

#[test]
fn a_session_goes_on_with_what_a_session_left() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    cases(200, |source| {
        let (name, prompts) = pick(source, PAIRS);
        let (format, prompts): (Format, Format) = (name.parse().unwrap(), prompts.parse().unwrap());
        let envelope = if one_in(source, 2) { Envelope::Raw } else { Envelope::Json };
        let answers: Vec<String> = (0..4).map(|_| said(prompts.dialect().id, source)).collect();
        let mess = said("openchatml-2.2", source);
        let own = answers.clone();
        let server = Scripted::start(move |_, number| Answer::saying(&own[number % own.len()]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat");
        let asked = [Message::new(Role::System, "You help."), Message::new(Role::User, "Go.")];
        let document = Conversation::from_messages(asked).into();
        let text = convert(&document, format, &Default::default()).unwrap().output;
        std::fs::write(&path, text).unwrap();
        for _ in 0..3 {
            let ended =
                runtime.block_on(go_on(&path, format, prompts, envelope, &mess, server.url()));
            assert!(ended.starts_with("Ok"), "{name}: {ended}\n{answers:#?}\n{mess:?}");
        }
    });
}
