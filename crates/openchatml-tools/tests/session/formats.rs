//! Transcripts and prompts in different formats, as text and as ids.

use openchatml::convert::{Loss, Lost, convert};
use openchatml::declare::ToolPlace;
use openchatml::{Carrier, Conversation, Format, Message, ReadOptions, Role, TextFormat, parse};
use openchatml_testkit::completion;
use openchatml_testkit::upstream::{Answer, ScriptedServer, chunk, done, models};
use openchatml_tokens::{ByteEncoding, Encoding as _, Tokenizer};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Model, Router, RouterOptions, Session,
    StopReason, TranscriptStore,
};
use serde_json::json;

use crate::{ANSWER, Log, QUESTION, call, run, run_as, tools};

#[tokio::test]
async fn calls_without_ids_find_their_replies() {
    let one = |n: u8| {
        format!(
            "<|start|>assistant to=functions.echo<|channel|>commentary <|constrain|>json<|message|>{{\"n\":{n}}}<|call|>"
        )
    };
    let log = Log::default();
    let text = format!("<|start|>user<|message|>Go.<|end|>{}{}", one(1), one(2));
    let came = run("harmony", &text, tools(&log), |_| Answer::saying(ANSWER))
        .await
        .checked("harmony")
        .ends(StopReason::Answered);
    assert_eq!(log.lines().len(), 2);
    let first = came.text.find(r#""content":{"n":1}"#).unwrap();
    assert!(first < came.text.find(r#""content":{"n":2}"#).unwrap());
    assert!(came.text.contains("<|start|>functions.echo to=assistant<|channel|>commentary"));
}

#[tokio::test]
async fn a_transcript_of_a_service_is_continued() {
    let text = r#"{"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":null,
        "tool_calls":[{"id":"x","type":"function","function":{"name":"echo","arguments":"{\"n\":1}"}}]}]}"#;
    let log = Log::default();
    let came = run_as("openai", "openchatml-2.2", text, tools(&log), |number| {
        Answer::saying(&if number == 0 {
            call("y", "echo", r#"{"n":2}"#)
        } else {
            ANSWER.to_owned()
        })
    })
    .await
    .ends(StopReason::Answered);
    assert_eq!(log.lines(), [r#"echo {"n":1}"#, r#"echo {"n":2}"#]);
    let json: serde_json::Value = serde_json::from_str(&came.text).unwrap();
    let messages = json["messages"].as_array().or(json.as_array()).unwrap();
    let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool", "assistant"]);
    assert_eq!(messages[2]["tool_call_id"], json!("x"));
    assert_eq!(messages[5]["content"], json!("Done."));
}

#[tokio::test]
async fn a_session_without_a_model_runs_open_calls() {
    let log = Log::default();
    let text = format!(
        "{QUESTION}<|start|>assistant{}\n<|start|>assistant{}\n",
        call("a", "echo", r#"{"n":1}"#),
        call("b", "echo", r#"{"n":2}"#),
    );
    let format: Format = "openchatml-2.2".parse().unwrap();
    let conversation = parse(&text, format, &ReadOptions::default()).into_conversation();
    let router = Router::new(tools(&log), RouterOptions::default()).unwrap();
    let mut session = Session::new(conversation.into_owned(), format, router);
    for _ in 0..2 {
        let ended = session.run(&CancellationToken::new(), |_| {}).await.unwrap();
        assert_eq!((ended, log.lines().len()), (StopReason::Replied, 2));
    }
    let written = session.text().unwrap();
    // The existing text is unchanged.
    assert!(written.starts_with(&text), "{written}");
    assert!(parse(&written, format, &ReadOptions::default()).diagnostics.is_empty());
}

#[tokio::test]
async fn with_ids_spelled_control_tokens_are_text() {
    let format: Format = "harmony".parse().unwrap();
    let tokenizer = Tokenizer::new(format.text().expect("a text format"), ByteEncoding::default());
    let ids = |parts: &[&str]| {
        let mut ids = Vec::new();
        for part in parts {
            match tokenizer.encoding().control(part) {
                Some(id) => ids.push(id),
                None => tokenizer.encoding().encode(part, &mut ids),
            }
        }
        ids
    };
    let said = ids(&["<|channel|>", "final", "<|message|>", "4 <|return|", ">!", "<|return|>"]);
    let server = ScriptedServer::with_models(Some(models("vllm")), move |_, _| {
        let actions = said
            .iter()
            .map(|id| chunk(json!({"text": "?", "token_ids": [id], "finish_reason": null})));
        Answer::stream(actions.chain([done()]).collect())
    });
    let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
    let model = Model::new(upstream, format.text().expect("a text format"))
        .with_encoding(ByteEncoding::default());
    // As text, this could not be written as a prompt.
    let user = Message::new(Role::User, "Say `<|return|>`.");
    let conversation = Conversation::from_messages([user]);
    let router = Router::new(tools(&Log::default()), RouterOptions::default()).unwrap();
    let mut session = Session::new(conversation, Format::JSON, router).with_model(model);
    let ended = session.run(&CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(ended, StopReason::Answered);
    let answer = session.conversation().messages.last().unwrap();
    assert_eq!(answer.body.text(), "4 <|return|>!");
    let asked = server.asked();
    let prompt = ids(&[
        "<|start|>",
        "user",
        "<|message|>",
        "Say `<|return|",
        ">`.",
        "<|end|>",
        "<|start|>",
        "assistant",
    ]);
    assert_eq!(asked[0]["prompt"], json!(prompt));
    assert_eq!(asked[0]["return_token_ids"], json!(true));
    assert_eq!(asked[0]["stop_token_ids"], json!(ids(&["<|return|>", "<|call|>"])));
}

#[tokio::test]
async fn tools_are_declared_to_the_model() {
    let server = ScriptedServer::start(|_, _| Answer::saying(ANSWER));
    let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
    let format: Format = "openchatml-2.2".parse().unwrap();
    let tools = tools(&Log::default());
    let router = Router::new(tools.clone(), RouterOptions::default()).unwrap();
    let conversation = parse(QUESTION, format, &ReadOptions::default()).into_conversation();
    let mut session = Session::new(conversation.into_owned(), format, router.clone())
        .with_model(Model::new(upstream, format.text().expect("a text format")))
        .declare(&tools);
    session.run(&CancellationToken::new(), |_| {}).await.unwrap();
    let prompt = server.asked()[0]["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("<|start|>developer<|message|># Tools"), "{prompt}");
    assert!(
        prompt.contains("type echo = (_: {\n  n: number,\n}) => any;")
            || prompt.contains("type echo = (_: {\nn: number,\n}) => any;"),
        "{prompt}"
    );
    // The tools are declared once.
    let text = session.text().unwrap();
    let conversation = parse(&text, format, &ReadOptions::default()).into_conversation();
    let mut again = Session::new(conversation.into_owned(), format, router).declare(&tools);
    assert_eq!(again.text().unwrap(), text);
}

/// An Apertus transcript that declares that there are no tools was written before the tools were
/// added.
#[tokio::test]
async fn apertus_declares_tools_in_its_section() {
    let begin = "<s><|system_start|>You help.<|system_end|>";
    let end = "<|user_start|>Go.<|user_end|>";
    let section = |thinking: &str| {
        format!(
            "<|developer_start|>Deliberation: {thinking}\nTool Capabilities: disabled<|developer_end|>"
        )
    };
    for (section, thinking) in [
        (String::new(), "disabled"),
        (section("disabled"), "disabled"),
        (section("enabled"), "enabled"),
    ] {
        let server = ScriptedServer::start(|_, _| Answer::saying("Done.<|assistant_end|>"));
        let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
        let format: Format = "apertus".parse().unwrap();
        let mut tools = openchatml_tools::Toolbox::default();
        let look = openchatml_tools::function(|_| async { Ok(openchatml_tools::Output::text("")) });
        let mut entry = openchatml_tools::Entry::new(look);
        entry.description = Some("Looks.".to_owned());
        tools.insert("functions.look", entry).unwrap();
        let router = Router::new(tools.clone(), RouterOptions::default()).unwrap();
        let text = format!("{begin}{section}{end}");
        let conversation = parse(&text, format, &ReadOptions::default()).into_conversation();
        let mut session = Session::new(conversation.into_owned(), format, router.clone())
            .with_model(Model::new(upstream, format.text().expect("a text format")))
            .declare(&tools);
        session.run(&CancellationToken::new(), |_| {}).await.unwrap();
        let prompt = server.asked()[0]["prompt"].as_str().unwrap().to_owned();
        let told = format!(
            "{begin}<|developer_start|>Deliberation: {thinking}\nTool Capabilities:\n// Looks.\ntype look = () => any;<|developer_end|>"
        );
        assert!(prompt.starts_with(&told), "{prompt}");
        // The tools are declared once.
        let text = session.text().unwrap();
        assert!(text.starts_with(&told), "{text}");
        let conversation = parse(&text, format, &ReadOptions::default()).into_conversation();
        let mut again = Session::new(conversation.into_owned(), format, router).declare(&tools);
        assert_eq!(again.text().unwrap(), text);
    }
}

/// The prompt declares the tools whatever the format of the transcript is.
#[tokio::test]
async fn prompts_declare_tools_as_text_if_necessary() {
    let has_text_only = |format: &Format| {
        let is_said = format.dialect().tools != ToolPlace::Conversation;
        is_said && !format.carries().declared_tools && format.carrier() == Carrier::Text
    };
    for prompts in Format::all().filter(has_text_only) {
        let mut told = Vec::new();
        for transcript in [Format::JSON, "openai".parse().unwrap(), prompts] {
            let server = ScriptedServer::start(|_, _| Answer::saying("Done."));
            let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
            let tools = tools(&Log::default());
            let router = Router::new(tools.clone(), RouterOptions::default()).unwrap();
            let user = Message::new(Role::User, "Go.");
            let conversation = Conversation::from_messages([user]);
            let mut session = Session::new(conversation, transcript, router)
                .with_model(Model::new(upstream, prompts.text().expect("a text format")))
                .declare(&tools);
            drop(session.run(&CancellationToken::new(), |_| {}).await);
            let is_told = |loss: &Loss| loss.lost == Lost::ToolsAsText;
            assert!(session.prompt_losses().iter().all(is_told), "{:?}", session.prompt_losses());
            told.push(server.asked()[0]["prompt"].as_str().unwrap().to_owned());
        }
        assert!(told[0].contains("echo"), "{}", told[0]);
        assert!(told.iter().all(|it| *it == told[0]), "{told:#?}");
    }
}

/// A model may write headers and words in unusual ids. The server receives the sampled ids again,
/// whatever the transcript can represent of them.
#[tokio::test]
async fn sampled_ids_are_sent_again() {
    let mut tried = 0;
    for transcript in Format::all().filter(|format| keeps_turns(*format)) {
        sampled_again(transcript).await;
        tried += 1;
    }
    assert!(tried >= 7, "{tried} formats");
}

/// Whether a transcript in this format has exactly the messages of such a session.
fn keeps_turns(format: Format) -> bool {
    let mut preamble = Message::answer("Hm.");
    preamble.channel = Some(openchatml::Channel::Commentary);
    let said = [
        Message::new(Role::System, "You help."),
        Message::new(Role::User, "Go."),
        preamble,
        Message::reasoning("Hm."),
        completion::call("echo", "a", "{}", format),
        Message::answer("Done."),
    ];
    let document = Conversation::from_messages(said.clone()).into();
    let converted = convert(&document, format, &Default::default()).unwrap();
    let read = parse(&converted.output, format, &ReadOptions::default()).into_conversation();
    // Some formats fix the order of the parts of a turn.
    let told = |messages: &[Message<'_>]| {
        let of = |it: &Message<'_>| (it.role.as_str(), it.body.text().into_owned());
        let mut told: Vec<_> = messages.iter().map(of).collect();
        told.sort_unstable();
        told
    };
    told(&read.messages) == told(&said)
}

/// The ids of texts and of control tokens.
fn ids(parts: &[&str]) -> Vec<u32> {
    let encoding = ByteEncoding::default();
    let tokenizer = Tokenizer::new(TextFormat::HARMONY, encoding);
    let mut ids = Vec::new();
    for part in parts {
        match tokenizer.encoding().control(part) {
            Some(id) => ids.push(id),
            None => tokenizer.encoding().encode(part, &mut ids),
        }
    }
    ids
}

async fn sampled_again(transcript: Format) {
    let format: Format = "harmony".parse().unwrap();
    let call = |n: &str| {
        let parts = ["<|channel|>", "commentary to=functions.echo ", "<|constrain|>", "json"];
        let body = format!("{{\"n\": {n}}}");
        ids(&[&parts[..], &["<|message|>", &body, "<|call|>"]].concat())
    };
    let said = |channel: &str| ids(&["<|channel|>", channel, "<|message|>", "Hm.", "<|end|>"]);
    let start = || ids(&["<|start|>", "assistant"]);
    // A preamble, followed by reasoning.
    let second = [said("commentary"), start(), said("analysis"), start(), call("2")].concat();
    let first = [said("analysis"), start(), call("1")].concat();
    let answer = ids(&["<|channel|>", "final", "<|message|>", "Done.", "<|return|>"]);
    let turns = [first.clone(), second, answer];
    let told = turns.clone();
    let server = ScriptedServer::with_models(Some(models("vllm")), move |_, number| {
        let piece = json!({"text": "?", "token_ids": told[number], "finish_reason": "stop"});
        Answer::stream(vec![chunk(piece), done()])
    });
    let upstream = Completions::new(server.url(), CompletionsOptions::default()).unwrap();
    let model = Model::new(upstream, format.text().expect("a text format"))
        .with_encoding(ByteEncoding::default());
    let [system, user] = [(Role::System, "You help."), (Role::User, "Go.")]
        .map(|(role, text)| Message::new(role, text));
    let conversation = Conversation::from_messages([system, user]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat");
    let text = convert(&conversation.clone().into(), transcript, &Default::default());
    std::fs::write(&path, text.unwrap().output).unwrap();
    let store = TranscriptStore::open(&path).unwrap();
    let tools = store.record_calls(&tools(&Log::default()));
    let router = Router::new(tools, RouterOptions::default()).unwrap();
    let mut session =
        Session::new(conversation, transcript, router).with_model(model).with_store(store);
    let mut shared = Vec::new();
    let cancel = CancellationToken::new();
    let ended = session.run(&cancel, |event| {
        if let openchatml_tools::SessionEvent::Prompt { shared: ids, .. } = event {
            shared.push(ids);
        }
    });
    assert_eq!(ended.await.unwrap(), StopReason::Answered);
    let prompts: Vec<Vec<u32>> = server
        .asked()
        .iter()
        .map(|asked| serde_json::from_value(asked["prompt"].clone()).unwrap())
        .collect();
    for (number, pair) in prompts.windows(2).enumerate() {
        let before = [pair[0].as_slice(), &turns[number]].concat();
        assert!(pair[1].starts_with(&before), "{transcript} {number}: {before:?} {:?}", pair[1]);
        assert_eq!(shared[number + 1], before.len());
    }
    assert_eq!(shared[0], 0);
}

/// Where a token that ends reasoning is misplaced, the model may only have thought of a call.
#[tokio::test]
async fn calls_that_may_be_thoughts_do_not_run() {
    const CALL: &str = "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"n\": 1}}\n</tool_call>";
    let text = "<|im_start|>user\nGo.<|im_end|>\n";
    for (completion, runs) in [
        (format!("{CALL}<|im_end|>"), true),
        (format!("<think>\nHm.\n</think>\n\n{CALL}<|im_end|>"), true),
        (format!("I could {CALL}\n</think>\n\nNo.<|im_end|>"), false),
        (format!("{CALL}\n</think>\n\nNo.<|im_end|>"), false),
        (format!("Never write `{CALL}`.<|im_end|>"), false),
        (format!("Never write:\n```\n{CALL}\n```<|im_end|>"), false),
        (format!("I write `this`:\n{CALL}<|im_end|>"), true),
        (format!("I could.\n</think>\n\n{CALL}<|im_end|>"), true),
        (format!("<think>\n{CALL}\n</think>\n\nNo.<|im_end|>"), false),
        (format!("<think>\na <think>b</think>\n\n{CALL}\n</think>\n\nNo.<|im_end|>"), false),
    ] {
        let log = Log::default();
        let first = completion.clone();
        let came = run("qwen3", text, tools(&log), move |number| {
            Answer::saying(if number == 0 { &first } else { "Done.<|im_end|>" })
        })
        .await;
        assert_eq!(log.lines().len(), usize::from(runs), "{completion}\n{}", came.text);
        // Without a call, an answer or nothing is left.
        let is_over = matches!(came.ended, Ok(StopReason::Answered | StopReason::NoMessage));
        assert!(is_over, "{completion}: {:?}", came.ended);
    }
}

/// What a later token shows to be reasoning is not part of the answer, and what follows it is.
#[tokio::test]
async fn texts_and_calls_before_an_end_of_reasoning_are_not_stored() {
    let call = |n: usize| {
        format!("<tool_call>\n{{\"name\": \"echo\", \"arguments\": {{\"n\": {n}}}}}\n</tool_call>")
    };
    let text = "<|im_start|>user\nGo.<|im_end|>\n";
    let first =
        format!("I could\n{}\nor not.\n</think>\n\nI look.\n{}<|im_end|>", call(1), call(2));
    let log = Log::default();
    let came = run("qwen3", text, tools(&log), move |number| {
        Answer::saying(if number == 0 { &first } else { "Done.<|im_end|>" })
    })
    .await
    .ends(StopReason::Answered);
    assert_eq!(log.lines().len(), 1);
    let stored = "<|im_start|>assistant\nI look.\n<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"n\": 2}}\n</tool_call><|im_end|>\n";
    assert!(came.text.contains(stored), "{}", came.text);
    let is_clean = !came.text.contains("I could") && !came.text.contains("or not");
    assert!(is_clean, "{}", came.text);
}

/// An answer that shows how calls are written is stored as it is.
#[tokio::test]
async fn quoted_calls_are_part_of_the_answer() {
    let text = "<|im_start|>user\nHow?<|im_end|>\n";
    let answer = "Write `<tool_call>`, as here:\n```\n<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"n\": 1}}\n</tool_call>\n```<|im_end|>";
    let log = Log::default();
    let came = run("qwen3", text, tools(&log), move |_| Answer::saying(answer)).await;
    let came = came.ends(StopReason::Answered);
    assert_eq!(log.lines().len(), 0);
    assert!(came.text.ends_with(&format!("assistant\n{answer}\n")), "{}", came.text);
}

#[tokio::test]
async fn a_model_that_writes_on_after_its_call_gets_the_reply() {
    let text = "<|im_start|>user\nGo.<|im_end|>\n";
    let first = "I look.\n<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"n\": 1}}\n</tool_call>\n\
        Please wait.<|im_end|>";
    let log = Log::default();
    let came = run("qwen3", text, tools(&log), move |number| {
        Answer::saying(if number == 0 { first } else { "Done.<|im_end|>" })
    })
    .await
    .ends(StopReason::Answered);
    assert_eq!(log.lines().len(), 1);
    assert_eq!(came.asked.len(), 2);
    assert!(came.text.ends_with("Done.<|im_end|>\n"), "{}", came.text);
}
