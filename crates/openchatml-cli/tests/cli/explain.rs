//! `explain`: every code.

use openchatml::Code;

use crate::support::ocml;

#[test]
fn every_code_is_explained() {
    for code in Code::ALL {
        let ran = ocml(["explain", code.as_str()]).silent();
        let summary = ran.stdout.strip_prefix(code.explanation()).expect("its explanation");
        let expected = format!("\n## Summary for end users\n\n{}\n", code.user_summary());
        assert_eq!(summary, expected, "{code}");
        let ran = ocml(["explain", "--color", "always", code.as_str()]).silent();
        assert!(ran.stdout.contains("\u{1b}[1m"), "{code}");
    }
}

#[test]
fn all_codes_are_listed() {
    let ran = ocml(["explain"]).silent();
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), Code::ALL.len());
    for (line, code) in lines.iter().zip(Code::ALL) {
        assert!(line.starts_with(code.as_str()) && line.ends_with(code.title()), "{line}");
    }
}

#[test]
fn codes_ignore_case_and_allow_typing_errors() {
    ocml(["explain", "e-limit"]).silent();
    let line = ocml(["explain", "E-PARSE-HEADR"]).says_one_line(2);
    assert!(line.contains("did you mean `E-PARSE-HEADER`?"), "{line}");
    let line = ocml(["explain", "nonsense"]).says_one_line(2);
    assert!(line.contains("`ocml explain` lists them all"), "{line}");
}
