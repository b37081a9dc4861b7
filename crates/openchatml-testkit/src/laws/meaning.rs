//! Laws of meaning: a grammatical document is read without errors and with the generated content.

use openchatml::{Document, Format, Severity, Visibility, parse};

use super::{Broken, Verdict, brief, strict};
use crate::grammar::{ExpectedMessage, Sample, Shown};

pub(crate) fn meaning(sample: &Sample) -> Verdict {
    let Some(said) = &sample.said else { return Ok(()) };
    let format: Format = sample.format.parse().expect("a format");
    let parsed = parse(&sample.text, format, &strict());
    let error = parsed.diagnostics.iter().find(|found| found.severity == Severity::Error);
    if let Some(error) = error {
        let detail = format!("{error}\n  {}", brief(&parsed.document));
        let cause = format!("{} {}", error.code, without_data(&error.message));
        return Err(Broken { what: "an error in what is well-formed", cause, detail });
    }
    let messages: Vec<_> = match &parsed.document {
        Document::Conversation(conversation) => conversation.messages.iter().collect(),
        Document::Pair(pair) => {
            let rest = &pair.rejected.messages[pair.shared()..];
            pair.chosen.messages.iter().chain(rest).collect()
        }
        _ => return Ok(()),
    };
    if said.is_empty() {
        return Ok(());
    }
    let read: Vec<_> = messages
        .into_iter()
        .map(|message| {
            let shown = match message.visibility() {
                Visibility::User => Shown::User,
                Visibility::Hidden => Shown::Hidden,
            };
            (message.role.to_string(), message.body.text().into_owned(), shown)
        })
        .collect();
    let wanted =
        said.iter().map(|it: &ExpectedMessage| (it.role.to_owned(), it.text.clone(), it.shown));
    let wanted: Vec<_> = wanted.collect();
    if read != wanted {
        let differs = wanted.iter().zip(&read).find(|(wanted, read)| wanted != read);
        let detail = format!("expected {wanted:?}\n  read {read:?}\n  first {differs:?}");
        return Err(Broken::new("read as something else", detail));
    }
    Ok(())
}

/// Strict mode reports violations of the specification.
pub(crate) fn violations(sample: &Sample) -> Verdict {
    // Several oddities may hide each other.
    let ([violation], [_]) = (sample.violations.as_slice(), sample.flaws.as_slice()) else {
        return Ok(());
    };
    let format: Format = sample.format.parse().expect("a format");
    // The documentation of Harmony has no grammar.
    if format.dialect().id == "harmony" {
        return Ok(());
    }
    let parsed = parse(&sample.text, format, &strict());
    match parsed.has_errors() {
        true => Ok(()),
        false => {
            let detail = format!("{:?}\n  {}", parsed.diagnostics, brief(&parsed.document));
            let cause = (*violation).to_owned();
            Err(Broken { what: "strict reading finds no error", cause, detail })
        }
    }
}

fn without_data(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}
