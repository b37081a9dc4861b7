//! Lets a model call a tool until it answers.
//!
//! The model of this example is a script, so that it runs anywhere. For a server, use `Completions`
//! (feature `completions`): `Completions::new("http://localhost:8000", Default::default())`.
//!
//! ```sh
//! cargo run -p openchatml-tools --features session --example tool_loop
//! ```

#![allow(clippy::print_stdout, reason = "it is an example")]

use std::error::Error;

use openchatml::{Conversation, Event, Format, Limits, Message, RenderOptions, TextFormat, Value};
use openchatml_tools::{
    CancellationToken, Completion, CompletionFuture, Entry, Failure, Model, Output, Piece,
    PieceFuture, Prompt, Request, Router, RouterOptions, Session, SessionEvent, Toolbox, Upstream,
    function,
};

/// Asks for the weather. When the prompt contains the reply, it answers.
struct Script;

impl Upstream for Script {
    fn sample<'u>(&'u self, request: Request<'u>) -> CompletionFuture<'u> {
        let has_reply = matches!(&request.prompt, Prompt::Text(prompt) if prompt.contains("20 °C"));
        let text = match has_reply {
            true => "<|channel|>final<|message|>It is 20 °C in Tokyo.<|return|>",
            false => {
                "<|channel|>analysis<|message|>I need the tool.<|end|>\
                 <|start|>assistant<|channel|>commentary to=functions.weather \
                 <|constrain|>json<|message|>{\"city\":\"Tokyo\"}<|call|>"
            }
        };
        Box::pin(async move { Ok(Box::new(Once(Some(text))) as Box<dyn Completion>) })
    }
}

/// A completion that arrives in one piece.
struct Once(Option<&'static str>);

impl Completion for Once {
    fn next(&mut self) -> PieceFuture<'_> {
        Box::pin(async move { Ok(self.0.take().map(|text| Piece::Text(text.to_owned()))) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A tool is a closure. The router has checked the arguments against the schema.
    let weather = function(|call| async move {
        let arguments = call.parse().map_err(|found| Failure::new(found.message))?;
        match arguments.get("city").and_then(Value::as_str) {
            Some("Tokyo") => Ok(Output::text("20 °C and sunny")),
            _ => Err(Failure::new("no such city")),
        }
    });
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let mut entry = Entry::new(weather);
    entry.description = Some("The weather of a city.".into());
    entry.parameters = Some(Value::from_json(schema, &Limits::default())?.into_owned());
    let mut tools = Toolbox::default();
    tools.insert("functions.weather", entry)?;

    // The transcript is a conversation in any format with calls. `declare` tells the model about
    // the tools.
    let question = Conversation::from_messages([Message::user("What is the weather in Tokyo?")]);
    let mut prompts = RenderOptions::prompt();
    prompts.date = Some("2026-01-31".into());
    let model = Model::new(Script, TextFormat::HARMONY).with_options(prompts);
    let router = Router::new(tools.clone(), RouterOptions::default())?;
    let mut session =
        Session::new(question, Format::OPENCHATML_2_2, router).declare(&tools).with_model(model);

    // The run ends when the model answers, at a limit (`SessionOptions`), or when it is cancelled.
    let stop = session
        .run(&CancellationToken::new(), |event| match event {
            SessionEvent::Step { number, .. } => println!("request {number}"),
            SessionEvent::ToolStart { call_id, name } => println!("call {call_id}: {name}"),
            SessionEvent::ToolDone { call_id, code } => match code {
                None => println!("call {call_id}: done"),
                Some(code) => println!("call {call_id}: {code}"),
            },
            SessionEvent::Said(Event::Delta { text, .. }) => println!("answer: {text}"),
            _ => {}
        })
        .await?;
    println!("stopped: {stop:?}\n\n{}", session.text()?);
    Ok(())
}
