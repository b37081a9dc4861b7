//! The client of `/v1/completions` with a scripted server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::sync::mpsc::channel;
use std::time::Duration;

use openchatml_testkit::upstream::{
    Answer, ScriptedServer, ServerAction, chunk, done, models, said,
};
use openchatml_tools::{
    Completions, CompletionsOptions, Engine, Piece, Prompt, Request, Upstream as _, UpstreamError,
    Usage,
};
use serde_json::json;

/// The result of one request.
async fn ask(
    prompt: Prompt,
    answer: impl Fn() -> Answer + Send + Sync + 'static,
) -> (Vec<Piece>, Option<UpstreamError>) {
    let server = ScriptedServer::with_models(Some(models("vllm")), move |_, _| answer());
    heard(server.url(), quick(), prompt).await
}

/// Options without delays between attempts.
fn quick() -> CompletionsOptions {
    let mut options = CompletionsOptions::default();
    options.patience = Duration::ZERO;
    options.backoff = Duration::from_millis(1);
    options
}

/// The pieces of a server's answer.
async fn heard(
    url: &str,
    options: CompletionsOptions,
    prompt: Prompt,
) -> (Vec<Piece>, Option<UpstreamError>) {
    let upstream = Completions::new(url, options).unwrap();
    let mut pieces = Vec::new();
    let mut completion = match upstream.sample(Request::new(prompt)).await {
        Ok(completion) => completion,
        Err(error) => return (pieces, Some(error)),
    };
    loop {
        match completion.next().await {
            Ok(Some(Piece::Text(text))) => match pieces.last_mut() {
                Some(Piece::Text(all)) => all.push_str(&text),
                _ => pieces.push(Piece::Text(text)),
            },
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => return (pieces, None),
            Err(error) => return (pieces, Some(error)),
        }
    }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

fn prompt() -> Prompt {
    Prompt::Text("<|start|>assistant".to_owned())
}

const SAID: &str = "<|channel|>final<|message|>Grüße 😀<|return|>";

#[tokio::test]
async fn a_completion_arrives_piece_by_piece() {
    let (pieces, error) = ask(prompt(), || Answer::saying(SAID)).await;
    assert_eq!((pieces, error), (vec![text(SAID)], None));
}

#[tokio::test]
async fn every_split_of_the_stream_gives_the_same_result() {
    let stream = format!(
        ": hello\r\n\r\ndata: {}\r\n\r\ndata:{}\n\ndata: [DONE]\n\n",
        json!({"choices": [{"index": 0, "text": SAID, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}),
    );
    for size in [1, 2, 3, 7, 64] {
        let stream = stream.clone();
        let (pieces, error) = ask(prompt(), move || {
            Answer::stream(
                stream
                    .as_bytes()
                    .chunks(size)
                    .map(|part| ServerAction::Send(part.into()))
                    .collect(),
            )
        })
        .await;
        assert_eq!((pieces, error), (vec![text(SAID)], None), "{size}");
    }
}

#[tokio::test]
async fn a_stream_without_done_is_complete() {
    let (pieces, error) = ask(prompt(), || {
        let mut actions = said(SAID);
        actions.push(chunk(json!({"text": "", "finish_reason": "length"})));
        Answer::stream(actions)
    })
    .await;
    assert_eq!((pieces, error), (vec![text(SAID), Piece::CutOff("length".to_owned())], None));
}

#[tokio::test]
async fn a_broken_stream_is_an_error() {
    for is_clean in [true, false] {
        let (pieces, error) = ask(prompt(), move || {
            let mut actions = said("half");
            if !is_clean {
                actions.push(ServerAction::Break);
            }
            Answer::stream(actions)
        })
        .await;
        assert_eq!(pieces, [text("half")]);
        assert!(matches!(error, Some(UpstreamError::Connection(_))), "{error:?}");
    }
}

#[tokio::test]
async fn a_response_can_be_one_object() {
    let body = json!({"choices": [{"index": 0, "text": SAID, "finish_reason": "stop"}]});
    let (pieces, error) = ask(prompt(), move || Answer::error(200, &body.to_string())).await;
    assert_eq!((pieces, error), (vec![text(SAID)], None));
}

#[tokio::test]
async fn errors_contain_the_message_of_the_server() {
    let refused = |status, message: &str| {
        Some(UpstreamError::Refused { status, message: message.to_owned() })
    };
    let cases = [
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist.","code":404}}"#,
            "The model `x` does not exist.",
        ),
        (500, "Internal Server Error\n", "Internal Server Error"),
        (503, "", ""),
        (307, "elsewhere", "elsewhere"),
    ];
    for (status, body, message) in cases {
        let (_, error) = ask(prompt(), move || Answer::error(status, body)).await;
        assert_eq!(error, refused(status, message));
    }
    let (_, error) = ask(prompt(), || Answer::error(500, &"x".repeat(1 << 20))).await;
    assert!(error.is_some_and(|error| error.to_string().len() < 1000));
}

#[tokio::test]
async fn an_error_within_the_stream_ends_it() {
    let (pieces, error) = ask(prompt(), || {
        let mut actions = said("half");
        actions.push(ServerAction::Send(
            b"error: {\"code\":500,\"message\":\"out of memory\"}\n\n".to_vec(),
        ));
        actions.extend(said("more"));
        Answer::stream(actions)
    })
    .await;
    assert_eq!(pieces, [text("half")]);
    assert_eq!(error, Some(UpstreamError::Failed("out of memory".to_owned())));
}

#[tokio::test]
async fn invalid_responses_are_reported() {
    for garbage in ["data: <html>\n\n", "data: {}\n\n", "<html>no stream at all</html>"] {
        let (pieces, error) = ask(prompt(), move || {
            Answer::stream(vec![ServerAction::Send(garbage.as_bytes().to_vec())])
        })
        .await;
        assert_eq!(pieces, []);
        assert!(error.is_some(), "{garbage}");
    }
}

#[tokio::test]
async fn ids_are_requested_and_returned() {
    let answer = || {
        let ids = |ids: &[u32], finish| {
            chunk(json!({"text": "?", "token_ids": ids, "finish_reason": finish, "stop_reason": 7}))
        };
        Answer::stream(vec![ids(&[5, 6], json!(null)), ids(&[7], json!("stop")), done()])
    };
    let (pieces, error) = ask(Prompt::Ids(vec![1, 2]), answer).await;
    assert_eq!((pieces, error), (vec![Piece::Ids(vec![5, 6]), Piece::Ids(vec![7])], None));
    // A caller that did not ask for ids gets text.
    let (pieces, _) = ask(prompt(), answer).await;
    assert_eq!(pieces, [text("??")]);
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_without_the_key() {
    let mut options = CompletionsOptions::default();
    options.api_key = Some("sk-secret".to_owned());
    assert!(!format!("{options:?}").contains("secret"));
    // A port on which nothing listens.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = Completions::new(&format!("http://{address}"), options).unwrap();
    let Err(error) = upstream.sample(Request::new(prompt())).await else { panic!("who is there?") };
    assert!(matches!(&error, UpstreamError::Connection(_)), "{error}");
    assert!(!error.to_string().contains("secret"));
}

/// A server can repeat the key that it refuses.
#[tokio::test]
async fn errors_of_a_server_have_no_key() {
    let text = r#"{"error":{"message":"bad key sk-secret"}}"#;
    for status in [401, 200] {
        let server = ScriptedServer::with_models(Some(models("vllm")), move |_, _| {
            Answer::error(status, text)
        });
        let mut options = quick();
        options.api_key = Some("sk-secret".to_owned());
        let (_, error) = heard(server.url(), options, prompt()).await;
        let error = error.unwrap().to_string();
        assert!(error.ends_with("bad key [secret]"), "{error}");
    }
}

#[tokio::test]
async fn ids_are_never_read_from_text() {
    let spelled = "<|channel|>final<|message|>Hi<|end|>";
    let (pieces, error) = ask(Prompt::Ids(vec![1, 2]), move || Answer::saying(spelled)).await;
    assert_eq!((pieces, error), (vec![], Some(UpstreamError::NoIds("vllm".to_owned()))));
    // If the engine is unknown, no request is sent.
    let server = ScriptedServer::start(move |_, _| Answer::saying(spelled));
    let (pieces, error) = heard(server.url(), quick(), Prompt::Ids(vec![1])).await;
    assert_eq!((pieces, error), (vec![], Some(UpstreamError::NoIds("openai".to_owned()))));
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn the_engine_is_detected_unless_it_is_set() {
    let server = ScriptedServer::with_models(Some(models("llamacpp")), |_, _| Answer::saying(SAID));
    let upstream = Completions::new(server.url(), quick()).unwrap();
    assert_eq!(upstream.engine().await, Ok(Engine::LlamaCpp));
    let mut options = quick();
    options.engine = Some(Engine::Sglang);
    let upstream = Completions::new(server.url(), options).unwrap();
    assert_eq!(upstream.engine().await, Ok(Engine::Sglang));
    let server = ScriptedServer::start(|_, _| Answer::saying(SAID));
    let upstream = Completions::new(server.url(), quick()).unwrap();
    assert_eq!(upstream.engine().await, Ok(Engine::OpenAi));
}

#[tokio::test]
async fn requests_to_a_busy_server_are_repeated() {
    let busy = |number| match number {
        0 => Answer::error(503, r#"{"error":{"message":"Loading model"}}"#),
        1 => Answer::error(429, "slow down"),
        _ => Answer::saying(SAID),
    };
    let server = ScriptedServer::start(move |_, number| busy(number));
    let mut options = quick();
    options.patience = Duration::from_secs(60);
    assert_eq!(heard(server.url(), options, prompt()).await, (vec![text(SAID)], None));
    assert_eq!(server.asked().len(), 3);
    // The time limit is reported.
    let server = ScriptedServer::start(move |_, number| busy(number));
    let (_, error) = heard(server.url(), quick(), prompt()).await;
    let refused = UpstreamError::Refused { status: 503, message: "Loading model".to_owned() };
    assert_eq!(error, Some(refused));
    // A permanent error is reported without another attempt.
    let server = ScriptedServer::start(|_, _| Answer::error(500, "broken"));
    let mut options = quick();
    options.patience = Duration::from_secs(60);
    assert!(heard(server.url(), options, prompt()).await.1.is_some());
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn keep_alive_data_does_not_reset_the_idle_timeout() {
    let (hold, held) = channel::<()>();
    let held = std::sync::Mutex::new(Some(held));
    let server = ScriptedServer::start(move |_, _| {
        let mut actions = said("half");
        actions.extend((0..3).map(|_| ServerAction::Send(b": still here\n\n".to_vec())));
        actions.extend(held.lock().unwrap().take().map(ServerAction::Wait));
        Answer::stream(actions)
    });
    let mut options = quick();
    options.idle_timeout = Duration::from_millis(100);
    let (pieces, error) = heard(server.url(), options, prompt()).await;
    assert_eq!(pieces, [text("half")]);
    let silent = "cannot connect to the upstream: no data for 0.1 s";
    assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(silent));
    drop(hold);
}

#[tokio::test]
async fn a_completion_has_a_timeout() {
    let (hold, held) = channel::<()>();
    let held = std::sync::Mutex::new(Some(held));
    let server = ScriptedServer::start(move |_, _| {
        let mut actions = said("half");
        actions.extend(held.lock().unwrap().take().map(ServerAction::Wait));
        Answer::stream(actions)
    });
    let mut options = quick();
    options.total_timeout = Some(Duration::from_millis(100));
    let (pieces, error) = heard(server.url(), options, prompt()).await;
    assert_eq!(pieces, [text("half")]);
    assert!(error.unwrap().to_string().ends_with("the completion exceeds its time limit"));
    drop(hold);
}

#[tokio::test]
async fn an_incomplete_part_is_a_broken_connection() {
    let (pieces, error) = ask(prompt(), || {
        let mut actions = said("half");
        actions.push(ServerAction::Send(b"data: {\"choices\":[{\"te".to_vec()));
        Answer::stream(actions)
    })
    .await;
    assert_eq!(pieces, [text("half")]);
    let ended = "the response ended before the completion";
    assert_eq!(error, Some(UpstreamError::Connection(ended.to_owned())));
}

#[tokio::test]
async fn the_usage_of_a_completion_is_reported() {
    let (pieces, error) = ask(prompt(), || {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}});
        let mut actions = said(SAID);
        actions.push(chunk(json!({"text": "", "finish_reason": "stop"})));
        actions.push(ServerAction::Send(format!("data: {usage}\n\n").into_bytes()));
        actions.push(done());
        Answer::stream(actions)
    })
    .await;
    let usage = Piece::Usage(Usage::new(9, 4));
    assert_eq!((pieces, error), (vec![text(SAID), usage], None));
}

#[tokio::test]
async fn lines_of_ollama_are_a_completion() {
    let server = ScriptedServer::with_models(Some(models("library")), |body, _| {
        assert_eq!((&body["raw"], &body["prompt"]), (&json!(true), &json!("<|start|>assistant")));
        let lines = [
            json!({"response": "Grüße", "done": false}),
            json!({"response": " 😀", "done": false}),
            json!({"response": "", "done": true, "done_reason": "length"}),
        ];
        // Lines arrive cut anywhere, and the last one may have no end.
        let text = lines.map(|line| line.to_string()).join("\n\n");
        let actions =
            text.as_bytes().chunks(7).map(|part| ServerAction::Send(part.into())).collect();
        Answer { status: 200, content_type: "application/x-ndjson", actions }
    });
    let (pieces, error) = heard(server.url(), quick(), prompt()).await;
    let end = [Piece::CutOff("length".to_owned()), Piece::Usage(Usage::default())];
    assert_eq!(pieces[0], text("Grüße 😀"));
    assert_eq!((&pieces[1..], error), (&end[..], None));
}
