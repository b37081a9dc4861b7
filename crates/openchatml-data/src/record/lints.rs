//! Lints of a document that was just read.

use openchatml::{Code, Diagnostic, Document, Severity, lint};

/// The lints that depend on which messages there are.
const ORDER: &[Code] =
    &[Code::NoAssistant, Code::RepeatedRole, Code::LateSystem, Code::UnbalancedPair];

/// Adds the findings of lints to those of the reader. A message that is not read as meant, or not at
/// all, is reported already: lints that depend on it add nothing.
pub fn add_lints(document: &Document<'_>, lints: &[Code], found: &mut Vec<Diagnostic>) {
    let mut own = lint::check(document, lints);
    if found.iter().any(|found| found.severity == Severity::Error) {
        let is_empty = document.conversations().iter().any(|it| it.messages.is_empty());
        let is_cut = found.iter().any(|found| found.code == Code::StreamTruncated);
        own.retain(|found| match found.code {
            Code::EmptyMessage => !is_empty,
            Code::OpenMessage => !is_cut,
            code => !ORDER.contains(&code),
        });
    }
    found.append(&mut own);
}
