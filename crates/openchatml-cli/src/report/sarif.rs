//! Diagnostics as SARIF 2.1.0.

use openchatml::{Code, Diagnostic, Edit, Severity, Span};
use serde_json::{Value, json};

use crate::input::Page;

/// The end of the report.
pub(super) const TAIL: &str = "]}]}\n";

/// The beginning of the report: the tool, and its codes as rules.
pub(super) fn head() -> String {
    let rules: Vec<Value> = Code::ALL
        .iter()
        .map(|code| {
            json!({
                "id": code.as_str(),
                "shortDescription": {"text": code.title()},
                "help": {"text": code.explanation(), "markdown": code.explanation()},
                "properties": {"summary": code.user_summary()},
            })
        })
        .collect();
    let tool = json!({
        "driver": {
            "name": "ocml",
            "version": env!("CARGO_PKG_VERSION"),
            "informationUri": env!("CARGO_PKG_REPOSITORY"),
            "rules": rules,
        },
    });
    format!(
        r#"{{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{{"tool":{tool},"columnKind":"unicodeCodePoints","results":["#
    )
}

pub(super) fn write(page: &Page<'_>, found: &Diagnostic, out: &mut String) {
    let text = match &found.help {
        Some(help) => format!("{}\n{help}", found.message),
        None => found.message.clone(),
    };
    let artifact = json!({"uri": uri(page.name)});
    let mut result = json!({
        "ruleId": found.code.as_str(),
        "ruleIndex": Code::ALL.iter().position(|code| *code == found.code),
        "level": level(found.severity),
        "message": {"text": text},
        "properties": {"summary": found.code.user_summary()},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": artifact,
                "region": region(page, found.span),
            },
        }],
    });
    if let Some(fix) = &found.fix {
        let replacements: Vec<Value> =
            fix.edits.iter().map(|edit| replacement(page, edit)).collect();
        let change = json!({"artifactLocation": artifact, "replacements": replacements});
        let applicability = json!({"applicability": fix.applicability.as_str()});
        result["fixes"] = json!([{"artifactChanges": [change], "properties": applicability}]);
    }
    out.push_str(&result.to_string());
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn region(page: &Page<'_>, span: Span) -> Value {
    let (start, end) = (page.locate(span.start), page.locate(span.end));
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn replacement(page: &Page<'_>, edit: &Edit) -> Value {
    json!({
        "deletedRegion": region(page, edit.span),
        "insertedContent": {"text": edit.replacement},
    })
}

/// Returns a path as a URI. Relative paths stay relative.
fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    if name.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("a b/ü:1.txt"), "a%20b/%C3%BC%3A1.txt");
        assert_eq!(uri("/tmp/x"), "file:///tmp/x");
    }
}
