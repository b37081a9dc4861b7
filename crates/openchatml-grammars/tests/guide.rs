//! The grammars in `docs/guide/constrained-decoding.md` are what they are said to be.
//!
//! A block `json tools` declares tools for the blocks after it. `lark FORMAT` is a grammar, `text
//! unsaid FORMAT LANGUAGE` what one does not say. `UPDATE_DOCS=1` writes these blocks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::path::Path;

use openchatml::harmony::Namespace;
use openchatml::{Format, Tool, parse};
use openchatml_grammars::{Grammar, Language, grammar};

#[test]
fn the_guide_shows_grammars_as_they_are() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/constrained-decoding.md");
    let stored = std::fs::read_to_string(&path).unwrap();
    let wanted = guide(&stored);
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        let beside = path.with_extension("md.new");
        std::fs::write(&beside, wanted).unwrap();
        std::fs::rename(&beside, &path).unwrap();
        return;
    }
    let stale = stored.lines().zip(wanted.lines()).find(|(stored, wanted)| stored != wanted);
    assert!(stored == wanted, "stale, run with UPDATE_DOCS=1: {stale:#?}");
}

/// The guide with the grammars that belong in it.
fn guide(text: &str) -> String {
    let mut out = String::new();
    let mut tools = Vec::new();
    // The info string of the block, and what is in it.
    let mut block: Option<(String, String)> = None;
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        match &mut block {
            Some((_, content)) if !is_fence => {
                content.push_str(line);
                content.push('\n');
                continue;
            }
            Some((info, content)) => {
                if info == "json tools" {
                    tools = declared(content);
                }
                out.push_str(&shown(info, &tools).unwrap_or_else(|| content.clone()));
                block = None;
            }
            None if is_fence => block = Some((line[3..].to_owned(), String::new())),
            None => {}
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn declared(json: &str) -> Vec<Tool<'static>> {
    let parsed = parse(json, Format::JSON, &Default::default());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.into_conversation().into_owned().tools
}

/// What a block shows, if it does.
fn shown(info: &str, tools: &[Tool<'static>]) -> Option<String> {
    let written = |format: &str, language| -> Grammar {
        let tools = match format {
            "im" => Vec::new(),
            _ => vec![Namespace::functions(tools.to_vec())],
        };
        grammar(format.parse().unwrap(), &tools, language, &Default::default()).unwrap()
    };
    match info.split(' ').collect::<Vec<_>>().as_slice() {
        ["lark", format] => Some(written(format, Language::Lark).text),
        ["text", "unsaid", format, language] => {
            let unsaid = written(format, Language::from_word(language)?).unsaid;
            Some(unsaid.iter().map(|unsaid| format!("{unsaid}\n")).collect())
        }
        _ => None,
    }
}
