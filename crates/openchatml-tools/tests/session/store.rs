//! Sessions with a transcript in a file, which may end at any point.

use std::path::Path;

use openchatml::{Format, ReadOptions, parse};
use openchatml_testkit::upstream::{Answer, ScriptedServer, ServerAction, said};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Entry, Model, Output, Router,
    RouterOptions, Session, SessionError, StopReason, Toolbox, TranscriptStore, function,
};

use crate::{ANSWER, Log, QUESTION, call, tools};

/// A session with the transcript at this path.
fn session(path: &Path, tools: &Toolbox, url: Option<&str>) -> Session {
    let store = TranscriptStore::open(path).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let format: Format = "openchatml-2.2".parse().unwrap();
    let conversation = parse(&text, format, &ReadOptions::default()).into_conversation();
    let router = Router::new(store.record_calls(tools), RouterOptions::default()).unwrap();
    let session = Session::new(conversation.into_owned(), format, router).with_store(store);
    let Some(url) = url else { return session };
    let upstream = Completions::new(url, CompletionsOptions::default()).unwrap();
    session.with_model(Model::new(upstream, format.text().expect("a text format")))
}

fn transcript(folder: &Path, text: &str) -> std::path::PathBuf {
    let path = folder.join("chat.ocml");
    std::fs::write(&path, text).unwrap();
    path
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn the_transcript_is_complete_and_no_other_file_remains() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript(folder.path(), QUESTION);
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(&if number == 0 {
            call("a", "echo", r#"{"n":1}"#)
        } else {
            ANSWER.to_owned()
        })
    });
    let log = Log::default();
    let mut session = session(&path, &tools(&log), Some(server.url()));
    let ended = session.run(&CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(ended, StopReason::Answered);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), session.text().unwrap());
    drop(session);
    assert_eq!(names(folder.path()), ["chat.ocml"]);
}

#[tokio::test]
async fn a_call_is_stored_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript(folder.path(), QUESTION);
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(&if number == 0 { call("a", "look", "{}") } else { ANSWER.to_owned() })
    });
    let mut tools = Toolbox::default();
    let own = path.clone();
    let look = function(move |_| {
        let text = std::fs::read_to_string(&own).unwrap();
        let journal = own.with_file_name(".chat.ocml.ocml-journal");
        let journal = std::fs::read_to_string(journal).unwrap();
        async move { Ok(Output::text(format!("{} {}", text.contains("call_id=a"), journal.len() > 1))) }
    });
    tools.insert("functions.look", Entry::new(look)).unwrap();
    let mut session = session(&path, &tools, Some(server.url()));
    session.run(&CancellationToken::new(), |_| {}).await.unwrap();
    assert!(session.text().unwrap().contains(r#""content":"true true""#));
}

/// Simulates a crash: runs a session with two calls, and drops it as soon as one call is done while
/// the other one runs.
async fn crash(mut session: Session, log: &Log) {
    let cancel = CancellationToken::new();
    let (done, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let run = session.run(&cancel, move |event| {
        let _ = done.send(event.name());
    });
    let both = async {
        let mut seen = Vec::new();
        while let Some(name) = hears.recv().await {
            seen.push(name);
            let starts = seen.iter().filter(|name| **name == "tool.start").count();
            if seen.contains(&"tool.done") && starts == 2 {
                break;
            }
            tokio::task::yield_now().await;
        }
        while log.lines().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = run => panic!("it hangs"),
        () = both => {}
    }
}

/// The reply to a call whose session was dropped while it ran.
async fn gone(is_idempotent: bool) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{QUESTION}<|start|>assistant{}\n<|start|>assistant{}\n",
        call("a", "echo", r#"{"n":1}"#),
        call("b", "hang", "{}"),
    );
    let path = transcript(folder.path(), &text);
    let log = Log::default();
    let box_of = |hangs: bool| {
        let mut tools = tools(&log);
        let log = log.clone();
        let hang = function(move |_| {
            log.note("hang".to_owned());
            async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok(Output::text("done"))
            }
        });
        let mut entry = Entry::new(hang);
        entry.is_idempotent = is_idempotent;
        tools.insert("functions.hang", entry).unwrap();
        tools
    };
    crash(session(&path, &box_of(true), None), &log).await;
    // The tasks of the calls were told to stop, but may still run.
    let mut second = loop {
        match TranscriptStore::open(&path) {
            Ok(store) => {
                drop(store);
                break session(&path, &box_of(false), None);
            }
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let ended = second.run(&CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(ended, StopReason::Replied);
    (log.lines(), std::fs::read_to_string(&path).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_started_before_a_crash_does_not_run_again() {
    let (calls, text) = gone(false).await;
    assert_eq!(calls.iter().filter(|call| *call == "hang").count(), 1);
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(text.contains("E-TOOL-FAILED") && text.contains("the call may have run"));
    // The recorded reply is used.
    assert!(text.contains(r#""content":{"n":1}"#), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotent_call_runs_again_after_a_crash() {
    let (calls, text) = gone(true).await;
    assert_eq!(calls.iter().filter(|call| *call == "hang").count(), 2);
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(text.contains(r#""content":"done""#), "{text}");
}

#[tokio::test]
async fn replies_of_a_cancelled_session_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript(folder.path(), QUESTION);
    let (never, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(Some(waits));
    let server = ScriptedServer::start(move |_, _| {
        let mut actions = said(&call("a", "hang", "{}"));
        actions.push(ServerAction::Wait(waits.lock().unwrap().take().unwrap()));
        Answer::stream(actions)
    });
    let mut tools = Toolbox::default();
    let cancel = CancellationToken::new();
    let own = cancel.clone();
    let hang = function(move |_| {
        own.cancel();
        std::future::pending()
    });
    tools.insert("functions.hang", Entry::new(hang)).unwrap();
    let mut session = session(&path, &tools, Some(server.url()));
    let mut events = Vec::new();
    let ended = session.run(&cancel, |event| events.push(event.name())).await.unwrap();
    assert_eq!(ended, StopReason::Cancelled);
    assert!(events.contains(&"tool.cancel") && events.contains(&"response.cancel"), "{events:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("E-TOOL-CANCELLED"), "{text}");
    let format = "openchatml-2.2".parse().unwrap();
    assert!(parse(&text, format, &ReadOptions::default()).diagnostics.is_empty());
    drop(never);
}

#[tokio::test]
async fn a_transcript_that_cannot_be_written_stops_the_session_before_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{QUESTION}<|start|>assistant{}\n", call("a", "echo", r#"{"n":1}"#));
    let path = transcript(folder.path(), &text);
    let log = Log::default();
    let mut session = session(&path, &tools(&log), None);
    // A folder is at the path of the temporary file.
    std::fs::create_dir(folder.path().join(".chat.ocml.ocml-draft")).unwrap();
    let ended = session.run(&CancellationToken::new(), |_| {}).await;
    assert!(matches!(ended, Err(SessionError::Io(_))), "{ended:?}");
    assert!(log.lines().is_empty());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
