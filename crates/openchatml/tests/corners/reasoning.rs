//! Reasoning that a call seems to end, and that goes on.

use openchatml::dialects::{self, Completion, Dialect, InnerCalls, Sections};
use openchatml::{
    Channel, Control, Conversation, End, Event, Format, Keep, Message, Policy, ReadOptions,
    RenderOptions, Role, Section, Stream, TextFormat, Visibility, convert::convert, parse,
};

/// The dialects in which a complete call can end reasoning.
fn dialects() -> impl Iterator<Item = (TextFormat, &'static Sections)> {
    dialects::ALL.iter().filter_map(|dialect: &&Dialect| {
        let Some(Completion::Sections(sections)) = dialect.completion() else { return None };
        let format: Format = dialect.id.parse().ok()?;
        let ends = sections.reasoning.calls == InnerCalls::End;
        ends.then(|| Some((TextFormat::try_from(format).ok()?, sections))).flatten()
    })
}

fn spelling(format: TextFormat, control: Control) -> &'static str {
    format.controls().spelling(control).unwrap_or_default()
}

/// Returns a complete call as the format writes it after reasoning.
fn call(format: TextFormat, sections: &Sections) -> String {
    let mut thought = Message::answer("Plan");
    thought.channel = Some(Channel::Analysis);
    let call = Message::call("functions.f", r#"{"a":1}"#);
    let messages = [Message::user("Go."), thought, call];
    let document = Conversation::from_messages(messages).into();
    let converted = convert(&document, format.format(), &RenderOptions::default());
    let text = converted.expect("a transcript").output;
    let close = spelling(format, sections.reasoning.close.control);
    let (_, call) = text.split_once(close).expect("reasoning");
    let end = call.rfind(spelling(format, sections.close)).unwrap_or(call.len());
    call[..end].to_owned()
}

/// Returns the texts that a user sees, and whether there is a call to run.
fn seen(messages: &[Message<'_>]) -> (Vec<String>, bool) {
    let policy = Policy::default();
    let shown = messages.iter().filter(|it| policy.visibility(it) == Visibility::User);
    let runs = messages.iter().any(|message| message.end == End::Call);
    (shown.map(|message| message.body.text().into_owned()).collect(), runs)
}

#[test]
fn reasoning_that_goes_on_after_a_call_takes_back_everything_since() {
    let mut options = ReadOptions::default();
    (options.continues, options.in_reasoning) = (Some(Role::Assistant), true);
    let mut tried = 0;
    for (format, sections) in dialects() {
        let call = call(format, sections);
        let close = spelling(format, sections.reasoning.close.control);
        let [list, item, reply] = [Section::Calls, Section::Call, Section::Reply]
            .map(|section| spelling(format, Control::OpenSection(section)));
        let broken = format!("{list}{item} secret");
        // In some formats, the token of a reply ends the completion.
        let stops = format.stops().contains(&Control::OpenSection(Section::Reply));
        let reply = if stops { "" } else { reply };
        let pieces = ["", " secret ", &call, &broken, reply];
        for at in 0..pieces.len().pow(3) {
            let between = [at / 25, at / 5 % 5, at % 5].map(|at| pieces[at]).concat();
            let text = format!("Plan{call}{between} secret {close}Answer");
            let told = parse(&text, format.format(), &options).into_conversation();
            let expected = (vec!["Answer".to_owned()], false);
            assert_eq!(seen(&told.messages), expected, "{format}: {text:?}");
            let mut stream = Stream::new(format, &options).keep(Keep::Bodies);
            let mut shown = String::new();
            let mut tell = |event: Event<'_>| {
                if let (true, Event::Delta { text, .. }) =
                    (event.is_for_user(Policy::default()), &event)
                {
                    shown.push_str(text);
                }
            };
            for byte in text.as_bytes().chunks(1) {
                stream.feed_with(byte, &mut tell);
            }
            stream.finish_with(&mut tell);
            assert_eq!(shown, "Answer", "{format}: {text:?}");
            tried += 1;
        }
    }
    assert!(tried > 1_000);
}
