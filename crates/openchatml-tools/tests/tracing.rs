//! Spans: what they contain and what they must not contain.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use openchatml::{Conversation, Format, Message, Role};
use openchatml_testkit::upstream::{Answer, ScriptedServer, chunk, done};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Entry, Failure, Model, Output, Router,
    RouterOptions, Session, SessionError, StopReason, Toolbox, function,
};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// A recorded span.
#[derive(Clone, Debug, Default)]
struct Told {
    name: &'static str,
    /// The index of its parent.
    parent: Option<usize>,
    fields: BTreeMap<&'static str, String>,
    metadata: Option<&'static Metadata<'static>>,
}

/// Records every span.
#[derive(Clone, Default)]
struct Spans {
    told: Arc<Mutex<Vec<Told>>>,
    entered: Arc<Mutex<Vec<usize>>>,
}

struct Fields<'t>(&'t mut Told);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.fields.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("openchatml")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let parent = self.entered.lock().unwrap().last().copied();
        let metadata = Some(attributes.metadata());
        let name = attributes.metadata().name();
        let mut told = Told { name, parent, fields: BTreeMap::new(), metadata };
        attributes.record(&mut Fields(&mut told));
        let mut all = self.told.lock().unwrap();
        all.push(told);
        Id::from_u64(u64::try_from(all.len()).unwrap())
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut self.told.lock().unwrap()[place(span)]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn current_span(&self) -> Current {
        match self.entered.lock().unwrap().last() {
            None => Current::none(),
            Some(place) => {
                let id = Id::from_u64(u64::try_from(*place + 1).unwrap());
                Current::new(id, self.told.lock().unwrap()[*place].metadata.unwrap())
            }
        }
    }

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(place(span));
    }

    fn exit(&self, span: &Id) {
        let mut entered = self.entered.lock().unwrap();
        let at = entered.iter().rposition(|it| *it == place(span)).unwrap();
        entered.remove(at);
    }
}

const SECRET: &str = "SECRET";

/// A model calls a tool, which may fail, and then answers.
async fn run(
    fails: bool,
    answers: impl Fn(usize) -> Answer + Send + Sync + 'static,
) -> (Vec<Told>, Result<StopReason, SessionError>) {
    let spans = Spans::default();
    let guard = tracing::subscriber::set_default(spans.clone());
    let server = ScriptedServer::start(move |_, number| answers(number));
    let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
    let format: Format = "openchatml-2.2".parse().unwrap();
    let tool = function(move |_| async move {
        if fails { Err(Failure::new(SECRET)) } else { Ok(Output::text(SECRET)) }
    });
    let mut tools = Toolbox::default();
    tools.insert("functions.now", Entry::new(tool)).unwrap();
    let router = Router::new(tools, RouterOptions::default()).unwrap();
    let conversation = Conversation::from_messages([Message::new(Role::User, SECRET)]);
    let model = Model::new(upstream, format.text().expect("a text format"));
    let mut session = Session::new(conversation, format, router).with_model(model);
    let ended = session.run(&CancellationToken::new(), |_| {}).await;
    drop(guard);
    let told = spans.told.lock().unwrap().clone();
    for span in &told {
        assert!(!span.fields.values().any(|value| value.contains(SECRET)), "{span:?}");
    }
    (told, ended)
}

fn answer(number: usize) -> Answer {
    let text = match number {
        0 => {
            " to=functions.now call_id=c1<|channel|>commentary<|constrain|>json<|message|>{\"a\":\"SECRET\"}<|call|>"
        }
        _ => "<|channel|>final<|message|>SECRET<|return|>",
    };
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}});
    let usage = format!("data: {usage}\n\n").into_bytes();
    let piece = chunk(json!({"text": text, "finish_reason": "stop"}));
    Answer::stream(vec![piece, openchatml_testkit::upstream::ServerAction::Send(usage), done()])
}

#[tokio::test]
async fn a_run_a_completion_and_a_call_have_spans() {
    let (told, ended) = run(false, answer).await;
    assert_eq!(ended.unwrap(), StopReason::Answered);
    let names: Vec<_> = told.iter().map(|span| (span.name, span.parent)).collect();
    let call = ("execute_tool", Some(1));
    let completion = ("text_completion", Some(0));
    assert_eq!(names, [("invoke_agent", None), completion, call, completion]);
    let fields = &told[1].fields;
    assert_eq!(fields["gen_ai.operation.name"], "text_completion");
    assert_eq!(fields["gen_ai.usage.input_tokens"], "7");
    assert_eq!(fields["gen_ai.usage.output_tokens"], "3");
    let fields = &told[2].fields;
    assert_eq!(fields["otel.name"], "execute_tool functions.now");
    assert_eq!(fields["gen_ai.tool.name"], "functions.now");
    assert_eq!(fields["gen_ai.tool.call.id"], "c1");
    assert!(told.iter().all(|span| !span.fields.contains_key("error.type")), "{told:?}");
}

#[tokio::test]
async fn failed_spans_have_an_error() {
    let (told, ended) = run(true, answer).await;
    assert_eq!(ended.unwrap(), StopReason::Answered);
    let call = told.iter().find(|span| span.name == "execute_tool").unwrap();
    assert_eq!(call.fields["error.type"], "E-TOOL-FAILED");
    assert_eq!(call.fields["otel.status_code"], "ERROR");
    let (told, ended) = run(false, |_| Answer::error(404, "{}")).await;
    assert!(ended.is_err());
    for span in &told {
        assert_eq!(span.fields["error.type"], "upstream", "{span:?}");
    }
}
