//! Reads the document of a record, in another format if the detected one does not fit.

use std::borrow::Cow;

use openchatml::{
    Code, Diagnostic, Document, Dropped, Format, Parsed, ReadOptions, Role, Span, TextFormat,
    detect, parse, recognize,
};

use super::finding::{finding, is_json};
use super::format::foreign;

/// Reads documents of records.
#[derive(Clone, Debug)]
pub struct RecordReader {
    /// The options of the readers.
    pub options: ReadOptions,
    /// Whether the format was detected: each document may be in a different format.
    pub is_detected: bool,
}

impl RecordReader {
    /// Returns the options to read this text with. A text that begins inside of a message, or inside
    /// of reasoning, is a raw completion of the assistant, unless the user names another role.
    pub fn options_for(&self, text: &str, format: Format) -> Cow<'_, ReadOptions> {
        let Ok(form) = TextFormat::try_from(format) else { return Cow::Borrowed(&self.options) };
        let is_of_another = self.options.continues.is_some_and(|role| role != Role::Assistant);
        let in_reasoning = !is_of_another && form.begins_in_reasoning(text);
        let is_named = self.options.continues.is_some();
        let is_completion = is_named || in_reasoning || form.is_completion(text) == Some(true);
        if is_completion == is_named && !in_reasoning {
            return Cow::Borrowed(&self.options);
        }
        let mut options = self.options.clone();
        options.continues.get_or_insert(Role::Assistant);
        options.in_reasoning |= in_reasoning;
        Cow::Owned(options)
    }

    /// Reads a document, and returns its format. If no format was named and this format drops a
    /// part of the document, it is read in another format that fits.
    pub fn parse_as<'t>(&self, text: &'t str, format: Format) -> (Parsed<'t>, Format) {
        let parsed = parse(text, format, &self.options_for(text, format));
        if !self.is_detected {
            let mut parsed = parsed;
            if parsed.has_errors()
                && !is_json(format)
                && let Some(recognized) = recognize([text])
            {
                let mut found = foreign(&recognized);
                found.dropped = None;
                parsed.diagnostics.push(found);
            }
            return (parsed, format);
        }
        if is_empty(&parsed.document) && detect(text).is_empty() && recognize([text]).is_none() {
            let mut found =
                finding(Code::FormatUnknown, Span::at(0), "the document is not a conversation");
            found.dropped = Some(Dropped::Record);
            return (nothing(found), format);
        }
        if parsed.diagnostics.is_empty() {
            return (parsed, format);
        }
        if is_json(format)
            && let Some(recognized) = recognize([text])
        {
            return (nothing(foreign(&recognized)), format);
        }
        if !parsed.dropped_input() {
            return (parsed, format);
        }
        let found = detect(text);
        let best = found.first().filter(|best| best.is_certain() && best.format != format);
        let read = |format| parse(text, format, &self.options_for(text, format));
        let other = best.map(|best| (read(best.format), best.format));
        other.filter(|(other, _)| !other.dropped_input()).unwrap_or((parsed, format))
    }
}

/// Returns an empty document with a diagnostic.
pub fn nothing(found: Diagnostic) -> Parsed<'static> {
    Parsed::new(Document::default(), vec![found])
}

/// Whether a document is empty.
pub fn is_empty(document: &Document<'_>) -> bool {
    document.as_conversation().is_some_and(|conversation| {
        conversation.header.is_none()
            && conversation.tools.is_empty()
            && conversation.messages.is_empty()
    })
}
