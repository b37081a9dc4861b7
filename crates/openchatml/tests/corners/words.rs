//! Small values: what they are called, and what they say of others.

use openchatml::{
    Channel, Code, Content, Data, Format, HarmonyProfile, Limits, ReadOptions, Reply, Value, parse,
};

#[test]
fn values_are_called_what_they_are_and_are_nothing_else() {
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
fn names_that_nothing_has_are_quoted() {
    let error = "no\tsuch".parse::<Format>().expect_err("no format");
    assert_eq!(error.to_string(), "no format is called `no\\tsuch`");
    assert_eq!(error.name(), "no\tsuch");
    assert_eq!(Limits::default().get_mut("patience"), None);
}

#[test]
fn a_reply_keeps_all_that_it_says() {
    let body = r#"{"ok":true,"content":1,"provenance":{"source":"s"},"more":[2]}"#;
    let reply = Reply::parse(body, &Limits::default()).expect("an envelope");
    let source = reply.provenance.as_ref().and_then(|it| it.get("source")?.as_str());
    assert_eq!((source, reply.extra.len()), (Some("s"), 1));
    assert_eq!(reply.to_json(), body);
}

#[test]
fn two_sides_agree_on_what_both_allow() {
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
    // Where nothing is left that both allow, the profile cannot be in force.
    let three = profile(&[], &[Analysis], &[]);
    assert!(!one.negotiate(&three).enabled);
    assert_eq!(three.negotiate(&three), three);
}

/// A finding is cut between characters.
#[test]
fn long_findings_are_cut() {
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
