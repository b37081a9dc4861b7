//! Random formats, options and texts.

use openchatml::{Carrier, Format, Mode, ReadOptions, Recover, RenderOptions, Role, render};

use crate::{Source, document, mutate, one_in, pick, text};

/// The formats whose carrier is text.
pub fn text_formats() -> Vec<Format> {
    Format::all().filter(|format| is_text(*format)).collect()
}

pub(crate) fn is_text(format: Format) -> bool {
    format.carrier() == Carrier::Text
}

/// Whether a format belongs to a service or a data set. These formats are JSON.
pub fn is_of_services(format: Format) -> bool {
    let is_json_only = format.dialect().carriers().eq([Carrier::Json]);
    is_json_only && format != Format::JSON
}

/// Generates options for reading.
pub fn options(source: &mut Source<'_>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.mode = pick(source, &[Mode::Lenient, Mode::Strict]);
    options.recover = pick(source, &[Recover::Keep, Recover::Drop, Recover::Error]);
    options.open_prompt = one_in(source, 3);
    if one_in(source, 4) {
        options.continues = Some(pick(source, Role::ALL));
    }
    if one_in(source, 8) {
        options.limits.header_bytes = 40;
        options.limits.message_bytes = 24;
        options.limits.messages = 3;
        options.limits.attributes = 2;
        options.limits.value_bytes = 12;
        options.limits.diagnostics = 5;
    }
    options
}

/// Generates a text for a format: well-formed, damaged or unrelated.
pub fn any_text(source: &mut Source<'_>, format: Format) -> String {
    if one_in(source, 4) {
        return text::hostile(source);
    }
    let document = document::document(source, format);
    let text = render(&document, format, &RenderOptions::default()).unwrap_or_default();
    if one_in(source, 3) { text } else { mutate::mutate(source, &text) }
}
