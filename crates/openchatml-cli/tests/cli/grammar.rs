//! `grammar`.

use crate::support::{Folder, json};

const TOOLS: &str = r#"[{"type":"function","function":{"name":"get_weather","parameters":
  {"type":"object","properties":{"city":{"type":"string","pattern":"^[A-Z]"}},"required":["city"]}}}]"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("tools.json", TOOLS);
    folder
}

#[test]
fn each_language_has_a_grammar() {
    let folder = folder();
    let args = ["grammar", "-t", "harmony", "--tools", "tools.json", "--for"];
    let ran = |language| folder.ocml([&args[..], &[language]].concat());
    let lark = ran("lark").silent().stdout;
    assert!(lark.starts_with("start: ") && lark.contains("to=functions.get_weather"), "{lark}");
    let gbnf = ran("gbnf").exits(0);
    assert!(gbnf.stdout.starts_with("root ::= "), "{gbnf:#?}");
    gbnf.says("warning[W-LOSS]: functions.get_weather at /properties/city: `pattern` is not");
    let tag = ran("structural-tag").exits(0);
    assert_eq!(json(&tag.stdout)["type"], "structural_tag");
}

#[test]
fn grammars_follow_the_options() {
    let folder = folder();
    folder.file("answer.json", r#"{"type":"object","properties":{"n":{"const":7}}}"#);
    let args = ["grammar", "-t", "openchatml-2.2", "--for", "lark", "--tools", "tools.json"];
    let ran = |more: &[&str]| folder.ocml([&args, more].concat()).exits(0).stdout;
    let all = ran(&["--answer", "answer.json", "--builtin", "python"]);
    for word in ["analysis", "intent=preamble", "final", r#"{"enum":[7]}"#, "to=python"] {
        assert!(all.contains(word), "{word}: {all}");
    }
    let call = ran(&["--choice", "get_weather", "--reasoning", "forbidden", "--before", "1"]);
    assert!(!call.contains("analysis") && !call.contains("final"), "{call}");
    let text = ran(&["--choice", "none", "--spelled", "--preambles", "forbidden"]);
    assert!(!text.contains("commentary") && !text.contains(" <|message|> "), "{text}");
    let stops = ran(&["--choice", "required", "--stop", "call"]);
    assert!(!stops.contains("<|call|>"), "{stops}");
    let gbnf = ["grammar", "-t", "chatml", "--for", "gbnf"];
    let ran = |more: &[&str]| folder.ocml([&gbnf, more].concat()).exits(0).stdout;
    assert!(!ran(&[]).starts_with("root ::= text <|im_end|>\n"));
    assert!(ran(&["--stop", "none"]).starts_with("root ::= text <|im_end|>\n"));
}

#[test]
fn grammars_use_the_tokens_of_an_encoding() {
    let folder = folder();
    let ran = |language: &str, more: &[&str]| {
        let args = ["grammar", "-t", "harmony", "--tools", "tools.json", "--for", language];
        folder.ocml([&args, more].concat()).exits(0).stdout
    };
    let encoding = ["--encoding", "o200k_harmony"];
    let tag = ran("structural-tag", &encoding);
    assert!(!tag.contains("<|") && tag.contains(r#"{"type":"token","token":200005}"#), "{tag}");
    // `<|endoftext|>` and the last reserved token.
    assert!(tag.contains(",199999,") && tag.contains(",201087]"), "{tag}");
    let rules = |text: &str| text.lines().filter(|line| line.starts_with("text")).count();
    let (known, unknown) = (ran("gbnf", &encoding), ran("gbnf", &[]));
    assert!(rules(&known) > rules(&unknown), "{known}");
    let escapes = "json_allow_general_unicode_escapes";
    assert!(ran("lark", &[]).contains(escapes));
    assert!(!ran("lark", &["--no-unicode-escapes"]).contains(escapes));
}

#[test]
fn impossible_grammars_are_errors() {
    let folder = folder();
    let args = ["grammar", "-t", "harmony", "--for", "gbnf"];
    let ran = |more: &[&str]| folder.ocml([&args, more].concat());
    assert!(ran(&["--choice", "f"]).says_one_line(2).contains("unknown tool `f`"));
    assert!(ran(&["--choice", "required"]).says_one_line(2).contains("no tool can be called"));
    let ran = ran(&["--tools", "tools.json", "--no-loss"]).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("`pattern` is not enforced");
    folder.file("broken.json", "{\n\"type\": }");
    let args = ["grammar", "-t", "harmony", "--for", "lark", "--answer", "broken.json"];
    let ran = folder.ocml(args).exits(1);
    ran.says("broken.json:2").says("the schema in `broken.json` cannot be used");
}
