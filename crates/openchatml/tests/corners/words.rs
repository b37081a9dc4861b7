//! The names and relations of small values.

use openchatml::{
    Channel, Code, Content, Data, Format, HarmonyProfile, Limits, ReadOptions, Reply, Value, parse,
};

#[test]
fn names_of_values_are_correct_and_distinct() {
    let cases = [
        (Data::Null, "null"),
        (Data::Bool(true), "a boolean"),
        (Data::Number("1.0".into()), "a number"),
        (Data::String("x".into()), "a string"),
        (Data::List(Vec::new()), "a list"),
        (Data::Map(Vec::new()), "a mapping"),
    ];
    for (data, kind) in cases {
        let value = Value::from(data);
        assert_eq!(value.kind(), kind);
        assert_eq!(value.as_bool().is_some(), kind == "a boolean");
        assert_eq!(value.as_str().is_some(), kind == "a string");
        assert_eq!(value.as_list().is_some(), kind == "a list");
        assert_eq!(value.as_map().is_some(), kind == "a mapping");
    }
    assert_eq!(Value::from("x".to_owned()), Value::from("x"));
    assert_eq!(Content::default(), Content::Text("".into()));
}

#[test]
fn unknown_names_are_quoted() {
    let error = "no\tsuch".parse::<Format>().expect_err("no format");
    assert_eq!(error.to_string(), "unknown format `no\\tsuch`");
    assert_eq!(error.name(), "no\tsuch");
    assert_eq!(Limits::default().get_mut("patience"), None);
}

#[test]
fn a_reply_keeps_all_fields() {
    let body = r#"{"ok":true,"content":1,"provenance":{"source":"s"},"more":[2]}"#;
    let reply = Reply::parse(body, &Limits::default()).expect("an envelope");
    let source = reply.provenance.as_ref().and_then(|it| it.get("source")?.as_str());
    assert_eq!((source, reply.extra.len()), (Some("s"), 1));
    assert_eq!(reply.to_json(), body);
}

#[test]
fn negotiation_gives_the_common_subset() {
    let profile = |required: &[Channel], calls: &[Channel], builtins: &[Channel]| {
        let mut profile = HarmonyProfile::default();
        profile.enabled = true;
        profile.encoding = Some("o200k_harmony".to_owned());
        profile.require_channels = required.to_vec();
        profile.tool_calls_in = calls.to_vec();
        profile.builtins_in = builtins.to_vec();
        profile
    };
    use Channel::{Analysis, Commentary, Final};
    let one = profile(&[Final], &[Commentary], &[Analysis, Commentary]);
    let two = profile(&[Final, Analysis], &[], &[Commentary]);
    let agreed = one.negotiate(&two);
    assert_eq!(agreed, profile(&[Final, Analysis], &[Commentary], &[Commentary]));
    // If both sides have nothing in common, the profile is not active.
    let three = profile(&[], &[Analysis], &[]);
    assert!(!one.negotiate(&three).enabled);
    assert_eq!(three.negotiate(&three), three);
}

/// Returns the message and the help of the first diagnostic with this code.
fn words(text: &str, format: &str, code: Code) -> (String, String) {
    let format: Format = format.parse().expect("a format");
    let parsed = parse(text, format, &ReadOptions::default());
    let mut found = parsed.diagnostics.into_iter();
    let found = found.find(|found| found.code == code).expect("a finding");
    (found.message, found.help.unwrap_or_default())
}

/// The help for an unknown role suggests only roles of the dialect.
#[test]
fn roles_of_other_dialects_are_not_suggested() {
    let hidden = "the message is hidden";
    let chatml = |role: &str| {
        words(
            &format!("<|start|>{role}<|message|>Hi.<|end_message|>"),
            "chatml-wire:text",
            Code::ParseHeader,
        )
    };
    let (said, help) = chatml("tool");
    assert_eq!(said, "unknown role `tool`");
    assert_eq!(help, format!("{hidden}; valid roles: system, user, assistant"));
    assert_eq!(chatml("develper").1, help);
    assert_eq!(chatml("assistan").1, format!("did you mean `assistant`? {help}"));
    let im = |role: &str| {
        words(&format!("<|im_start|>{role}\nHi.<|im_end|>\n"), "chatml", Code::ParseHeader)
    };
    let (said, help) = im("developer");
    assert_eq!(said, "unknown role `developer`");
    assert_eq!(help, format!("{hidden}; valid roles: system, tool, user, assistant"));
    assert_eq!(im("assistan").1, format!("did you mean `assistant`? {help}"));
}

/// A message with two tags need not have two channels.
#[test]
fn a_second_tag_is_called_a_tag() {
    for channel in ["", "analysis", "final"] {
        let text = format!(
            "version: 2.2\n\n<|start|>assistant<|channel|>analysis<|channel|>{channel}<|message|>a<|end|>"
        );
        let said = words(&text, "openchatml-2.2", Code::ParseHeader).0;
        assert_eq!(said, "the header has a second channel tag");
    }
    // The formats with a constraint in their headers. One of them starts with a document header.
    for format in ["openchatml-2.2", "harmony"] {
        let text = "<|start|>assistant<|constrain|>json<|channel|>final<|message|>{}<|end|>";
        let text = format!("{}{text}", if format == "harmony" { "" } else { "version: 2.2\n\n" });
        let said = words(&text, format, Code::ParseHeader).0;
        assert_eq!(said, "the channel tag must precede all other tags");
    }
}

/// RFC 8259 §8.2 allows half of a surrogate pair.
#[test]
fn half_of_a_surrogate_pair_is_not_reported_as_illegal() {
    let half = "half of a surrogate pair is not valid text";
    let message = format!(r#"{{"messages":[{{"role":"user","content":{}}}]}}"#, r#""\ud800""#);
    let said = words(&message, "json", Code::ParseJson).0;
    assert!(said.starts_with(half), "{said}");
}

/// A profile can restrict channels, but not extend the specification.
#[test]
fn a_profile_that_allows_too_much_is_reported() {
    let text = "version: 2.2\nprofiles: {harmony: {enabled: true, tool_calls_in: [analysis]}}\n\n\
        <|start|>user<|message|>Hi.<|end|>";
    let (said, help) = words(text, "openchatml-2.2", Code::ParseHeader);
    assert_eq!(said, "`tool_calls_in` contains `analysis`, but such tools cannot be called there");
    assert_eq!(help, "`analysis` is ignored; use `commentary`");
}

/// A diagnostic is truncated between characters.
#[test]
fn long_diagnostics_are_truncated() {
    let channels = vec!["commentary"; 1000].join(", ");
    let text = format!(
        "version: 2.2\nprofiles: {{harmony: {{enabled: true, require_channels: [{channels}]}}}}\n\n\
         <|start|>assistant<|message|>Hi.<|end|>\n"
    );
    let format = "openchatml-2.2".parse().expect("a format");
    let parsed = parse(&text, format, &ReadOptions::default());
    let mut found = parsed.diagnostics.iter();
    let missing = found.find(|found| found.code == Code::ParseChannelMissing).expect("a finding");
    let help = missing.help.as_deref().expect("help");
    assert!(help.len() <= 4096 && help.ends_with('…'), "{}", help.len());
}
