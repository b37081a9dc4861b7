//! The feature `serde_json`: values as input and output.

use openchatml::convert::convert;
use openchatml::{
    Carrier, Code, Conversation, Data, Error, Format, FormatError, Limits, Message, Parsed, Reply,
    Tool, Value,
};
use serde_json::{Value as SerdeValue, json};

fn asked() -> Conversation<'static> {
    let mut conversation = Conversation::from_messages([
        Message::user("How is the weather in Paris?"),
        Message::call("weather", json!({"city": "Paris"})).with_call_id("call_1"),
        Message::reply("weather", json!({"degrees": 20})).with_call_id("call_1"),
        Message::answer("It has 20 degrees."),
    ]);
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    conversation.tools.push(Tool::new("weather").with_parameters(schema));
    conversation
}

/// Each JSON format reads the values that it writes, with the same losses as for text.
#[test]
fn every_json_format_is_written_and_read() {
    let document = asked().into();
    for format in Format::all().filter(|format| format.carrier() == Carrier::Json) {
        let converted = convert(&document, format, &Default::default()).expect("it can be said");
        let value = converted.to_value().expect("it is JSON");
        let parsed = Parsed::from_value(&value, format, &Default::default()).expect("JSON");
        let of_text = openchatml::parse(&converted.output, format, &Default::default());
        assert_eq!(parsed.document, of_text.document, "{format}: {value}");
        if converted.losses.is_empty() {
            let conversation = parsed.into_conversation();
            assert_eq!(conversation.to_value(format), Ok(value), "{format}");
        }
    }
}

#[test]
fn a_conversation_survives_formats_that_carry_it() {
    let mut plain = asked();
    plain.messages.retain(|message| !message.is_call() && message.name.is_none());
    for (format, conversation) in [(Format::JSON, asked()), (Format::OPENAI, plain)] {
        let value = conversation.to_value(format).expect("it carries all of it");
        let read = Conversation::from_value(&value, format).expect("it is valid");
        assert_eq!(read.messages.len(), conversation.messages.len(), "{value}");
        assert_eq!(read.tools, conversation.tools, "{value}");
        assert_eq!(read.to_value(format), Ok(value));
    }
}

#[test]
fn invalid_values_are_errors() {
    let none = FormatError::NoJson("harmony".to_owned());
    let read = Conversation::from_value(&json!({}), Format::HARMONY);
    assert_eq!(read, Err(Error::Format(none.clone())));
    assert_eq!(asked().to_value(Format::HARMONY), Err(Error::Format(none)));
    let invalid = |value: SerdeValue| match Conversation::from_value(&value, Format::JSON) {
        Err(Error::Invalid(found)) => found.message,
        other => panic!("{other:?}"),
    };
    let infill = invalid(json!({"infill": {"prefix": "fn ", "suffix": "}"}}));
    assert_eq!(infill, "the document is not a conversation");
    assert!(!invalid(json!({"messages": [{"role": "stranger", "content": ""}]})).is_empty());
    // Services do not mark arguments as constrained to JSON.
    let call = Conversation::from_messages([Message::call("f", "{}").with_call_id("1")]);
    assert!(matches!(call.to_value(Format::OPENAI), Err(Error::Render(_))));
    let converted = convert(&call.into(), Format::OPENAI, &Default::default()).expect("named");
    assert_eq!(converted.losses.len(), 1);
    assert!(converted.to_value().is_ok());
}

#[test]
fn bodies_are_json_if_declared() {
    let call = Message::call("f", r#"{"id": 7, "of": [true, null, "\u00e9"]}"#);
    assert_eq!(call.body.to_value(), Ok(json!({"id": 7, "of": [true, null, "é"]})));
    let twice = Message::call("f", r#"{"id": 7, "id": 8}"#).body.to_value();
    assert_eq!(twice.map_err(|found| found.code), Err(Code::DuplicateKey));
    let none = Message::call("f", "id: 7").body.to_value();
    assert_eq!(none.map_err(|found| found.code), Err(Code::ParseJson));
    // A string is a JSON string, with quotes.
    assert_eq!(Message::reply("f", json!("Sunny.")).body.text(), r#""Sunny.""#);
    let reply = Reply::success(json!({"a": 1}));
    assert_eq!(reply.to_json(), r#"{"ok":true,"content":{"a":1}}"#);
}

#[test]
fn numbers_keep_their_value_or_are_refused() {
    let value = |spelling: &str| {
        let text = format!("[{spelling}]");
        let value = Value::from_json(&text, &Limits::default()).expect("JSON");
        SerdeValue::try_from(&value).map(|value| value[0].to_string())
    };
    for kept in ["0", "-1", "18446744073709551615", "-9223372036854775808", "2.5", "1e300", "0.1"] {
        let number = value(kept).expect("there is room");
        assert_eq!(number.parse::<f64>(), kept.parse::<f64>(), "{kept}");
    }
    assert_eq!(value("18446744073709551615").as_deref(), Ok("18446744073709551615"));
    assert!(value("-0").is_ok());
    for lost in ["18446744073709551616", "123456789012345678901234567890", "1e400", "-1e999"] {
        let found = value(lost).expect_err("there is no room");
        assert!(found.message.contains(lost) && found.span.start == 1, "{found}");
    }
    let number = Value::from(json!([2.0, -3, 18_446_744_073_709_551_615_u64]));
    let spelled: Vec<_> = number.as_list().unwrap().iter().map(|it| it.data.clone()).collect();
    let of = |spelling: &'static str| Data::Number(spelling.into());
    assert_eq!(spelled, [of("2.0"), of("-3"), of("18446744073709551615")]);
}
