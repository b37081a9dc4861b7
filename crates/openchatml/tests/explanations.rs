//! Checks that the example of each explanation produces its code, and that the fixed example does
//! not. `docs/diagnostics.md` is generated from the explanations.
//!
//! In addition to the words of [`markdown`], an info string can contain `to=FORMAT` for a
//! conversion and `view=INDEX` for a request to the user view. Everything is read in strict mode.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod markdown;

use markdown::Block;
use openchatml::{
    Code, Conversation, Diagnostic, Format, Message, Policy, ReadOptions, RenderOptions, Role,
    Severity, Span, apply_fixes, convert, detect, lint, parse,
};
use openchatml_templates::Template;
use openchatml_testkit::markdown::{
    Line, Place, anchor, docs as folder, keep, lines, push_line, with_blocks,
};

#[test]
fn every_explanation_has_its_title_and_both_sections() {
    for code in Code::ALL {
        let text = code.explanation();
        let headings: Vec<_> = lines(text).filter(|line| line.level > 0).collect();
        let headings: Vec<_> = headings.iter().map(|line| line.text).collect();
        let title = format!("# {code}: {}", code.title());
        assert_eq!(headings, [title.as_str(), "## Example", "## Fix"]);
        let length = text.lines().count();
        assert!((15..=45).contains(&length), "{code} has {length} lines");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{code} ends in one line break");
    }
}

#[test]
fn every_example_produces_its_code() {
    for code in Code::ALL {
        for block in blocks(*code, "## Example") {
            let found = findings(&block);
            let codes: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert!(found.iter().any(|found| found.code == *code), "{code}: {codes:#?}");
        }
    }
}

#[test]
fn every_fixed_example_has_no_errors_and_not_its_code() {
    for code in Code::ALL {
        for block in blocks(*code, "## Fix") {
            let mut found = findings(&block);
            found.retain(|found| found.code == *code || found.severity == Severity::Error);
            assert!(found.is_empty(), "{code}: {found:#?}");
        }
    }
}

#[test]
fn every_span_is_inside_its_example() {
    for code in Code::ALL {
        for block in blocks(*code, "## Example") {
            let is_text = block.info == TEMPLATE || block.info == DETECT;
            let len = if is_text { block.text.len() } else { block.bytes().len() };
            for found in findings(&block) {
                assert!(found.span.end <= len, "{code}: {found}");
            }
        }
    }
}

/// A fix that the reader offers for an example resolves its diagnostic.
#[test]
fn offered_fixes_fix_the_examples() {
    let mut offered = 0;
    for code in Code::ALL {
        for block in blocks(*code, "## Example") {
            let mut found = findings(&block);
            found.retain(|found| found.code == *code);
            let fixes: Vec<_> = found.iter().filter_map(|found| found.fix.as_ref()).collect();
            if fixes.is_empty() {
                continue;
            }
            let (text, applied) = apply_fixes(&block.text, fixes.iter().copied());
            assert_eq!(applied, fixes.len(), "{code}");
            let mended = Block { text, ..block.clone() };
            let left = findings(&mended);
            assert!(left.iter().all(|found| found.code != *code), "{code}: {}", mended.text);
            offered += 1;
        }
    }
    assert!(offered >= 3, "the reader offers a fix for {offered} examples only");
}

#[test]
fn docs_are_generated() {
    keep(&folder().join("diagnostics.md"), &docs());
}

/// Returns the code blocks of a section of an explanation. There must be at least one.
fn blocks(code: Code, section: &str) -> Vec<Block> {
    let mut text = String::new();
    let mut is_here = false;
    for line in lines(code.explanation()) {
        if line.level > 0 {
            is_here = line.text == section;
        }
        if is_here {
            push_line(&mut text, line.text);
        }
    }
    let mut blocks = Vec::new();
    with_blocks(&text, |info, content| {
        blocks.push(Block { info: info.to_owned(), text: content.to_owned() });
        None
    });
    assert!(!blocks.is_empty(), "{code} has no code block in its section `{section}`");
    blocks
}

/// Returns the diagnostics of a block in strict mode, processed as its info string specifies.
fn findings(block: &Block) -> Vec<Diagnostic> {
    if block.info == TEMPLATE {
        return of_template(&block.text).err().into_iter().collect();
    }
    if block.info == DETECT {
        let found = detect(&block.text);
        let is_certain = found.first().is_some_and(openchatml::Candidate::is_certain);
        let unknown = Code::FormatUnknown.at(Span::at(0), "cannot tell the format");
        return if is_certain { Vec::new() } else { vec![unknown] };
    }
    if block.info == LINES {
        return duplicates(&block.text);
    }
    let strict = Block { info: format!("{} strict", block.info), ..block.clone() };
    let parsed = strict.read();
    let mut found = parsed.diagnostics;
    let conversation = parsed.document.clone().into_conversation();
    found.extend(lint::check(&parsed.document, lint::SAMPLE));
    if let Some(format) = block.value("to") {
        let format = format.parse().unwrap();
        match convert::convert(&parsed.document, format, &RenderOptions::default()) {
            Ok(converted) => {
                let losses = converted.losses.iter();
                found.extend(losses.map(|loss| loss.to_diagnostic(Severity::Warning)));
            }
            Err(error) => found.push(error.to_diagnostic(&conversation)),
        }
    }
    if let Some(index) = block.value("view") {
        let view = Policy::default().view(&conversation);
        found.extend(view.message(index.parse().unwrap()).err().map(|refused| *refused));
    }
    found
}

/// The info string of a chat template.
const TEMPLATE: &str = "jinja";

/// The info string of a text whose format is detected.
const DETECT: &str = "detect";

/// The info string of records, one in each line.
const LINES: &str = "jsonl";

/// Finds records that occur twice.
fn duplicates(text: &str) -> Vec<Diagnostic> {
    let mut known = Vec::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let parsed = parse(line, Format::OPENAI, &ReadOptions::default());
        let fingerprint = lint::fingerprint(&parsed.document);
        if known.contains(&fingerprint) {
            found.push(Code::Duplicate.at(Span::at(0), "the same conversation again"));
        }
        known.push(fingerprint);
    }
    found
}

/// Writes a conversation with a chat template.
fn of_template(source: &str) -> Result<(), Diagnostic> {
    let question = Conversation::from_messages([Message::new(Role::User, "What is 2 + 2?")]);
    let template = Template::new(source, &Default::default());
    let rendered = template.and_then(|it| it.render(&question, &Default::default()));
    rendered.map(drop).map_err(|error| error.to_diagnostic(&question))
}

/// Returns `docs/diagnostics.md`: the list of codes, and each explanation one level lower.
fn docs() -> String {
    let mut out = String::from(INTRODUCTION);
    for code in Code::ALL {
        let title = code.title();
        let anchor = anchor(&format!("{code}: {title}"));
        out.push_str(&format!("| [`{code}`](#{anchor}) | {} | ", title.replace('|', "\\|")));
        out.push_str(&format!("{} |\n", code.user_summary()));
    }
    for code in Code::ALL {
        out.push('\n');
        for line in lines(code.explanation()) {
            push_lower(&mut out, &line);
        }
    }
    out
}

fn push_lower(out: &mut String, line: &Line<'_>) {
    if line.level > 0 {
        out.push('#');
    }
    if line.place == Place::Opening {
        // Markdown viewers do not show info strings.
        out.push_str(&format!("{}\n\n", read_as(line.text.trim_start_matches('`'))));
    }
    push_line(out, line.text);
}

/// Describes the info string of a block.
fn read_as(info: &str) -> String {
    if info == TEMPLATE {
        return "As a chat template, with a question of the user:".to_owned();
    }
    let mut text = String::from("Read as");
    for (index, word) in info.split_whitespace().enumerate() {
        let clause = match word.split_once('=') {
            _ if index == 0 => format!(" `{word}`"),
            Some(("to", format)) => format!(", and written as `{format}`"),
            Some(("view", index)) => format!(", and message {index} of the user's view asked for"),
            Some(("continues", role)) => format!(", continuing a prompt of role `{role}`"),
            Some((limit, value)) if limit.starts_with("limit:") => {
                format!(", with a limit `{}` of {value}", &limit["limit:".len()..])
            }
            None if word == "bytes" => ", with `\\xNN` for a byte".to_owned(),
            None if word == "repair" => ", with repaired calls".to_owned(),
            None if word == "tokens" => " token ids, with `\\id{N}` for the id N".to_owned(),
            _ => panic!("`{word}` says nothing here"),
        };
        text.push_str(&clause);
    }
    text.push(':');
    text
}

const INTRODUCTION: &str = "\
<!-- Made from crates/openchatml/src/diagnostic/explain/*.md.
To change it, edit these files and run: UPDATE_DOCS=1 cargo test -p openchatml --test explanations -->

# Diagnostics

What this project reports has a code that never changes its meaning.
`ocml explain CODE` prints the text below for one of them.

Codes with `E-` are errors unless their text says otherwise, codes with `W-` are warnings or notes.
The first eight are the error taxonomy of OpenChatML 2.2 §14; the others are of the same style and cover what none of the eight fits.
The last column is what an end user may be told: it quotes nothing, so it is the same whatever hidden text says.

The examples and the fixes are read in strict mode, by a test of this repository.

| code | what it is | what a user may be told |
| --- | --- | --- |
";
