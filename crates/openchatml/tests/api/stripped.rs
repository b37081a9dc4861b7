//! Completions of gpt-oss from which a server has removed the control tokens.

use openchatml::{Channel, Conversation, Format, Policy, ReadOptions, Recover, parse, recognize};

fn read(text: &str) -> Conversation<'_> {
    let mut options = ReadOptions::completion();
    options.recover = Recover::Stripped;
    parse(text, Format::HARMONY, &options).into_conversation()
}

/// What a user sees of a text.
fn shown(text: &str) -> Vec<String> {
    let conversation = read(text);
    let view = Policy::default().view(&conversation);
    view.messages().map(|message| message.text().to_owned()).collect()
}

#[test]
fn the_answer_is_what_follows_the_last_words_of_an_answer() {
    assert_eq!(shown("analysisThe user greets.assistantfinalHello!"), ["Hello!"]);
    assert_eq!(shown("assistantanalysisHm.assistantfinalHello!"), ["Hello!"]);
    // Reasoning that quotes a header does not become an answer.
    let quoted = "analysisI write assistantfinalSECRET then.assistantfinalHello!";
    assert_eq!(shown(quoted), ["Hello!"]);
    assert_eq!(read(quoted).messages[0].body.text(), "I write assistantfinalSECRET then.");
    assert!(shown("assistantanalysisOnly a thought").is_empty());
}

#[test]
fn words_of_a_text_are_no_headers() {
    for thought in ["Then the word assistantfinal appears, and", "`assistantfinal` is a word"] {
        assert!(shown(&format!("analysis{thought}")).is_empty(), "{thought}");
    }
    assert_eq!(shown("analysisI write `assistantfinal`.assistantfinalDone."), ["Done."]);
}

#[test]
fn a_stop_token_can_be_left() {
    let text = "analysisHm.assistantfinalHello!<|return|>";
    assert_eq!(shown(text), ["Hello!"]);
    assert_eq!(read(text).messages[1].span.end, text.len());
}

#[test]
fn text_without_words_of_a_header_is_kept() {
    let mut options = ReadOptions::default();
    options.recover = Recover::Stripped;
    let read = parse("Hello there", Format::HARMONY, &options).into_conversation();
    assert!(read.messages[0].recovered);
    assert_eq!(read.messages[0].body.text(), "Hello there");
}

#[test]
fn calls_are_read_and_are_not_certain() {
    let text = "analysisI call.assistantcommentary to=functions.f json{\"a\":1}assistantfinalDone.";
    let conversation = read(text);
    let [thought, call, answer] = conversation.messages.as_slice() else {
        panic!("{:?}", conversation.messages)
    };
    assert_eq!((thought.channel, thought.recovered), (Some(Channel::Analysis), true));
    assert_eq!(call.recipient.as_deref(), Some("functions.f"));
    assert_eq!((call.body.text().as_ref(), call.recovered), ("{\"a\":1}", true));
    assert_eq!((answer.body.text().as_ref(), answer.recovered), ("Done.", false));
    assert_eq!(&text[call.span.range()], "assistantcommentary to=functions.f json{\"a\":1}");
}

#[test]
fn other_texts_are_read_as_usual() {
    for text in ["analysis of data", "finally", "The assistantfinal word", "", "assistant"] {
        assert_eq!(recognize([text]), None, "{text}");
        let mut options = ReadOptions::completion();
        let usual = parse(text, Format::HARMONY, &options);
        options.recover = Recover::Stripped;
        assert_eq!(parse(text, Format::HARMONY, &options).document, usual.document, "{text}");
    }
    // With control tokens, the tokens count.
    let whole = "analysis<|channel|>final<|message|>assistantfinalHi.<|return|>";
    assert_eq!(recognize([whole]), None);
    let found = recognize(["analysisHm.assistantfinalHi."]).unwrap();
    assert_eq!(found.evidence.span.range(), 0..8);
}

#[test]
fn reasoning_after_an_answer_is_hidden() {
    let conversation = read("analysisA plan.assistantfinalDone.assistantanalysisA secret.");
    let channels: Vec<_> = conversation.messages.iter().map(|it| it.channel).collect();
    let [analysis, answer] = [Channel::Analysis, Channel::Final].map(Some);
    assert_eq!(channels, [analysis, answer, analysis]);
    assert_eq!(conversation.messages[1].body.text(), "Done.");
}

#[test]
fn an_answer_alone_is_read_on_request() {
    let conversation = read("finalHi.");
    assert_eq!(conversation.messages[0].channel, Some(Channel::Final));
    assert_eq!(conversation.messages[0].body.text(), "Hi.");
}
