//! Which format a template writes.

use std::fs;
use std::path::Path;

use openchatml_templates::{Options, Template, TemplateFile, recognize};
use openchatml_testkit::external_files;

/// Returns the names of the best formats of a template: those that no other one exceeds.
fn format_of(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).expect("a template");
    let file = TemplateFile::read(&text).expect("a template");
    let template = Template::new(file.choose(None, true).ok()?, &Default::default()).ok()?;
    let mut options = Options::default();
    options.date = Some("2025-07-10".parse().expect("a date"));
    let is_of =
        |family: &str| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(family));
    let tokens = match is_of("deepseek") {
        true => ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"],
        false if is_of("llama") => ["<|begin_of_text|>", "<|eot_id|>"],
        false => ["<bos>", "</s>"],
    };
    for (name, token) in ["bos_token", "eos_token"].into_iter().zip(tokens) {
        options.special_tokens.push((name.into(), token.into()));
    }
    let found = recognize(&template, &options);
    found.first().map(|fit| fit.format.to_string())
}

#[test]
fn templates_of_this_repository() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/templates");
    for (name, format) in [("chatml", Some("chatml")), ("qwen3_like", Some("qwen3"))] {
        let found = format_of(&folder.join(name).with_extension("jinja"));
        assert_eq!(found.as_deref(), format, "{name}");
    }
}

#[test]
fn templates_of_other_projects() {
    let what = "the folder `chat_templates` of the Python package `trl`";
    let Some(folder) = external_files::folder("OPENCHATML_TEMPLATES", None, what) else { return };
    let known = [
        ("qwen3.jinja", Some("qwen3")),
        ("qwen2_5.jinja", Some("qwen3")),
        ("qwen3_5_think.jinja", Some("qwen3.5")),
        ("qwen3_6.jinja", Some("qwen3.6")),
        ("qwen3_8.jinja", Some("qwen3.8")),
        ("nemotron_3_nano.jinja", Some("nemotron-3")),
        ("nemotron_3_ultra.jinja", Some("nemotron-3-ultra")),
        ("gptoss.jinja", Some("harmony")),
        ("glm4moe.jinja", Some("glm-4.5")),
        ("deepseekv3.jinja", Some("deepseek-v3")),
        ("gemma4.jinja", Some("gemma-4")),
        ("llama3.jinja", Some("llama-3")),
        ("llama3_1.jinja", Some("llama-3")),
        ("llama3_2.jinja", Some("llama-3")),
        ("lfm2_v2.jinja", Some("lfm2")),
        ("lfm2_2_5_v2.jinja", Some("lfm2.5")),
        ("lfm2_2_5_vl.jinja", Some("lfm2.5")),
        ("phi3.jinja", None),
    ];
    for (name, format) in known {
        assert_eq!(format_of(&folder.join(name)).as_deref(), format, "{name}");
    }
}
