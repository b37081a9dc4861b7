//! The grammars in `docs/guide` equal the generated ones.
//!
//! A block `json tools` declares tools for the blocks after it. `lark FORMAT` is a grammar, `text
//! unsaid FORMAT LANGUAGE` what one does not say. `UPDATE_DOCS=1` writes these blocks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::harmony::Namespace;
use openchatml::{Format, Tool, parse};
use openchatml_grammars::{Grammar, Language, grammar};
use openchatml_testkit::markdown::{keep_guides, with_blocks};

#[test]
fn guides_show_current_grammars() {
    keep_guides(|text, _| guide(text));
}

/// The guide with the generated grammars.
fn guide(text: &str) -> String {
    let mut tools = Vec::new();
    with_blocks(text, |info, content| {
        if info == "json tools" {
            tools = declared(content);
        }
        shown(info, &tools)
    })
}

fn declared(json: &str) -> Vec<Tool<'static>> {
    let parsed = parse(json, Format::JSON, &Default::default());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.into_conversation().into_owned().tools
}

/// The content of a generated block. `None` for other blocks.
fn shown(info: &str, tools: &[Tool<'static>]) -> Option<String> {
    let written = |format: &str, language| -> Grammar {
        let tools = match format {
            "chatml" => Vec::new(),
            _ => vec![Namespace::functions(tools.to_vec())],
        };
        grammar(format.parse().unwrap(), &tools, language, &Default::default()).unwrap()
    };
    match info.split(' ').collect::<Vec<_>>().as_slice() {
        ["lark", format] => Some(written(format, Language::Lark).text),
        ["text", "unsaid", format, language] => {
            let unenforced = written(format, Language::from_word(language)?).unenforced;
            Some(unenforced.iter().map(|unenforced| format!("{unenforced}\n")).collect())
        }
        _ => None,
    }
}
