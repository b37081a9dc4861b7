//! Preference pairs in JSON formats of one conversation.

use openchatml::convert::convert;
use openchatml::{
    Carrier, Conversation, Document, Format, Message, Pair, ReadOptions, RenderOptions, Tool,
    Visibility, Weight, detect, parse, render,
};

/// A pair that every format can carry.
fn pair() -> Document<'static> {
    let side = |answer: &'static str| {
        Conversation::from_messages([Message::user("2 + 2?"), Message::answer(answer)])
    };
    Document::Pair(Pair::new(side("4."), side("5.")).into())
}

/// The texts of both sides.
fn texts(document: &Document<'_>) -> Vec<Vec<String>> {
    assert!(matches!(document, Document::Pair(_)), "{document:?}");
    let text = |message: &Message<'_>| message.body.text().into_owned();
    let texts = |side: &Conversation<'_>| side.messages.iter().map(text).collect();
    document.conversations().into_iter().map(texts).collect()
}

#[test]
fn every_json_format_reads_the_pairs_that_it_writes() {
    for format in Format::all().filter(|format| format.carrier() == Carrier::Json) {
        let written = convert(&pair(), format, &Default::default()).unwrap().output;
        let read = parse(&written, format, &Default::default());
        assert!(!read.has_errors(), "{format}: {written}: {:?}", read.diagnostics);
        let [chosen, rejected] = &texts(&read.document)[..] else { panic!("{format}") };
        let ends = |side: &[String], answer| side.ends_with(&["2 + 2?".to_owned(), answer]);
        assert!(ends(chosen, "4.".to_owned()) && ends(rejected, "5.".to_owned()), "{written}");
        let again = convert(&read.document, format, &Default::default()).unwrap().output;
        assert_eq!(again, written, "{format}");
        // It is detected, if only as another format with the same meaning.
        let best = &detect(&written)[0];
        assert!(best.is_certain(), "{written}: {best:?}");
        let detected = parse(&written, best.format, &Default::default()).document;
        assert_eq!(texts(&detected), texts(&read.document), "{written}: {}", best.format);
    }
}

#[test]
fn diagnostics_of_a_side_have_their_place_in_the_pair() {
    let text = r#"{"chosen": [{"role":"user","content":"A?"}], "rejected": [{"role":"usr","content":"A?"}], "score": 1}"#;
    let read = parse(text, Format::OPENAI, &ReadOptions::default());
    let places = read
        .diagnostics
        .iter()
        .map(|found| (&text[found.span.range()], found.pointer.as_deref().unwrap_or_default()));
    let places: Vec<_> = places.collect();
    assert_eq!(places, [("\"usr\"", "/rejected/0/role"), ("\"score\"", "")]);
    let Document::Pair(pair) = &read.document else { panic!("{:?}", read.document) };
    let place = pair.rejected.messages.first().map(|message| &text[message.span.range()]);
    assert_eq!(place, Some(r#"{"role":"usr","content":"A?"}"#));
}

#[test]
fn a_pair_that_is_cut_off_keeps_what_arrived() {
    let text = r#"{"chosen": [{"role":"user","content":"A?"}], "rejected": [{"role":"user","content":"B?"},{"role"#;
    let read = parse(text, Format::OPENAI, &ReadOptions::default());
    assert!(read.has_errors());
    assert_eq!(texts(&read.document), [["A?"], ["B?"]]);
}

#[test]
fn a_side_must_be_a_conversation() {
    for text in [
        r#"{"chosen": "A", "rejected": []}"#,
        r#"{"rejected": [], "chosen": {}}"#,
        r#"{"chosen": []}"#,
    ] {
        let read = parse(text, Format::OPENAI, &ReadOptions::default());
        assert!(read.has_errors(), "{text}: {:?}", read.diagnostics);
        assert!(matches!(read.document, Document::Pair(_)), "{text}");
    }
}

#[test]
fn pairs_are_detected_by_the_documents_inside() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}"#;
    let gemini =
        r#"{"role":"user","parts":[{"text":"A?"}]},{"role":"model","parts":[{"text":"B."}]}"#;
    let plain = r#"{"role":"user","content":"A?"},{"role":"assistant","content":"B."}"#;
    for (messages, format) in [(call, "openai"), (gemini, "gemini"), (plain, "records")] {
        let text = format!(r#"{{"chosen":[{messages}],"rejected":[{messages}]}}"#);
        let best = &detect(&text)[0];
        assert_eq!(best.format.to_string(), format, "{text}");
        let read = parse(&text, best.format, &ReadOptions::default());
        assert!(!read.has_errors(), "{text}: {:?}", read.diagnostics);
    }
}

#[test]
fn texts_without_a_prompt_are_hidden() {
    let side = "<|start|>system<|message|>SECRET<|end|>";
    let text = format!(r#"{{"chosen":"{side}","rejected":"{side}"}}"#);
    let read = parse(&text, Format::RECORDS, &ReadOptions::default());
    assert!(read.has_errors());
    for conversation in read.document.conversations() {
        assert!(conversation.messages.iter().all(|it| it.visibility() == Visibility::Hidden));
    }
}

#[test]
fn sides_with_different_tools_are_whole_documents() {
    let side = |name: &str, text: &'static str| {
        let mut side = Conversation::from_messages([Message::user("A?"), Message::answer(text)]);
        side.tools.push(Tool::new(name.to_owned()));
        side
    };
    let pair = Pair::new(side("f", "B."), side("g", "C."));
    for format in [Format::RECORDS, Format::OPENAI, Format::SHAREGPT] {
        let document = Document::Pair(pair.clone().into());
        let text = render(&document, format, &RenderOptions::default()).unwrap();
        let read = parse(&text, format, &ReadOptions::default());
        assert!(!read.has_errors(), "{format}: {text}: {:?}", read.diagnostics);
        let Document::Pair(again) = read.document else { panic!("{format}: {text}") };
        assert_eq!(again.chosen.tools, pair.chosen.tools, "{format}: {text}");
        assert_eq!(again.rejected.tools, pair.rejected.tools, "{format}: {text}");
        assert_eq!(again.rejected.messages, pair.rejected.messages, "{format}: {text}");
    }
}

#[test]
fn changed_records_keep_weights_and_whole_objects() {
    let read = |text| parse(text, Format::RECORDS, &ReadOptions::default()).into_conversation();
    let written = |conversation: Conversation<'_>| {
        let text = render(&conversation.into(), Format::RECORDS, &RenderOptions::default());
        text.expect("it fits")
    };
    // A text has no weight.
    let mut texts = read(r#"{"prompt":"A?","completion":"B."}"#);
    texts.messages[0].weight = Weight::new(0.0);
    assert!(written(texts).starts_with(r#"{"prompt":[{"role":"user","content":"A?","weight":0}]"#));
    // A preamble and its call are one object.
    let mut turn = read(
        r#"{"prompt":[{"role":"user","content":"A?"}],"completion":[{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#,
    );
    turn.messages.remove(0);
    let again = written(turn.clone());
    assert_eq!(read(&again).messages, turn.messages, "{again}");
}
