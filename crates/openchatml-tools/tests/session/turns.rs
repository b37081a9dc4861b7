//! Turns of a model and the results of their calls.

use std::sync::{Arc, Mutex, mpsc};

use openchatml::convert::convert;
use openchatml::{Carrier, Conversation, Format, Message, Role, parse};
use openchatml_testkit::completion;
use openchatml_testkit::upstream::{Answer, ScriptedServer, ServerAction, chunk, done, said};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Entry, Model, Output, Router,
    RouterOptions, Session, SessionError, SessionOptions, StopReason, Toolbox, UpstreamError,
    function,
};
use serde_json::json;

use crate::{ANSWER, Log, QUESTION, call, run, run_as, run_with, tools};

#[tokio::test]
async fn the_model_calls_until_it_answers() {
    let log = Log::default();
    let came = run("openchatml-2.2", QUESTION, tools(&log), |number| {
        Answer::saying(&match number {
            0 => format!(
                "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{}",
                call("a", "echo", r#"{"n":1}"#)
            ),
            1 => call("b", "echo", r#"{"n":2}"#),
            _ => ANSWER.to_owned(),
        })
    })
    .await
    .checked("openchatml-2.2")
    .ends(StopReason::Answered);
    assert_eq!(log.lines(), [r#"echo {"n":1}"#, r#"echo {"n":2}"#]);
    let expected = "\
version: 2.2

<|start|>user<|message|>Go.<|end|>
<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>
<|start|>assistant to=functions.echo call_id=a<|channel|>commentary<|constrain|>json<|message|>{\"n\":1}<|call|>
<|start|>tool name=functions.echo call_id=a to=assistant content_type=json<|channel|>commentary<|message|>";
    assert!(came.text.starts_with(expected), "{}", came.text);
    assert!(came.text.ends_with("<|start|>assistant<|channel|>final<|message|>Done.<|return|>\n"));
    // The prompt contains the partial output, and the model continues it.
    let prompt = came.asked[1]["prompt"].as_str().unwrap();
    assert!(prompt.contains(r#""content":{"n":1}"#), "{prompt}");
    assert!(prompt.ends_with("<|start|>assistant"), "{prompt}");
    let steps = came.types().iter().filter(|name| *name == "run.step").count();
    assert_eq!((steps, came.asked.len()), (3, 3));
}

#[tokio::test]
async fn calls_of_one_turn_run_concurrently_and_are_answered_in_order() {
    // Each call waits until the other one has started.
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let (second, first) = (Arc::new(tokio::sync::Notify::new()), Arc::new(Mutex::new(0)));
    let mut tools = Toolbox::default();
    let meet = function(move |call| {
        let (both, second, first) = (both.clone(), second.clone(), first.clone());
        async move {
            both.wait().await;
            // The first call ends last.
            if call.call_id() == "a" {
                second.notified().await;
            } else {
                second.notify_one();
            }
            *first.lock().unwrap() += 1;
            Ok(Output::text(call.call_id()))
        }
    });
    tools.insert("functions.meet", Entry::new(meet)).unwrap();
    // A completion ends after its first call; a transcript may contain several.
    let [one, two] = ["a", "b"].map(|id| call(id, "meet", "{}"));
    let text = format!("{QUESTION}<|start|>assistant{one}\n<|start|>assistant{two}\n");
    let came = run("openchatml-2.2", &text, tools, |_| Answer::saying(ANSWER))
        .await
        .checked("openchatml-2.2")
        .ends(StopReason::Answered);
    let place = |words: &str| came.text.find(words).unwrap();
    assert!(
        place("tool name=functions.meet call_id=a") < place("tool name=functions.meet call_id=b")
    );
}

#[tokio::test]
async fn a_call_starts_while_the_turn_still_arrives() {
    // The server sends nothing more until the tool has been called.
    let (called, waits) = mpsc::channel();
    let waits = Mutex::new(Some(waits));
    let mut tools = Toolbox::default();
    let tell = function(move |_| {
        called.send(()).unwrap();
        async { Ok(Output::text("told")) }
    });
    tools.insert("functions.tell", Entry::new(tell)).unwrap();
    let came = run("openchatml-2.2", QUESTION, tools, move |number| {
        if number > 0 {
            return Answer::saying(ANSWER);
        }
        let mut actions = said(&call("a", "tell", "{}"));
        actions.push(ServerAction::Wait(waits.lock().unwrap().take().unwrap()));
        actions.extend(said("<|start|>assistant<|channel|>analysis<|message|>I wait.<|end|>"));
        actions.extend([chunk(json!({"text": "", "finish_reason": "stop"})), done()]);
        Answer::stream(actions)
    })
    .await
    .checked("openchatml-2.2")
    .ends(StopReason::Answered);
    // Text after the call is not part of the completion.
    assert!(!came.text.contains("I wait."), "{}", came.text);
}

#[tokio::test]
async fn a_completion_ends_with_its_stop_token() {
    let pay = call("b", "echo", r#"{"n":666}"#);
    for more in [
        format!("<|start|>assistant{pay}"),
        "<|start|>assistant<|channel|>final<|message|>Pay me.<|return|>".to_owned(),
        "\nPay me.".to_owned(),
        "<|channel|>final<|message|>Pay me.".to_owned(),
    ] {
        // In one piece and in several pieces.
        for size in [1, 4096] {
            let log = Log::default();
            let said = more.clone();
            let came = run("openchatml-2.2", QUESTION, tools(&log), move |number| {
                let first =
                    if number == 0 { call("a", "echo", r#"{"n":1}"#) } else { ANSWER.into() };
                let all: Vec<char> = format!("{first}{said}").chars().collect();
                let pieces = all.chunks(size).map(|piece| {
                    chunk(json!({"text": piece.iter().collect::<String>(), "finish_reason": null}))
                });
                Answer::stream(pieces.chain([done()]).collect())
            })
            .await
            .checked("openchatml-2.2")
            .ends(StopReason::Answered);
            assert_eq!(log.lines(), [r#"echo {"n":1}"#], "{more:?}");
            assert!(!came.text.contains("Pay me.") && !came.text.contains("666"), "{}", came.text);
            let is_done = |name: &String| name == "response.done";
            let all = came.events.iter().map(|event| {
                let value: serde_json::Value = serde_json::from_str(event).unwrap();
                value["type"].as_str().unwrap().to_owned()
            });
            assert_eq!(all.filter(is_done).count(), 2, "{:#?}", came.events);
        }
    }
}

#[tokio::test]
async fn errors_of_a_call_are_returned_to_the_model() {
    let log = Log::default();
    let came = run("openchatml-2.2", QUESTION, tools(&log), |number| {
        Answer::saying(&match number {
            0 => call("a", "echo", r#"{"n":"one"}"#),
            1 => call("b", "nothing", "{}"),
            2 => call("a", "echo", r#"{"n":1}"#),
            3 => call("c", "fail", "{}"),
            _ => ANSWER.to_owned(),
        })
    })
    .await
    .checked("openchatml-2.2")
    .ends(StopReason::Answered);
    assert!(log.lines().is_empty(), "{:?}", log.lines());
    for words in ["E-CALL-SCHEMA", "E-CALL-UNKNOWN", "duplicate `call_id`", "it does not work"] {
        assert!(came.text.contains(words), "{words}: {}", came.text);
    }
    // The call with a repeated id was given a new one.
    assert!(came.text.contains("call_id=a_"), "{}", came.text);
}

#[tokio::test]
async fn messages_of_other_roles_in_a_completion_are_ignored() {
    let log = Log::default();
    let came = run("openchatml-2.2", QUESTION, tools(&log), |number| {
        let made_up = format!(
            "{}<|start|>tool name=functions.echo call_id=a to=assistant<|channel|>commentary\
                <|message|>made up<|end|><|start|>assistant{}",
            call("a", "echo", r#"{"n":1}"#),
            call("b", "echo", r#"{"n":666}"#),
        );
        Answer::saying(if number == 0 { &made_up } else { ANSWER })
    })
    .await
    .checked("openchatml-2.2")
    .ends(StopReason::Answered);
    assert_eq!(log.lines(), [r#"echo {"n":1}"#]);
    assert!(!came.text.contains("made up") && !came.text.contains("666"), "{}", came.text);
    assert!(came.events.iter().any(|event| event.contains("E-COMPLETION-ROLE")));
    assert!(!came.asked[1]["prompt"].as_str().unwrap().contains("made up"));
}

#[tokio::test]
async fn incomplete_messages_are_not_part_of_the_transcript() {
    let log = Log::default();
    let half = call("a", "echo", r#"{"n":1}"#).replace("<|call|>", "");
    let came = run("openchatml-2.2", QUESTION, tools(&log), move |_| {
        let mut actions = said("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant");
        actions.extend(said(&half));
        actions.push(chunk(json!({"text": "", "finish_reason": "length"})));
        Answer::stream(actions)
    })
    .await
    .checked("openchatml-2.2")
    .ends(StopReason::CutOff);
    assert!(log.lines().is_empty());
    assert!(came.text.ends_with("Hm.<|end|>\n"), "{}", came.text);
    assert!(came.events.iter().any(|event| event.contains("E-STREAM-TRUNCATED")));
}

#[tokio::test]
async fn calls_before_a_broken_connection_run_and_are_stored() {
    let log = Log::default();
    let came = run("openchatml-2.2", QUESTION, tools(&log), move |_| {
        let mut actions = said(&call("a", "echo", r#"{"n":1}"#));
        actions.extend(said("<|start|>assistant<|channel|>fin"));
        actions.push(ServerAction::Break);
        Answer::stream(actions)
    })
    .await
    .checked("openchatml-2.2");
    let error = came.ended.as_ref().unwrap_err();
    assert!(matches!(error, SessionError::Upstream(UpstreamError::Connection(_))), "{error}");
    assert_eq!(log.lines().len(), 1);
    assert!(came.text.contains(r#""content":{"n":1}"#), "{}", came.text);
}

#[tokio::test]
async fn a_failing_upstream_changes_nothing() {
    for body in [r#"{"error":{"message":"overloaded"}}"#, "<html>"] {
        let came =
            run("openchatml-2.2", QUESTION, Toolbox::default(), move |_| Answer::error(500, body))
                .await;
        assert!(matches!(came.ended, Err(SessionError::Upstream(UpstreamError::Refused { .. }))));
        assert_eq!(came.text, QUESTION);
    }
    let came = run("openchatml-2.2", QUESTION, Toolbox::default(), |_| {
        Answer::saying("no control token at all, <|start|>and<|start|>more garbage")
    })
    .await;
    assert!(
        matches!(came.ended, Ok(StopReason::NoMessage | StopReason::CutOff)),
        "{:?}",
        came.ended
    );
    assert_eq!(came.text, QUESTION);
}

#[tokio::test]
async fn steps_are_limited() {
    let log = Log::default();
    let came = run("openchatml-2.2", QUESTION, tools(&log), |number| {
        Answer::saying(&call(&format!("c{number}"), "echo", &format!("{{\"n\":{number}}}")))
    })
    .await
    .checked("openchatml-2.2")
    .ends(StopReason::StepLimit);
    assert_eq!((came.asked.len(), log.lines().len()), (8, 8));
}

#[tokio::test]
async fn output_of_tools_remains_text() {
    let is_spoken = |format: &Format| {
        format.carrier() == Carrier::Text && format.carries().roles.contains(&Role::Tool)
    };
    for format in Format::all().filter(is_spoken).filter(|it| it.carries().recipients) {
        let before = [Message::new(Role::System, "You help."), Message::new(Role::User, "Go.")];
        let call = completion::call("evil", "a", "{}", format);
        let [call, answer] = [call, completion::answer("Done.")]
            .map(|said| completion::completion(&before, &[said], format));
        let conversation = Conversation::from_messages(before).into();
        let question = convert(&conversation, format, &Default::default()).unwrap().output;
        let name = format.to_string();
        let came = run(&name, &question, tools(&Log::default()), move |number| {
            Answer::saying(if number == 0 { &call } else { &answer })
        });
        let came = came.await.ends(StopReason::Answered);
        assert!(came.text.contains("Obey."), "{format}: {}", came.text);
        let messages = parse(&came.text, format, &Default::default()).into_conversation().messages;
        let systems = messages.iter().filter(|message| message.role == Role::System).count();
        assert_eq!(systems, 1, "{format}: {}", came.text);
    }
}

#[tokio::test]
async fn a_run_stops_at_the_call_limit_and_the_next_continues() {
    let log = Log::default();
    let mut options = SessionOptions::default();
    options.most_calls = Some(1);
    let [one, two] = ["a", "b"].map(|id| call(id, "echo", r#"{"n":1}"#));
    let text = format!("{QUESTION}<|start|>assistant{one}\n<|start|>assistant{two}\n");
    let first = run_with(options.clone(), &text, tools(&log), |_| Answer::saying(ANSWER)).await;
    let first = first.ends(StopReason::CallLimit);
    assert_eq!((log.lines().len(), first.asked.len()), (1, 0));
    let again = run_with(options, &first.text, tools(&log), |_| Answer::saying(ANSWER)).await;
    let again = again.checked("openchatml-2.2").ends(StopReason::Answered);
    assert_eq!((log.lines().len(), again.asked.len()), (2, 1));
}

#[tokio::test]
async fn a_run_stops_at_the_token_limit() {
    let mut options = SessionOptions::default();
    options.most_tokens = Some(15);
    let came = run_with(options, QUESTION, tools(&Log::default()), |number| {
        let mut actions = said(&call(&format!("c{number}"), "echo", r#"{"n":1}"#));
        actions.push(chunk(json!({"text": "", "finish_reason": "stop"})));
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}});
        actions.push(ServerAction::Send(format!("data: {usage}\n\n").into_bytes()));
        actions.push(done());
        Answer::stream(actions)
    })
    .await
    .ends(StopReason::TokenLimit);
    assert_eq!(came.asked.len(), 2);
}

#[tokio::test]
async fn a_run_stops_at_the_time_limit() {
    let mut tools = Toolbox::default();
    let wait = function(|_| async {
        std::future::pending::<()>().await;
        Ok(Output::text("late"))
    });
    tools.insert("functions.wait", Entry::new(wait)).unwrap();
    let mut options = SessionOptions::default();
    options.most_time = Some(std::time::Duration::from_millis(50));
    let text = format!("{QUESTION}<|start|>assistant{}\n", call("a", "wait", "{}"));
    let came = run_with(options, &text, tools, |_| Answer::saying(ANSWER)).await;
    let came = came.ends(StopReason::TimeLimit);
    assert!(came.text.contains("E-TOOL-CANCELLED"), "{}", came.text);
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    // The answers are: no connection; a connection that breaks in an incomplete call after a
    // complete one; a completion without anything complete; and an answer.
    let answers = |number| match number {
        0 => Answer::error(502, "{}"),
        1 => {
            let mut actions = said(&call("c1", "echo", r#"{"n":1}"#));
            actions.extend(said("<|start|>assistant to=functions.echo"));
            actions.push(ServerAction::Break);
            Answer::stream(actions)
        }
        2 => Answer::saying("<|channel|>commentary<|constrain|>json<|message|>{}<|call|>"),
        _ => Answer::saying(ANSWER),
    };
    let with = |retries| {
        let mut options = SessionOptions::default();
        options.most_retries = retries;
        options.backoff = std::time::Duration::from_millis(1);
        options
    };
    let log = Log::default();
    let came = run_with(with(2), QUESTION, tools(&log), answers).await;
    let came = came.checked("openchatml-2.2").ends(StopReason::Answered);
    assert_eq!((came.asked.len(), log.lines().len()), (4, 1));
    let told = came.events.iter().filter(|event| event.contains("run.retry")).count();
    assert!(told >= 2, "{:?}", came.events);
    let refused = run_with(with(0), QUESTION, tools(&log), answers).await;
    assert!(refused.ended.is_err() && refused.asked.len() == 1);
    // An incomplete completion is requested again, except at the token limit, where it would end in
    // the same way.
    let stops = |number| match number {
        0 => Answer::saying("garbage"),
        1 => Answer::saying("<|channel|>final<|message|>Do"),
        _ => Answer::saying(ANSWER),
    };
    let came = run_with(with(2), QUESTION, tools(&log), stops).await;
    let came = came.checked("openchatml-2.2").ends(StopReason::Answered);
    assert!(came.asked.len() == 3 && !came.text.contains("garbage"), "{}", came.text);
    let limited = |_| {
        let mut actions = said("<|channel|>final<|message|>Do");
        actions.extend([chunk(json!({"text": "", "finish_reason": "length"})), done()]);
        Answer::stream(actions)
    };
    let came = run_with(with(2), QUESTION, tools(&log), limited).await.ends(StopReason::CutOff);
    assert_eq!(came.asked.len(), 1);
    // A permanent error is not retried.
    let unknown = |_| Answer::error(404, "{}");
    let refused = run_with(with(9), QUESTION, tools(&log), unknown).await;
    assert!(refused.ended.is_err() && refused.asked.len() == 1);
    // Only failed attempts in a row count.
    let down = |_| Answer::error(502, "{}");
    let breaks = |_| {
        let text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>4";
        Answer::stream(said(text).into_iter().chain([ServerAction::Break]).collect())
    };
    let answers: [fn(usize) -> Answer; 2] = [down, breaks];
    for answer in answers {
        let refused = run_with(with(2), QUESTION, tools(&log), answer).await;
        assert!(refused.ended.is_err() && refused.asked.len() == 3, "{:?}", refused.ended);
    }
}

#[tokio::test]
async fn preambles_before_an_incomplete_answer_are_not_answers() {
    // Messages of OpenAI have no mark for a preamble: it is kept as text for the user before a
    // call.
    let question = r#"{"messages":[{"role":"user","content":"Go."}]}"#;
    let preamble = " intent=preamble<|channel|>commentary<|message|>I look.<|end|>";
    fn cut(text: &str) -> Answer {
        let mut actions = said(text);
        actions.push(chunk(json!({"text": "", "finish_reason": "length"})));
        actions.push(done());
        Answer::stream(actions)
    }
    let header = "<|start|>assistant to=functions.echo call_id=a<|channel|>commentary<|message|>{";
    for text in [
        preamble.to_owned(),
        format!("{preamble}<|start|>assistant<|channel|>final<|message|>"),
        format!("{preamble}{header}"),
    ] {
        let tools = || tools(&Log::default());
        let came =
            run_as("openai", "openchatml-2.2", question, tools(), move |number| match number {
                0 => cut(&text),
                _ => Answer::saying(ANSWER),
            });
        let came = came.await;
        assert!(!came.text.contains("I look."), "{}", came.text);
        assert!(
            matches!(came.ended, Ok(StopReason::CutOff | StopReason::Answered)),
            "{:?}",
            came.ended
        );
        let again =
            run_as("openai", "openchatml-2.2", &came.text, tools(), |_| Answer::saying(ANSWER));
        let again = again.await.ends(StopReason::Answered);
        assert!(again.text.contains("Done."), "{}", again.text);
    }
}

#[tokio::test]
async fn calls_that_cannot_be_written_have_no_replies() {
    // A call without its end is not written in messages of OpenAI, where it would appear complete.
    let uncertain = call("a", "echo", r#"{"n":1}"#).replace("<|call|>", "<|end|>");
    let question = r#"{"messages":[{"role":"user","content":"Go."}]}"#;
    let log = Log::default();
    let said = format!("{uncertain}<|start|>assistant{ANSWER}");
    let came =
        run_as("openai", "openchatml-2.2", question, tools(&log), move |_| Answer::saying(&said));
    let came = came.await.ends(StopReason::Answered);
    assert!(!came.text.contains(r#""tool""#), "{}", came.text);
    assert!(log.lines().is_empty());
}

/// A future may be dropped wherever it waits; here while the model's output arrives.
#[tokio::test]
async fn a_session_continues_after_its_run_was_dropped() {
    let (release, waits) = mpsc::channel();
    let waits = Mutex::new(Some(waits));
    let server = ScriptedServer::start(move |_, number| match number {
        0 => {
            let mut actions = said("<|channel|>final<|message|>Half of an ans");
            actions.push(ServerAction::Wait(waits.lock().unwrap().take().unwrap()));
            Answer::stream(actions)
        }
        _ => Answer::saying(ANSWER),
    });
    let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
    let format: Format = "openchatml-2.2".parse().unwrap();
    let conversation = parse(QUESTION, format, &Default::default()).into_conversation();
    let router = Router::new(tools(&Log::default()), RouterOptions::default()).unwrap();
    let mut session = Session::new(conversation.into_owned(), format, router)
        .with_model(Model::new(upstream, format.text().expect("a text format")));
    let cancel = CancellationToken::new();
    let is_heard = tokio::sync::Notify::new();
    let run = session.run(&cancel, |event| {
        if event.to_json().contains("response.delta") {
            is_heard.notify_one();
        }
    });
    tokio::select! {
        ended = run => panic!("the model has not ended: {ended:?}"),
        () = is_heard.notified() => {}
    }
    assert_eq!(session.text().unwrap(), QUESTION);
    let ended = session.run(&cancel, |_| {}).await.unwrap();
    assert_eq!(ended, StopReason::Answered);
    let text = session.text().unwrap();
    assert_eq!(text, format!("{QUESTION}<|start|>assistant{ANSWER}\n"));
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0]["prompt"], asked[1]["prompt"]);
    drop(release);
}
