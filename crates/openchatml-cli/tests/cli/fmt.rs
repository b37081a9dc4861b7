//! `fmt`: the canonical layout.

use crate::support::{BAD, Folder, GOOD, MESSAGES, ocml_with};

/// White space between messages, and attributes in another order.
const LOOSE: &str = "version: 2.2\n\n<|start|>user name=a to=b<|message|>Hi.<|end|>   \n\n\n\
    <|start|>assistant<|message|>Yo.<|end|>";

#[test]
fn files_are_rewritten_in_place() {
    let folder = Folder::new();
    folder.file("loose.txt", LOOSE);
    folder.file("good.txt", GOOD);
    let ran = folder.ocml(["fmt", "--check", "loose.txt", "good.txt"]).exits(1);
    assert_eq!(ran.stdout, "loose.txt\n");
    assert_eq!(folder.read("loose.txt"), LOOSE);
    let ran = folder.ocml(["fmt", "loose.txt", "good.txt"]).exits(0);
    assert_eq!(ran.stderr, "1 file changed, 1 unchanged\n");
    let text = folder.read("loose.txt");
    assert!(text.contains("<|end|>\n<|start|>assistant"), "{text}");
    assert_eq!(folder.read("good.txt"), GOOD);
    assert_eq!(folder.names(), ["good.txt", "loose.txt"]);
    folder.ocml(["fmt", "--check", "-q", "loose.txt", "good.txt"]).silent();
}

#[test]
fn standard_input_goes_to_standard_output() {
    let text = ocml_with(["fmt"], LOOSE).silent().stdout;
    assert_eq!(ocml_with(["fmt", "-"], &text).exits(0).stdout, text);
    let ran = ocml_with(["fmt", "--check"], LOOSE).exits(1);
    assert_eq!(ran.stdout, "<stdin>\n");
    ocml_with(["fmt", "--check"], &text).silent();
}

#[test]
fn output_of_parse_is_already_formatted() {
    let parsed = ocml_with(["parse"], GOOD).stdout;
    ocml_with(["fmt", "--check"], parsed).silent();
    let spaced = MESSAGES.replace(',', ",\n  ");
    assert_eq!(ocml_with(["fmt"], spaced).silent().stdout, format!("{MESSAGES}\n"));
}

#[test]
fn files_with_errors_are_not_changed() {
    let folder = Folder::new();
    folder.file("bad.txt", BAD);
    folder.file("latin.txt", b"version: 2.2\n\n\n<|start|>user<|message|>\xE9<|end|>\n");
    folder.file("loose.txt", LOOSE);
    let ran = folder.ocml(["fmt", "bad.txt", "latin.txt", "loose.txt"]).exits(1);
    ran.says("E-PARSE-FRAME").says("E-PARSE-UTF8").says("1 file changed, 2 refused");
    assert_eq!(folder.read("bad.txt"), BAD);
    assert_ne!(folder.read("loose.txt"), LOOSE);
    assert_eq!(ocml_with(["fmt"], BAD).exits(1).stdout, "");
}

#[test]
fn a_byte_order_mark_is_removed() {
    let ran = ocml_with(["fmt"], format!("\u{feff}{GOOD}")).silent();
    assert_eq!(ran.stdout, GOOD);
}

#[test]
fn formatting_jsonl_changes_only_layout() {
    let folder = Folder::new();
    let loose = serde_json::to_string(LOOSE).unwrap();
    let good = serde_json::to_string(GOOD).unwrap();
    folder.file("a.jsonl", format!("{{\"id\": [1, 2],\"text\":  {loose}}}\r\n\n{good}"));
    folder.ocml(["fmt", "--check", "a.jsonl"]).exits(1);
    folder.ocml(["fmt", "a.jsonl"]).exits(0);
    let text = folder.read("a.jsonl");
    let lines: Vec<_> = text.split('\n').collect();
    let laid_out = ocml_with(["fmt"], LOOSE).stdout;
    let laid_out = serde_json::to_string(&laid_out).unwrap();
    assert_eq!(lines[0], format!("{{\"id\": [1, 2],\"text\":  {laid_out}}}"));
    assert_eq!(lines[1..], ["", &good, ""]);
    folder.ocml(["fmt", "--check", "-q", "a.jsonl"]).silent();
}

#[test]
fn jsonl_with_an_invalid_line_is_not_changed() {
    let folder = Folder::new();
    let text = format!("{}\n1\n", serde_json::to_string(LOOSE).unwrap());
    folder.file("a.jsonl", &text);
    folder.ocml(["fmt", "a.jsonl"]).exits(1).says("E-PARSE-JSON");
    assert_eq!(folder.read("a.jsonl"), text);
    assert_eq!(folder.names(), ["a.jsonl"]);
    let ran = folder.ocml_with(["fmt", "--jsonl"], &text).exits(1);
    assert!(ran.stdout.ends_with("\"\n1\n"), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    let path = folder.file("loose.txt", LOOSE);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("loose.txt", folder.path().join("link.txt")).unwrap();
    folder.ocml(["fmt", "link.txt"]).exits(0);
    assert_ne!(folder.read("loose.txt"), LOOSE);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(folder.path().join("link.txt")).unwrap().is_symlink());
    // A read-only file is not overwritten.
    let path = folder.file("fixed.txt", LOOSE);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o440)).unwrap();
    folder.ocml(["fmt", "fixed.txt"]).exits(2).says("cannot write `fixed.txt`: permission denied");
}
