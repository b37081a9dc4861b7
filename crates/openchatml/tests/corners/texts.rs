//! Readers and writers of text: what is told, and what edited conversations become.

use openchatml::lex::Tape;
use openchatml::{
    Code, Control, Conversation, Diagnostic, Document, Event, Format, Message, ReadOptions,
    RenderOptions, Role, Stream, TextFormat, parse, parse_tape, render,
};

/// The first diagnostic of a text.
fn first(text: &str, format: &str) -> Diagnostic {
    let format: Format = format.parse().expect("a format");
    parse(text, format, &Default::default()).diagnostics.swap_remove(0)
}

/// The help of the first diagnostic of a text.
fn first_help(text: &str, format: &str) -> String {
    first(text, format).help.unwrap_or_default()
}

/// The form of a call in the help of a malformed call.
#[test]
fn the_help_for_a_malformed_call_shows_its_form() {
    let text = "<|im_start|>assistant\n<tool_call>\nnow()\n</tool_call><|im_end|>\n";
    let help = first_help(text, "qwen3");
    assert!(help.contains("`{\"name\": \"NAME\", \"arguments\": {…}}`"), "{help}");
    let text = "<｜Assistant｜></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜><｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>";
    let help = first_help(text, "deepseek-v3.1");
    assert!(help.contains("`NAME<｜tool▁sep｜>{…}`"), "{help}");
}

/// The message of an incomplete call, and of a call without its end token.
#[test]
fn a_call_that_is_cut_off_is_told_from_one_without_an_end_token() {
    let message = |rest: &str| {
        let text = format!("<|im_start|>assistant\n<tool_call>\n{{\"name\": \"f\"{rest}");
        first(&text, "qwen3").message
    };
    assert_eq!(message("\n</tool_call><|im_end|>\n"), "the call is incomplete");
    assert_eq!(message("\n<tool_call><|im_end|>\n"), "the call has no end token");
}

/// What ends a message of the `<|im_start|>` framing without its stop token.
#[test]
fn the_token_that_ends_a_message_is_told() {
    let message = |rest: &str| {
        let text = format!("<s>\n<|im_start|>user\nHi.\n{rest}");
        first(&text, "openchatml-0.1").message
    };
    let next = message("<|im_start|>user\nHi.\n<|im_end|>\n</s>\n");
    assert_eq!(next, "the message has no stop token before the next message begins");
    assert_eq!(message("</s>\n"), "the message has no stop token before the end of the sequence");
}

// (needs: use openchatml::{Format, Message, RenderOptions, Role, parse, render};)

/// A message that the reader does not find again.
#[test]
fn a_system_message_of_white_space_is_not_written() {
    let read = parse("<｜begin▁of▁sentence｜>", Format::DEEPSEEK_V3_1, &Default::default());
    let mut conversation = read.into_conversation();
    conversation.messages.push(Message::new(Role::System, " "));
    let written = render(&conversation.into(), Format::DEEPSEEK_V3_1, &RenderOptions::default());
    assert!(written.is_err(), "{written:?}");
}

/// A message whose header is read back with a difference.
#[test]
fn a_reply_with_another_name_than_its_call_is_not_written() {
    let text = "<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\
        <|im_end|>\n<|im_start|>user\n<tool_response>\n1\n</tool_response><|im_end|>\n";
    let read = parse(text, Format::QWEN3, &Default::default());
    let mut conversation = read.into_conversation();
    conversation.messages[1].name = Some("functions.g".into());
    let written = render(&conversation.into(), Format::QWEN3, &RenderOptions::default());
    assert!(written.is_err(), "{written:?}");
}

/// The roles in the help of an unknown role.
#[test]
fn the_help_for_an_unknown_role_names_the_roles() {
    let text = "<|im_start|>xyzzy\nHi.<|im_end|>\n";
    let help = first_help(text, "qwen3");
    assert!(help.contains("valid roles: system, user, assistant, tool"), "{help}");
}

/// The message for white space that is not allowed, and for too much of it.
#[test]
fn white_space_in_headers_is_told_by_its_place() {
    let message = |header: &str| {
        let text = format!("<|im_start|>{header}\nHi.<|im_end|>\n");
        first(&text, "chatml").message
    };
    assert_eq!(message(" user"), "white space is not allowed here in a header");
    let between = message("user  name=a");
    assert_eq!(between, "words in a header must be separated by one space");
}

/// The help for tokens of reasoning in content depends on their place.
#[test]
fn the_help_for_reasoning_in_content_depends_on_its_place() {
    let help = |text: &str| {
        let conversation =
            openchatml::Conversation::from_messages([Message::answer(text.to_owned())]);
        let document = conversation.clone().into();
        let refused = render(&document, Format::QWEN3, &RenderOptions::default()).unwrap_err();
        refused.to_diagnostic(&conversation).help.unwrap_or_default()
    };
    for text in ["<think>a</think>b", "a</think>b"] {
        assert!(help(text).contains("split_reasoning"), "{text}");
    }
    let within = help("a <think> b");
    assert!(
        within.contains("reasoning_content") && !within.contains("split_reasoning"),
        "{within}"
    );
    assert!(!help("a<|im_end|>b").contains("reasoning"));
}

/// What happens with a token out of place, before and after the end of a completion.
#[test]
fn the_help_for_a_stray_token_says_whether_the_completion_is_over() {
    let text = "<|channel|>analysis<|message|>t<|end|><|channel|>final<|message|>Hi<|return|>\
                <|channel|>final<|message|>X<|return|>";
    let format = "harmony".parse().expect("a format");
    let found = parse(text, format, &ReadOptions::completion()).diagnostics;
    let help: Vec<_> = found.iter().map(|it| it.help.as_deref().unwrap_or_default()).collect();
    assert_eq!(help[0], "it is read as the start of another message of the assistant");
    assert_eq!(help[1], "the message is hidden and is not part of the conversation");
}

/// Why a completion can have no stop token.
#[test]
fn the_help_for_a_truncated_completion_names_the_option_of_the_server() {
    let text = "<|channel|>final<|message|>Hi";
    let format = "harmony".parse().expect("a format");
    let found = parse(text, format, &ReadOptions::completion()).diagnostics;
    let help = found[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("include_stop_str_in_output"), "{help}");
}

/// How a list of calls ends.
#[test]
fn a_list_that_ends_inside_a_call_is_told_from_one_without_an_end_token() {
    let message = |rest: &str| {
        let text = format!(
            "<s><|user_start|>q<|user_end|><|assistant_start|><|tools_prefix|>[{{\"f\": {{}}{rest}"
        );
        first(&text, "apertus").message
    };
    assert_eq!(message("<|tools_suffix|>"), "the list of calls ends inside a call");
    assert_eq!(message("}]<|assistant_end|>"), "the list of calls has no end token");
}

#[test]
fn content_that_is_read_differently_is_refused_where_the_reader_differs() {
    let format = "deepseek-v3.1".parse().expect("a format");
    let system = Message::new(Role::System, "<｜tool▁sep｜>\u{c}<|\n<｜U");
    let document = Conversation::from_messages([system]).into();
    let error = render(&document, format, &RenderOptions::default()).unwrap_err();
    assert_eq!((error.message, error.span.start), (Some(0), "<｜tool▁sep｜>".len()));
}

/// A prompt can only be the last message, and is empty.
#[test]
fn a_prompt_of_apertus_is_last_and_empty() {
    let format = "apertus".parse().expect("a format");
    let text = "<s><|user_start|>q<|user_end|><|assistant_start|>";
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let prompt = parse(text, format, &options).into_conversation();
    let refused = |conversation| {
        let document = Document::from(conversation);
        let error = render(&document, format, &RenderOptions::default()).unwrap_err();
        (error.code, error.message)
    };
    let mut followed = prompt.clone();
    followed.messages.push(Message::new(Role::User, "r"));
    assert_eq!(refused(followed), (Code::RenderUnsupported, Some(1)));
    let mut said = prompt;
    said.messages[1].body = "a".into();
    assert_eq!(refused(said), (Code::RenderUnsupported, Some(1)));
}

/// All replies of a list are checked, not only the last one.
#[test]
fn a_list_with_a_reply_that_ends_it_is_refused() {
    let format = "apertus".parse().expect("a format");
    let text = "<s><|user_start|>q<|user_end|><|assistant_start|><|tools_prefix|>\
                [{\"f\": {}}, {\"g\": {}}]<|tools_suffix|>[1, 2]";
    let mut conversation = parse(text, format, &Default::default()).into_conversation();
    conversation.messages[3].body = "a]".into();
    let document = Document::from(conversation);
    let error = render(&document, format, &RenderOptions::default()).unwrap_err();
    assert_eq!((error.code, error.message), (Code::RenderControl, Some(4)));
}

/// An answer that has become empty is still a message before a call that answers.
#[test]
fn an_empty_answer_before_displayed_answers_is_kept() {
    let format = "apertus".parse().expect("a format");
    let text = "<s><|user_start|>q<|user_end|><|assistant_start|><|inner_prefix|>t<|inner_suffix|>\
                a<|tools_prefix|>[{\"display_answers\": {}}]<|tools_suffix|>";
    let mut conversation = parse(text, format, &Default::default()).into_conversation();
    conversation.messages[2].body = "".into();
    let document = Document::from(conversation);
    let text = render(&document, format, &RenderOptions::default()).expect("it can be written");
    let again = parse(&text, format, &Default::default()).into_conversation();
    assert_eq!(again.messages.len(), 4, "{text}");
}

/// Text that spells a token which has an id stays text, also where other tokens are spelled.
#[test]
fn a_spelling_of_a_token_with_an_id_is_text_among_spelled_tokens() {
    let format: TextFormat = "apertus".parse().expect("a format");
    let spelled = [Control::Bos, Control::Open(Role::User)];
    let mut tape = Tape::new(format.controls()).spelled(&spelled);
    tape.text("<s><|user_start|>What is <|user_end|>?");
    tape.control(Control::Close(Role::User));
    let conversation = parse_tape(&tape, format, &Default::default()).into_conversation();
    assert_eq!(conversation.messages[0].body.text(), "What is <|user_end|>?");
}

/// Bytes that are not UTF-8 are replaced by longer characters: places are those of the bytes.
#[test]
fn text_that_is_dropped_behind_a_call_has_its_own_place() {
    let text = b"<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}} \xff\n</tool_call><|im_end|>\n";
    let mut stream = Stream::new(TextFormat::QWEN3, &ReadOptions::default());
    let mut places = Vec::new();
    let events = stream.feed(text).chain(stream.finish());
    for event in events {
        if let Event::Diagnostic { diagnostic, .. } = event {
            places.push((diagnostic.code, &text[diagnostic.span.range()]));
        }
    }
    let bad: &[u8] = b"\xff";
    assert_eq!(places, [(Code::ParseUtf8, bad), (Code::ParseFrame, bad)]);
}

/// The key under which a list of messages is written as an object.
#[test]
fn lists_of_messages_have_a_key_in_objects() {
    let key = |name: &str| name.parse::<Format>().expect("a format").messages_key();
    assert_eq!(key("openai"), Some("messages"));
    assert_eq!(key("sharegpt"), Some("conversations"));
    assert_eq!(key("openchatml-2.2:json"), None);
    assert_eq!(key("harmony"), None);
}
