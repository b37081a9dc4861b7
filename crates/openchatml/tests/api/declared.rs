//! The declared tools decide which arguments are strings, in formats that do not say it.

use openchatml::dialects::{CallPiece, Completion, Tag};
use openchatml::{ReadOptions, Stream, TextFormat, Tool, Value, parse};

/// Returns the formats whose calls have parameters, and a call with these values in each.
fn calls(values: &[(&str, &str)]) -> Vec<(TextFormat, String)> {
    let formats = TextFormat::all().filter_map(|format| {
        let Ok(Completion::Sections(sections)) = format.completion() else { return None };
        let form = sections.calls.pieces.iter().find_map(|piece| match piece {
            CallPiece::Parameters(form) if form.typed.is_none() && form.attributes.is_none() => {
                Some(form)
            }
            _ => None,
        })?;
        let mut message =
            openchatml::Message::new(openchatml::Role::Assistant, "{\"x\": \"VALUE\"}");
        message.channel = Some(openchatml::Channel::Commentary);
        message.recipient = Some("functions.f".into());
        message.content_type = Some("json".into());
        message.end = openchatml::End::Call;
        let document = openchatml::Conversation::from_messages([message]).into();
        let text = openchatml::render(&document, format.into(), &Default::default()).expect("text");
        let spelled = |tag: Tag| match tag {
            Tag::Token(mark) => format.dialect().controls.spelling(mark.control),
            tag => tag.text(),
        };
        let open = spelled(form.open).expect("text");
        let (before, rest) = text.split_once(open).expect("a parameter");
        let (parameter, after) = rest.split_once("VALUE").expect("a value");
        let close = spelled(form.close).expect("text");
        let (_, breaks) = form.close.breaks();
        let end = after.find(close).expect("an end") + close.len() + usize::from(breaks);
        let (close, after) = after.split_at(end);
        let parameters = values
            .iter()
            .map(|(key, value)| format!("{open}{}{value}{close}", parameter.replacen('x', key, 1)));
        Some((format, [before, &parameters.collect::<String>(), after].concat()))
    });
    formats.collect()
}

#[test]
fn a_schema_decides_whether_a_value_is_a_string() {
    let values =
        [("zip", "10115"), ("days", "3"), ("either", "null"), ("flag", "True"), ("q", "{}")];
    let schema = r#"{"properties": {
        "zip": {"type": "string"}, "days": {"type": "integer"}, "either": {"type": ["string", "null"]},
        "flag": {"type": "boolean"}, "q": {"anyOf": [{"type": "string"}, {"type": "number"}]}
    }}"#;
    let mut tool = Tool::new("f");
    let schema = Value::from_json(schema, &Default::default()).expect("a schema");
    tool.parameters = Some(schema.into_owned());
    let mut options = ReadOptions::default();
    options.tools = [tool].into();
    let expected = r#"{"zip": "10115", "days": 3, "either": null, "flag": true, "q": "{}"}"#;
    let all = calls(&values);
    for (format, text) in &all {
        let read = parse(text, (*format).into(), &options).into_conversation();
        // Some formats always have a system message.
        let call = read.messages.last().expect("a call");
        assert_eq!(call.body.text(), expected, "{format}: {text}");
        let mut stream = Stream::new(*format, &options);
        let mut deltas = String::new();
        let mut take = |event: openchatml::Event<'_>| {
            if let openchatml::Event::ToolCallDelta { text, .. } = event {
                deltas.push_str(&text);
            }
        };
        text.split_inclusive(|_| true).for_each(|chunk| stream.feed_with(chunk, &mut take));
        stream.finish_with(&mut take);
        assert_eq!(deltas, expected, "{format}: {text}");
    }
}
