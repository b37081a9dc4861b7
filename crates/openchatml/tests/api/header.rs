//! The canonical layout of header values, and the diagnostics of the version.

use openchatml::{
    Conversation, Data, Format, Header, Message, ReadOptions, RenderOptions, Role, Value, parse,
    render,
};

fn map(entries: &[(&'static str, Value<'static>)]) -> Value<'static> {
    Value::from(Data::Map(entries.iter().map(|(key, it)| ((*key).into(), it.clone())).collect()))
}

fn list(items: &[Value<'static>]) -> Value<'static> {
    Value::from(Data::List(items.to_vec()))
}

/// Writes a value in a header, and checks that it is read back unchanged.
fn written(value: Value<'static>) -> String {
    let mut header = Header::new("2.2");
    header.insert("k", value.clone());
    let mut conversation = Conversation::from_messages([Message::new(Role::User, "Hi.")]);
    conversation.header = Some(header);
    let format: Format = "openchatml-2.2".parse().expect("a format");
    let text = render(&conversation.into(), format, &RenderOptions::default()).expect("text");
    let read = parse(&text, format, &ReadOptions::default());
    assert!(read.diagnostics.is_empty(), "{text}: {:?}", read.diagnostics);
    let header = read.into_conversation().header.expect("a header");
    assert_eq!(header.get("k"), Some(&value), "{text}");
    let header = text.strip_prefix("version: 2.2\n").expect("a version");
    header[..header.find("\n\n").expect("an empty line")].to_owned()
}

#[test]
fn values_are_written_in_block_style_and_lists_of_words_in_one_line() {
    let word = |text: &'static str| Value::from(text);
    let number = Value::from(Data::Number("1.50".into()));
    let cases = [
        (word("plain"), "k: plain"),
        (word("a: b"), "k: \"a: b\""),
        (word(""), "k: \"\""),
        (word("1.50"), "k: \"1.50\""),
        (word("a\u{2028}b"), "k: \"a\\u2028b\""),
        (number.clone(), "k: 1.50"),
        (Value::from(Data::Null), "k: null"),
        (Value::from(Data::Bool(true)), "k: true"),
        (list(&[]), "k: []"),
        (map(&[]), "k: {}"),
        (list(&[word("a"), number.clone()]), "k: [a, 1.50]"),
        (
            map(&[("a", map(&[("b", word("c")), ("d", list(&[]))]))]),
            "k:\n  a:\n    b: c\n    d: []",
        ),
        (map(&[("a", list(&[list(&[word("b")])]))]), "k:\n  a:\n    - [b]"),
        (
            list(&[map(&[("a", word("b")), ("c", number)]), word("d")]),
            "k:\n  - {a: b, c: 1.50}\n  - d",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(written(value), expected);
    }
}

#[test]
fn versions_are_quoted_unless_they_are_numbers() {
    for (version, expected) in [("2.2", "version: 2.2\n"), ("2: 2", "version: \"2: 2\"\n")] {
        let mut header = Header::new("0");
        header.insert("version", Value::from(version));
        let mut conversation = Conversation::from_messages([Message::new(Role::User, "Hi.")]);
        conversation.header = Some(header);
        let format: Format = "openchatml-2.2".parse().expect("a format");
        let text = render(&conversation.into(), format, &RenderOptions::default()).expect("text");
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn an_unsupported_version_is_reported_with_the_supported_ones() {
    let text = "version: 1.0\n\n<|start|>developer<|message|>Be brief.<|end|>\n";
    for version in ["2.0", "2.2"] {
        let format: Format = format!("openchatml-{version}").parse().expect("a format");
        let found = parse(text, format, &ReadOptions::default()).diagnostics;
        let help = format!("write `version: {version}` in the header");
        assert_eq!(found[0].help.as_deref(), Some(help.as_str()), "{found:?}");
    }
}
