//! Templates have the output that they have in `transformers`, as `goldens/record.py` recorded it.
//!
//! `OPENCHATML_TEMPLATES` names a folder with more templates and their recorded output (`record.py
//! FOLDER`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::path::{Path, PathBuf};

use openchatml::{Code, Conversation, Format, Limits as ReadLimits, parse};
use openchatml_templates::{Options, Rendered, Template, TemplateError};
use serde_json::Value;

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

fn cases(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn conversation(json: &str) -> Conversation<'static> {
    let parsed = parse(json, Format::JSON, &Default::default());
    assert!(parsed.diagnostics.is_empty(), "{json}: {:?}", parsed.diagnostics);
    parsed.into_conversation().into_owned()
}

/// The difference from the recorded output.
fn difference(case: &Value, rendered: &Result<Rendered, TemplateError>) -> Option<String> {
    let is_same = match rendered {
        Ok(rendered) => {
            let blocks: Vec<_> =
                rendered.generation.iter().map(|it| vec![it.start, it.end]).collect();
            case["text"] == rendered.text && case["generation"] == serde_json::json!(blocks)
        }
        Err(error) if error.code == Code::Limit => case["error"] == "RecursionError",
        Err(error) if error.code != Code::TemplateRender && error.code != Code::TemplateSyntax => {
            false
        }
        Err(error) => match case["raised"].as_str() {
            Some(raised) => raised == error.message,
            None => case["error"].is_string(),
        },
    };
    let said = match rendered {
        Ok(rendered) => format!("{:?} {:?}", rendered.text, rendered.generation),
        Err(error) => format!("{error:?}"),
    };
    let source = case["source"].as_str().or(case["template"].as_str());
    (!is_same).then(|| format!("{}\n  {said}\n  {case}", source.unwrap_or_default()))
}

const MESSAGES: &str = r#"{"messages": [{"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4."},
    {"role": "user", "content": "Thanks."}]}"#;
const DATA: &str = r#"{"x": "<b>\"é\u2028\ud83d\ude00\u007f\u0001", "y": [1, 2.0, 1e16, true, null],
    "z": {"a": {}, "b": []}, "last": "/"}"#;
const NUMBERS: &str =
    "[1, 1.0, 1.50, 1e5, 1E400, -0.0, 0.00001, 123456789012345678901234567890123456789012345, -5]";

#[test]
fn snippets_are_evaluated_like_in_transformers() {
    let conversation = conversation(MESSAGES);
    let mut options = Options::default();
    options.date = Some("2025-06-28".parse().unwrap());
    for (name, json) in [("data", DATA), ("numbers", NUMBERS)] {
        let value = openchatml::Value::from_json(json, &ReadLimits::default()).unwrap();
        options.variables.push((name.into(), value));
    }
    let mut differences = Vec::new();
    for case in cases(&goldens().join("snippets.jsonl")) {
        let source = case["source"].as_str().unwrap();
        let rendered = Template::new(source, &Default::default())
            .and_then(|template| template.render_pieces(&conversation, &options));
        differences.extend(difference(&case, &rendered));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn conversations_are_written_like_in_transformers() {
    compare(&goldens().join("conversations.jsonl"), &goldens().join("templates"));
    if let Some(folder) = std::env::var_os("OPENCHATML_TEMPLATES") {
        let folder = PathBuf::from(folder);
        compare(&folder.join("conversations.jsonl"), &folder);
    }
}

fn compare(recorded: &Path, templates: &Path) {
    let mut differences = Vec::new();
    let (mut said, mut lenient) = (0, 0);
    for case in cases(recorded) {
        let source =
            std::fs::read_to_string(templates.join(case["template"].as_str().unwrap())).unwrap();
        let conversation = conversation(case["document"].as_str().unwrap());
        let mut options = Options::default();
        options.date = Some("2025-06-28".parse().unwrap());
        options.generation_prompt = case["prompt"] == true;
        options.thinking = case["thinking"].as_bool();
        options.special_tokens =
            vec![("bos_token".into(), "<s>".into()), ("eos_token".into(), "</s>".into())];
        let rendered = Template::new(&source, &Default::default())
            .and_then(|template| template.render_pieces(&conversation, &options));
        said += usize::from(rendered.is_ok());
        let is_lenient = rendered.is_ok() && case["error"] == "TypeError";
        lenient += usize::from(is_lenient);
        differences.extend(difference(&case, &rendered).filter(|_| !is_lenient));
    }
    // Python refuses some expressions for which the engine returns nothing, such as a list as a
    // key.
    assert!(lenient == 0 || lenient * 50 < said, "{lenient} of {said}");
    assert!(differences.is_empty(), "{} differ: {}", differences.len(), differences.join("\n"));
    assert!(said > 0);
}
