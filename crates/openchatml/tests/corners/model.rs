//! Prompts, token ids, options, equality and lints of conversations that a program makes.

use openchatml::convert::Lost;
use openchatml::harmony::{PromptOptions, SystemContent};
use openchatml::lex::{Tape, Utf8Decoder, Utf8Piece};
use openchatml::prompt::Prompt;
use openchatml::{
    Body, Code, Content, Control, Conversation, Document, End, Format, Infill, Limits, Message,
    Pair, Part, RenderOptions, Role, Segment, TextFormat, Tool, Weight, detect, lint, parse,
    parse_tape,
};

fn chat() -> Conversation<'static> {
    Conversation::from_messages([
        Message::user("2 + 2?"),
        Message::reasoning("Easy."),
        Message::answer("4."),
        Message::user("And times 3?"),
    ])
}

#[test]
fn a_prompt_knows_what_it_leaves_out_and_where_the_rest_was() {
    let options = RenderOptions::default();
    let mut prompt = Prompt::new(&chat(), Format::HARMONY, &options);
    assert_eq!(prompt.document().as_conversation().map(|it| it.messages.len()), Some(3));
    assert_eq!(prompt.conversation_mut().map(|it| it.messages.len()), Some(3));
    let losses = prompt.convert(&options).expect("it can be written").losses;
    let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(losses, ["message 1: earlier reasoning dropped"]);
    let (document, losses, origins) = prompt.into_parts();
    assert_eq!(document.as_conversation().map(|it| it.messages.len()), Some(3));
    assert_eq!(losses.len(), 1);
    assert_eq!([0, 1, 2].map(|at| origins.of(at)), [Some(0), Some(2), Some(3)]);
}

/// Two equal messages at different places.
#[test]
fn equal_messages_of_a_prompt_are_told_apart_by_their_places() {
    let text = "<|start|>user<|message|>a<|end|>\
        <|start|>assistant<|channel|>analysis<|message|>b<|end|>\
        <|start|>assistant<|channel|>final<|message|>b<|end|>\
        <|start|>user<|message|>c<|end|>";
    let conversation = parse(text, Format::HARMONY, &Default::default()).into_conversation();
    let prompt = Prompt::new(&conversation, Format::HARMONY, &RenderOptions::default());
    let (_, losses, origins) = prompt.into_parts();
    assert_eq!(losses.iter().map(|loss| loss.message).collect::<Vec<_>>(), [Some(1)]);
    assert_eq!([0, 1, 2].map(|at| origins.of(at)), [Some(0), Some(2), Some(3)]);
}

#[test]
fn a_prompt_declares_tools_as_text_only_where_its_format_has_no_other_way() {
    let options = RenderOptions::default();
    let mut chat = Conversation::from_messages([Message::user("Hi.")]);
    let chatml: Format = "chatml".parse().expect("a format");
    let (document, losses, _) = Prompt::new(&chat, chatml, &options).into_parts();
    assert_eq!((losses.len(), document.as_conversation()), (0, Some(&chat)));

    chat.tools = vec![Tool::new("now").with_description("The time.")];
    let (document, losses, origins) = Prompt::new(&chat, chatml, &options).into_parts();
    assert!(losses.iter().any(|loss| loss.lost == Lost::ToolsAsText));
    let written = document.as_conversation().expect("a conversation");
    assert!(written.tools.is_empty());
    assert_eq!(written.messages[0].role, Role::System);
    assert!(written.messages[0].body.text().contains("The time."));
    assert_eq!([0, 1].map(|at| origins.of(at)), [None, Some(0)]);

    let carries_them = "openchatml-2.2".parse().expect("a format");
    let (document, losses, _) = Prompt::new(&chat, carries_them, &options).into_parts();
    assert_eq!((losses.len(), document.as_conversation()), (0, Some(&chat)));
}

#[test]
fn a_prompt_that_keeps_reasoning_is_stored_history() {
    let mut chat = chat();
    chat.messages[2].end = End::Return;
    let mut options = RenderOptions::default();
    options.keep_reasoning = true;
    let (document, losses, _) = Prompt::new(&chat, Format::HARMONY, &options).into_parts();
    let ends = |it: &Conversation<'_>| it.messages.iter().map(|it| it.end).collect::<Vec<_>>();
    assert_eq!(document.as_conversation().map(ends), Some(vec![End::End; 4]));
    assert!(losses.is_empty());
}

fn tape(spelled: &[Control]) -> Tape {
    let mut tape = Tape::new(TextFormat::OPENCHATML_2_2.controls()).spelled(spelled);
    tape.text("version: 2.2\n\n");
    tape.control(Control::Start);
    tape.text("user");
    tape.control(Control::Message);
    tape
}

fn read(tape: &Tape) -> Conversation<'_> {
    parse_tape(tape, TextFormat::OPENCHATML_2_2, &Default::default()).into_conversation()
}

#[test]
fn a_message_in_the_text_of_ids_is_no_message() {
    let mut tape = tape(&[Control::Literal, Control::EndLiteral]);
    tape.text("a");
    tape.control(Control::End);
    tape.text("<|start|>user<|message|>b<|end|>");
    let messages = read(&tape).messages;
    assert!(messages.iter().all(|message| message.body.text() != "b"), "{messages:?}");
}

/// A control token that is named twice, as one with two spellings is.
#[test]
fn a_control_token_can_be_named_twice() {
    let (open, close) = (Control::Literal, Control::EndLiteral);
    let mut tape = tape(&[open, open, close, close]);
    tape.text("<|literal|>x<|endliteral|>");
    tape.control(Control::End);
    let conversation = read(&tape);
    let first = conversation.messages[0].body.segments().next();
    assert_eq!(first, Some(Segment::Literal("x".into())));
}

#[test]
fn only_a_spelled_token_ends_a_literal_block_in_text() {
    let mut tape = tape(&[Control::Call]);
    tape.control(Control::Literal);
    tape.text("a<|endliteral|>b");
    tape.control(Control::EndLiteral);
    tape.control(Control::End);
    let conversation = read(&tape);
    let first = conversation.messages[0].body.segments().next();
    assert_eq!(first, Some(Segment::Literal("a<|endliteral|>b".into())));
}

#[test]
fn a_tape_is_text() {
    let mut tape = Tape::new(TextFormat::HARMONY.controls());
    tape.text("Hi.");
    tape.control(Control::End);
    assert_eq!(tape.into_string(), "Hi.<|end|>");
}

#[test]
fn a_decoder_knows_whether_a_character_is_incomplete() {
    let mut decoder = Utf8Decoder::default();
    assert!(decoder.is_empty());
    assert_eq!(decoder.decode(b"a\xC3").count(), 1);
    assert!(!decoder.is_empty());
    assert_eq!(decoder.decode(b"\xA9").next(), Some(Utf8Piece::Text("é")));
    assert!(decoder.is_empty());
    assert_eq!(decoder.finish(), None);
}

#[test]
fn the_evidence_of_a_completion_is_its_first_token() {
    let text = " <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let found = detect(text);
    let evidence = found.iter().flat_map(|candidate| &candidate.evidence);
    let mut first = evidence.filter(|it| it.what.contains("completion begins"));
    let span = first.next().expect("it is a completion").span;
    assert_eq!(&text[span.start..span.end], "<tool_call>");
}

#[test]
fn only_depths_have_a_highest_limit() {
    for name in Limits::NAMES {
        let highest = if name.ends_with("_depth") { 512 } else { usize::MAX };
        assert_eq!(Limits::highest(name), highest, "{name}");
    }
}

#[test]
fn later_options_of_a_type_replace_earlier_ones() {
    let mut options = RenderOptions::prompt();
    assert_eq!(options.generation_prompt, Some(Role::Assistant));
    let mut first = PromptOptions::default();
    first.system = Some(SystemContent::default());
    options.set(first);
    options.set(PromptOptions::default());
    assert!(options.get::<PromptOptions>().is_some_and(|it| it.system.is_none()));
}

#[test]
fn bodies_have_no_empty_texts() {
    let empty = || Segment::Text("".into());
    let literal = || Segment::Literal("x".into());
    let body = Body::from_segments([empty(), literal(), empty()]);
    assert_eq!(body.segments().collect::<Vec<_>>(), [literal()]);
    assert_eq!(Body::from_segments([]).as_plain(), Some(""));
}

#[test]
fn documents_with_another_meaning_are_not_equal() {
    let plain = Conversation::from_messages([Message::user("Hi.")]);
    let mut other = plain.clone();
    other.tools = vec![Tool::new("now")];
    assert_ne!(plain, other);

    let [one, two] = ["a", "b"].map(|text| Part::from(Content::Text(text.into())));
    assert_ne!(one, two);

    let task = Infill::new("a", "c");
    assert_eq!((task.prefix.as_ref(), task.suffix.as_ref()), ("a", "c"));
    assert_ne!(task, Infill::new("b", "c"));
    assert_ne!(task, Infill::new("a", "d"));
    let mut done = task.clone();
    done.middle = Some("b".into());
    assert_ne!(task, done);
    assert_eq!(task, Infill::new("a", "c"));
}

#[test]
fn a_message_keeps_its_ids() {
    let mut answer = Message::answer("4.");
    assert_eq!(answer.ids(), None);
    answer.set_ids([19, 13].as_slice());
    assert_eq!(answer.ids(), Some([19, 13].as_slice()));
}

#[test]
fn an_owned_pair_is_the_same_pair() {
    let [good, bad] = ["4.", "5."].map(|text| Conversation::from_messages([Message::answer(text)]));
    let pair = Pair::new(good, bad);
    assert_eq!(pair.clone().into_owned(), pair);
}

#[test]
fn a_weight_is_finite_and_not_negative() {
    for value in [-1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(Weight::new(value), None, "{value}");
    }
    assert_eq!(Weight::new(-0.0), Some(Weight::ZERO));
    assert_eq!(Weight::ONE.min(Weight::ZERO), Weight::ZERO);
}

/// What is beside the text of one message of the user, with this content, in this record.
fn beside(content: &str, rest: &str) -> u64 {
    let text = format!(
        r#"{{"messages":[{{"role":"user","content":{content}}},{{"role":"assistant","content":"Hi."}}]{rest}}}"#
    );
    lint::fingerprint_beside_text(&parse(&text, Format::OPENAI, &Default::default()).document)
}

#[test]
fn samples_that_differ_beside_their_text_are_told_apart() {
    let tool = |name: &str, description: &str, parameters: &str| {
        beside(
            r#""a""#,
            &format!(
                r#","tools":[{{"type":"function","function":{{"name":"{name}","description":"{description}","parameters":{parameters}}}}}]"#
            ),
        )
    };
    let weight = |weight: &str| {
        let text =
            format!(r#"{{"messages":[{{"role":"assistant","content":"Hi.","weight":{weight}}}]}}"#);
        lint::fingerprint_beside_text(&parse(&text, Format::OPENAI, &Default::default()).document)
    };
    let label = r#"{"messages":[{"role":"assistant","content":"Hi."}],"label":false}"#;
    let label = parse(label, Format::OPENAI, &Default::default()).document;
    let all = [
        beside(r#""a""#, ""),
        beside(r#""a""#, r#","images":["x.png"]"#),
        beside(r#""a""#, r#","images":["y.png"]"#),
        tool("f", "F.", "{}"),
        tool("g", "F.", "{}"),
        tool("f", "G.", "{}"),
        tool("f", "F.", r#"{"type":"object"}"#),
        weight("0"),
        weight("1"),
        lint::fingerprint_beside_text(&label),
    ];
    assert_eq!(all[0], 0);
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{at}");
    }
}

#[test]
fn parts_that_are_not_text_count_beside_it() {
    let image = |url: &str, text: &str| {
        let parts = format!(
            r#"[{{"type":"text","text":"{text}"}},{{"type":"image_url","image_url":{{"url":"{url}"}}}}]"#
        );
        beside(&parts, "")
    };
    assert_ne!(image("x.png", "a"), 0);
    assert_ne!(image("x.png", "a"), image("y.png", "a"));
    assert_eq!(image("x.png", "a"), image("x.png", "b"));
    assert_eq!(beside(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, ""), 0);
}

#[test]
fn items_that_are_no_messages_count_beside_the_text() {
    let of = |item: &str| {
        let text = format!(r#"[{{"role":"user","content":"a"}}{item}]"#);
        let format: Format = "responses".parse().expect("a format");
        lint::fingerprint_beside_text(&parse(&text, format, &Default::default()).document)
    };
    let search = |id: &str| {
        of(&format!(r#",{{"type":"web_search_call","id":"{id}","status":"completed"}}"#))
    };
    assert_eq!(of(""), 0);
    assert!(search("a") != 0 && search("a") != search("b"));
}

#[test]
fn a_fingerprint_uses_all_of_its_bits() {
    let document = Conversation::from_messages([Message::user("Hi.")]).into();
    let number = lint::fingerprint(&document);
    assert!(number >> 64 != 0 && number << 64 != 0);
}

#[test]
fn a_pair_without_a_preference_is_reported_at_its_last_message() {
    let text = r#"{"chosen":[{"role":"user","content":"A?"},{"role":"assistant","content":"B."}],"rejected":[{"role":"user","content":"A?"},{"role":"assistant","content":"B."}]}"#;
    let document = parse(text, Format::RECORDS, &Default::default()).document;
    let found = lint::check(&document, &[Code::UnbalancedPair]);
    assert!(Some(found[0].span.start) > text.find("rejected"), "{found:?}");
}

fn places(text: &str, code: Code) -> Vec<(String, String)> {
    let chatml: Format = "chatml".parse().expect("a format");
    let document = parse(text, chatml, &Default::default()).document;
    let found = lint::check(&document, &[code]).into_iter();
    found.map(|it| (text[it.span.start..it.span.end].to_owned(), it.message.to_string())).collect()
}

#[test]
fn lints_are_at_the_place_of_what_they_find() {
    let text = "<|im_start|>assistant\nab</think>c<|im_end|>\n";
    assert_eq!(places(text, Code::VisibleReasoning)[0].0, "</think>");
    let text = "<|im_start|>user\nab\u{200b}c<|im_end|>\n";
    let (place, message) = &places(text, Code::HiddenUnicode)[0];
    assert_eq!(
        (place.as_str(), message.as_str()),
        ("\u{200b}", "U+200B, a character without width")
    );
}

#[test]
fn escapes_are_read_only_where_there_is_json() {
    let codes = |message: Message<'static>| {
        let document: Document<'_> = Conversation::from_messages([message]).into();
        lint::check(&document, &[Code::HiddenUnicode]).len()
    };
    let json = r#"{"x":"a\u202eb"}"#;
    assert_eq!(codes(Message::new(Role::Tool, json)), 1);
    assert_eq!(codes(Message::user(json)), 0);
}

#[test]
fn invisible_characters_are_those_that_their_neighbours_do_not_need() {
    let places = |text: &str| lint::invisible(text).map(|it| it.0).collect::<Vec<_>>();
    // The longest name of a region, and text behind a flag.
    let flag = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0061}\u{e0062}\u{e0063}\u{e0064}\u{e007f}";
    assert!(places(flag).is_empty());
    assert_eq!(places(&format!("{flag}\u{200b}")), [flag.len()]);
    for text in ["a\u{ad}b", "a\u{200d}b", "a\u{17b4}b", "a\u{180b}b", "a\u{2800}b", "a\u{2028}b"] {
        assert_eq!(places(text), [1], "{text:?}");
    }
    // One neighbour of the script is enough.
    for c in ["\u{ad}", "\u{200d}", "\u{17b4}", "\u{180b}", "\u{2800}"] {
        for (before, after) in [("\u{1780}", "\u{1780}"), ("a", "\u{1780}"), ("\u{1780}", "a")] {
            let text = format!("{before}{c}{after}");
            assert!(places(&text).is_empty(), "{text:?}");
        }
    }
    assert_eq!(places("\u{1780}\u{2028}\u{1780}"), [3]);
}
