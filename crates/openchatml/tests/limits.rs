//! Every limit, at every place that checks it: with one less than it allows, with exactly the
//! limit, and with one more.

#[path = "limits/inputs.rs"]
mod inputs;

use std::collections::BTreeSet;

use openchatml::convert::convert;
use openchatml::{
    Code, Conversation, Diagnostic, Format, Limits, Message, Policy, ReadOptions, RenderOptions,
    Reply, Role, Severity, parse, render,
};

use self::inputs::{CASES, Case, framed, header, list};

/// Returns the diagnostics of a limit for an input with this size.
fn found(case: &Case, size: usize, limits: &Limits) -> Vec<Diagnostic> {
    let mut options = ReadOptions::default();
    options.limits = limits.clone();
    let text = (case.input)(size);
    let format = case.format.parse().expect("a format");
    let mut found = parse(&text, format, &options).diagnostics;
    found.retain(|found| found.code == Code::Limit);
    found
}

/// Returns the errors in enforcing a limit of `most`.
fn wrong(case: &Case, limits: &Limits, most: usize) -> Vec<String> {
    let Case { limit, format, input } = case;
    let mut wrong = Vec::new();
    for size in [most - 1, most] {
        if let Some(found) = found(case, size, limits).first() {
            wrong.push(format!("{size} should be allowed: {found}"));
        }
    }
    let text = input(most + 1);
    match found(case, most + 1, limits).first() {
        None => wrong.push("one more should be reported".to_owned()),
        Some(found) => {
            let is_named = found.message.contains(&format!("`{limit}` of {most}"));
            let is_place = text.get(found.span.range()).is_some();
            if !is_named || !is_place || found.severity != Severity::Error {
                wrong.push(format!("one more should be reported by name and place: {found}"));
            }
        }
    }
    let told = |what| format!("`{limit}` of {most} in {format}: {what}\n    {text:.100}");
    wrong.into_iter().map(told).collect()
}

/// Returns the errors in enforcing small limits.
fn wrong_with(cases: &[Case]) -> Vec<String> {
    // Large enough for the smallest input of each case.
    let most = 20;
    let wrong_with = |case: &Case| {
        let mut limits = Limits::default();
        *limits.get_mut(case.limit).expect("a limit") = most;
        wrong(case, &limits, most)
    };
    cases.iter().flat_map(wrong_with).collect()
}

#[test]
fn a_limit_allows_exactly_its_value() {
    let wrong = wrong_with(CASES);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// [`CASES`] are written by hand for some formats. This test covers every format: written messages
/// can be read within limits that just allow them.
#[test]
fn every_format_has_the_limits_of_messages() {
    let said = [(Role::System, "Be brief."), (Role::User, "Hello, you."), (Role::Assistant, "Hi.")];
    let said = said.map(|(role, text)| Message::new(role, text));
    let document = Conversation::from_messages(said).into();
    for format in Format::all() {
        let written = convert(&document, format, &RenderOptions::default());
        let text = written.expect("every format has these roles").output;
        let read = |limits: &Limits| {
            let mut options = ReadOptions::default();
            options.limits = limits.clone();
            parse(&text, format, &options)
        };
        let messages = read(&Limits::default()).into_conversation().messages;
        let longest = messages.iter().map(|message| message.body.len()).max();
        let counts = [("messages", messages.len()), ("message_bytes", longest.unwrap_or_default())];
        for (limit, most) in counts {
            for allowed in [most, most - 1] {
                let mut limits = Limits::default();
                *limits.get_mut(limit).expect("a limit") = allowed;
                let found = read(&limits).diagnostics;
                let name = format!("`{limit}` of {allowed}");
                let is_told = found.iter().any(|found| found.message.contains(&name));
                assert_eq!(is_told, allowed < most, "{format}, {limit}: {found:?}\n{text}");
            }
        }
    }
}

#[test]
fn every_default_allows_exactly_its_value() {
    let limits = Limits::default();
    let most = |case: &Case| *limits.clone().get_mut(case.limit).expect("a limit");
    // Many or long messages take long, so only some formats are tested.
    let is_quick = |case: &&Case| match case.limit {
        "messages" => case.format == "chatml",
        "message_bytes" => matches!(case.format, "chatml" | "json" | "openchatml-2.0"),
        // There is nothing less than zero.
        "yaml_aliases" => false,
        _ => true,
    };
    let wrong: Vec<_> =
        CASES.iter().filter(is_quick).flat_map(|case| wrong(case, &limits, most(case))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_limit_has_a_case() {
    let tried: BTreeSet<_> = CASES.iter().map(|case| case.limit).collect();
    let names: BTreeSet<_> = Limits::NAMES.iter().copied().collect();
    assert_eq!(tried, names);
    // A limit that is missing in `NAMES` fails here.
    let fields = format!("{:?}", Limits::default()).matches(": ").count();
    assert_eq!(fields, Limits::NAMES.len());
}

#[test]
fn defaults_equal_the_documentation() {
    let mut limits = Limits::default();
    for (name, value) in [
        ("message_bytes", 32 << 20),
        ("header_bytes", 64 << 10),
        ("value_bytes", 4 << 10),
        ("attributes", 32),
        ("messages", 1_000_000),
        ("yaml_depth", 32),
        ("yaml_nodes", 1024),
        ("yaml_aliases", 0),
        ("json_depth", 128),
        ("diagnostics", 1000),
    ] {
        assert_eq!(limits.get_mut(name), Some(&mut { value }), "{name}");
    }
}

/// Returns the diagnostics of a header with these lines.
fn found_in_header(lines: &str) -> Vec<Diagnostic> {
    let format = "openchatml-2.2".parse().expect("a format");
    parse(&header(lines), format, &ReadOptions::default()).diagnostics
}

#[test]
fn a_header_has_no_aliases_and_no_tags() {
    for lines in ["a: &x 1\nb: *x\n", "a: &x 1\n", "a: [&x 1, *x]\n", "a: &x {b: *x}\n"] {
        let found = found_in_header(lines);
        assert_eq!(found[0].code, Code::Limit, "{lines}");
        assert!(found[0].message.contains("`yaml_aliases` of 0"), "{lines}");
    }
    for lines in ["a: !!str 1\n", "a: !x {b: 1}\n", "a: [!!int 1]\n"] {
        let found = found_in_header(lines);
        assert_eq!(found[0].code, Code::ParseYaml, "{lines}");
        assert!(found[0].message.contains("tags"), "{lines}: {}", found[0]);
    }
}

#[test]
fn keys_have_no_tags_and_no_anchors() {
    for lines in ["!!str a: 1\n", "&x a: 1\n", "a: {!x b: 1}\n", "a: {&x b: 1}\n"] {
        assert!(!found_in_header(lines).is_empty(), "{lines}");
    }
}

#[test]
fn a_message_with_an_overlong_recipient_is_hidden() {
    let to = "x".repeat(5000);
    let line = format!(r#""recipient":"{to}","recovered":false,"channel":"final""#);
    for (format, text) in [
        ("json", format!(r#"{{"messages":[{{"role":"assistant",{line},"content":"Psst."}}]}}"#)),
        (
            "openchatml-2.2:json",
            format!(
                r#"[{{"role":"assistant","recipient":"{to}","channel":"final","content":"a"}}]"#
            ),
        ),
        ("openchatml-2.2", framed(&format!("assistant to={to}<|channel|>final"), "Psst.")),
    ] {
        let parsed = parse(&text, format.parse().expect("a format"), &ReadOptions::default());
        let conversation = parsed.into_conversation();
        assert_eq!(conversation.messages.len(), 1, "{format}");
        assert_eq!(Policy::default().view(&conversation).messages().count(), 0, "{format}");
    }
}

/// Returns the header with these lines as JSON, with aliases allowed, and the diagnostics.
fn with_aliases(lines: &str) -> (String, Vec<Diagnostic>) {
    let mut options = ReadOptions::default();
    options.limits.yaml_aliases = 100;
    let text = header(lines);
    let parsed = parse(&text, "openchatml-2.2".parse().expect("a format"), &options);
    let json = render(&parsed.document, Format::JSON, &RenderOptions::default());
    (json.expect("JSON says everything"), parsed.diagnostics)
}

#[test]
fn aliases_are_resolved_if_allowed() {
    let (json, found) = with_aliases("a: &x [1, &y b]\n&z c: {d: *x}\ne: [*y, *z]\n");
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(json, with_aliases("a: [1, b]\nc: {d: [1, b]}\ne: [b, c]\n").0);
    assert!(json.contains(r#""e":["b","c"]"#), "{json}");
}

#[test]
fn an_alias_bomb_stops_at_a_limit() {
    let mut lines = String::from("a0: &a0 [x, x]\n");
    for n in 1..30 {
        lines.push_str(&format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1));
    }
    let found = with_aliases(&lines).1;
    assert_eq!(found[0].code, Code::Limit, "{found:?}");
    assert!(found[0].message.contains("`yaml_nodes`"), "{}", found[0]);
    let found = with_aliases("a: &x [*x]\n").1;
    assert_eq!(found[0].code, Code::ParseYaml, "{found:?}");
}

#[test]
fn duplicate_keys_are_diagnosed() {
    for (format, text) in [
        ("openchatml-2.2", header("a: 1\na: 2\n")),
        ("openchatml-2.2", header("a: {b: 1, b: 2}\n")),
        (
            "openchatml-2.2",
            framed("assistant<|channel|>final<|constrain|>json", r#"{"a":1,"a":2}"#),
        ),
        ("openchatml-2.2:json", r#"[{"role":"user","content":"a","content":"b"}]"#.to_owned()),
        ("openchatml-2.0:json", r#"[{"role":"user","content":"a","content":"b"}]"#.to_owned()),
        ("chatml-wire", r#"[{"token":"<|start|>","token":"<|start|>"}]"#.to_owned()),
        ("json", r#"{"header":{"version":"2.2","a":1,"a":2},"messages":[]}"#.to_owned()),
        ("json", r#"{"messages":[],"messages":[]}"#.to_owned()),
    ] {
        let parsed = parse(&text, format.parse().expect("a format"), &ReadOptions::default());
        let mut codes = parsed.diagnostics.iter().map(|found| found.code);
        assert!(codes.any(|code| code == Code::DuplicateKey), "{format}: {text}");
    }
}

#[test]
fn separately_parsed_json_has_a_limit() {
    let mut limits = Limits::default();
    limits.json_depth = 3;
    let body = |depth: usize| format!(r#"{{"ok":true,"content":{}}}"#, inputs::arrays(depth - 1));
    assert!(Reply::parse(&body(2), &limits).is_some());
    assert!(Reply::parse(&body(3), &limits).is_some());
    assert_eq!(Reply::parse(&body(4), &limits), None);
}

/// Even with the highest limits, nested input is refused before a stack overflow.
#[test]
fn no_limit_allows_a_stack_overflow() {
    let mut options = ReadOptions::default();
    options.limits.json_depth = usize::MAX;
    options.limits.yaml_depth = usize::MAX;
    options.limits.yaml_nodes = usize::MAX;
    options.limits.header_bytes = usize::MAX;
    for case in CASES.iter().filter(|case| case.limit.ends_with("_depth")) {
        let text = (case.input)(3000);
        let parsed = parse(&text, case.format.parse().expect("a format"), &options);
        let mut found = parsed.diagnostics.iter();
        assert!(found.any(|found| found.code == Code::Limit), "{}", case.format);
    }
}

#[test]
fn diagnostics_have_at_most_four_kibibytes() {
    let long = "x".repeat(60_000);
    let channels = list("commentary", 1000);
    for (format, text) in [
        ("openchatml-2.2", framed(&long, "Hi.")),
        ("openchatml-2.2", framed(&format!("user {long}"), "Hi.")),
        ("openchatml-2.2", framed(&format!("assistant<|channel|>{long}"), "Hi.")),
        ("openchatml-2.2", header(&format!("{long}: 1\n{long}: 2\n"))),
        ("openchatml-2.2", header(&format!("generation_settings: {{reasoning_effort: {long}}}\n"))),
        (
            "openchatml-2.2",
            header(&format!(
                "profiles: {{harmony: {{enabled: true, require_channels: [{channels}]}}}}\n"
            )) + "<|start|>assistant<|message|>Hi.<|end|>\n",
        ),
        ("openchatml-0.1", inputs::turn(&long, "Hi.")),
        ("json", format!(r#"{{"{long}":1}}"#)),
        ("chatml-wire", format!(r#"[{{"token":"{long}"}}]"#)),
    ] {
        let parsed = parse(&text, format.parse().expect("a format"), &ReadOptions::default());
        assert!(!parsed.diagnostics.is_empty(), "{format}: {text:.100}");
        for found in &parsed.diagnostics {
            let help = found.help.as_deref().unwrap_or_default();
            assert!(found.message.len() <= 4096 && help.len() <= 4096, "{format}: {text:.100}");
        }
    }
}
