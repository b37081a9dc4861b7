//! The commands of the README run on the examples of the repository.

use std::path::Path;

use crate::support::Folder;

/// Runs the commands under "Five starts", as they are written. Their texts have no spaces inside of
/// quotation marks.
#[test]
fn the_five_starts_work() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("examples")).unwrap();
    for entry in std::fs::read_dir(repository.join("examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let content = std::fs::read(repository.join("examples").join(&name)).unwrap();
        folder.file(&format!("examples/{name}"), content);
    }
    let readme = std::fs::read_to_string(repository.join("README.md")).unwrap();
    let starts = readme.split("\n## ").find(|it| it.starts_with("Five starts")).unwrap();
    let commands: Vec<_> = starts.lines().filter_map(|line| line.strip_prefix("ocml ")).collect();
    assert!(commands.len() > 10, "{commands:?}");
    for line in commands {
        let line = line.split('#').next().unwrap_or_default();
        let (line, input) = line.split_once('<').unwrap_or((line, ""));
        let input = input.trim();
        let input = if input.is_empty() { String::new() } else { folder.read(input) };
        let args = line.split_ascii_whitespace().map(|word| word.trim_matches('\''));
        let ran = folder.ocml_with(args, input);
        if line.contains("http://") {
            // No model is here.
            ran.exits(2).says("cannot connect to the upstream");
        } else {
            assert!(ran.status < 2, "{line}: {ran:#?}");
            let has_findings =
                ["completion.txt", "stream", "harmony:json"].iter().any(|it| line.contains(it));
            assert!(ran.status == 0 || has_findings, "{line}: {ran:#?}");
        }
    }
}
