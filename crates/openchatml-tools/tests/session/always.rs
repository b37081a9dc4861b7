//! Whatever a model and its tools write, a session can continue from the transcript that it leaves.

use openchatml::convert::convert;
use openchatml::{
    Carrier, Control, Conversation, Format, Message, ReadOptions, RenderOptions, Role, dialects,
};
use openchatml_testkit::upstream::{Answer, ScriptedServer};
use openchatml_testkit::{Source, cases, completion, one_in, pick};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Entry, Envelope, Model, Output, Router,
    RouterOptions, Session, SessionOptions, Toolbox, Transcript, TranscriptStore, function,
};

/// Words that a model may write in any order between control tokens.
const WORDS: &[&str] = &[
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
    "[{\"say\": {\"text\": \"b\"}}]",
    "[",
    "]",
];

/// These words, and the control tokens of all dialects.
fn words() -> Vec<&'static str> {
    let tokens = dialects::ALL.iter().flat_map(|dialect| dialect.controls.entries());
    let mut words: Vec<_> = tokens.map(|(_, spelling)| *spelling).collect();
    words.sort_unstable();
    words.dedup();
    words.extend(WORDS);
    words
}

/// A call in the format's own syntax with arbitrary arguments, or a random sequence of words.
fn said(format: Format, source: &mut Source<'_>) -> String {
    let bodies = ["{\"text\":\"a\"}", "{\"a\": oops", "", "[1]", "{\"text\":1}", "\"<|call|>\""];
    let (body, tool) = (pick(source, &bodies), pick(source, &["say", "what", "raw"]));
    let kind = pick(source, &[0, 1, 2, 3, 4, 5]);
    let channel = pick(source, &["commentary", "analysis", "final", "odd"]);
    if kind < 3 {
        let before = [Message::new(Role::System, "-"), Message::new(Role::User, "Go.")];
        let call = completion::call("say", &format!("c{kind}"), "{\"text\":0}", format);
        let text = completion::completion(&before, &[call], format);
        let text = text.replace("say", tool).replace("commentary", channel);
        return text.replace("{\"text\":0}", body).replace("{\"text\": 0}", body);
    }
    let is_channel = kind == 3;
    let channel = format.dialect().controls.spelling(Control::Channel).filter(|_| is_channel);
    let mut text = channel.unwrap_or_default().to_owned();
    let words = words();
    for _ in 0..source.int_in_range(0..=12).unwrap_or(0) {
        text.push_str(pick(source, &words));
    }
    text
}

/// `functions.say` returns its arguments; `functions.raw` returns a random text.
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

/// Runs the session at this path once more, and returns its result.
async fn go_on(
    path: &std::path::Path,
    format: Format,
    prompts: Format,
    envelope: Envelope,
    mess: &str,
    url: &str,
) -> String {
    let store = TranscriptStore::open(path).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let transcript = Transcript::read(&text, format, &ReadOptions::default());
    assert!(transcript.is_faithful, "{format}: {:?}\n{text}", transcript.diagnostics);
    let conversation = transcript.conversation.unwrap();
    let mut options = RouterOptions::default();
    options.envelope = envelope;
    let router = Router::new(store.record_calls(&tools(mess.to_owned())), options).unwrap();
    let upstream = Completions::new(url, CompletionsOptions::default()).unwrap();
    // The template of Apertus requires the date.
    let mut render = RenderOptions::default();
    render.date = Some("2026-11-23".into());
    let mut session = Session::new(conversation, format, router).with_store(store).with_model(
        Model::new(upstream, prompts.text().expect("a text format")).with_options(render),
    );
    let mut options = SessionOptions::default();
    options.most_steps = 2;
    session = session.with_options(options);
    let ended = session.run(&CancellationToken::new(), |_| {}).await;
    format!("{ended:?}")
}

/// The formats that have calls.
fn formats() -> Vec<Format> {
    let has_calls = |format: &Format| {
        let carries = format.carries();
        carries.recipients && carries.roles.contains(&Role::Tool)
    };
    Format::all().filter(has_calls).collect()
}

#[test]
fn a_session_continues_the_transcript_of_a_session() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transcripts = formats();
    let is_text = |format: &Format| format.carrier() == Carrier::Text;
    let models: Vec<_> = formats().into_iter().filter(is_text).collect();
    cases(200, |source| {
        let (format, prompts) = (pick(source, &transcripts), pick(source, &models));
        let envelope = if one_in(source, 2) { Envelope::Raw } else { Envelope::Json };
        let answers: Vec<String> = (0..4).map(|_| said(prompts, source)).collect();
        let mess = said(pick(source, &models), source);
        let own = answers.clone();
        let server =
            ScriptedServer::start(move |_, number| Answer::saying(&own[number % own.len()]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat");
        let asked = [Message::new(Role::System, "You help."), Message::new(Role::User, "Go.")];
        let document = Conversation::from_messages(asked).into();
        let text = convert(&document, format, &Default::default()).unwrap().output;
        std::fs::write(&path, text).unwrap();
        for _ in 0..3 {
            let ended =
                runtime.block_on(go_on(&path, format, prompts, envelope, &mess, server.url()));
            assert!(ended.starts_with("Ok"), "{format}: {ended}\n{answers:#?}\n{mess:?}");
        }
    });
}
