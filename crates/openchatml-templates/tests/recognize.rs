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
    for (name, token) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
        options.special_tokens.push((name.into(), token.into()));
    }
    let found = recognize(&template, &options);
    if std::env::var_os("SHOW_FITS").is_some() {
        println!("{}: {found:?}", path.display());
    }
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
    let known =
        [("qwen3.jinja", "qwen3"), ("gptoss.jinja", "harmony"), ("glm4moe.jinja", "glm-4.5")];
    for (name, format) in known {
        assert_eq!(format_of(&folder.join(name)).as_deref(), Some(format), "{name}");
    }
    let mut all: Vec<_> =
        fs::read_dir(folder).expect("a folder").flatten().map(|it| it.path()).collect();
    all.sort();
    for path in all.iter().filter(|it| it.extension().is_some_and(|it| it == "jinja")) {
        println!("{:50} {:?}", path.file_name().unwrap_or_default().display(), format_of(path));
    }
}
