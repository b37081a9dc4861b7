//! The properties of the core over random hostile documents and texts.

use openchatml::{Document, Format, Keep, Mode, ReadOptions, Recover, RenderOptions, Role, render};
use openchatml_testkit::{Source, cases, document, mutate, one_in, pick, property, text};

/// How many cases a property runs over, all formats together.
const CASES: usize = 100_000;

fn formats() -> Vec<Format> {
    Format::all().collect()
}

fn text_formats() -> Vec<Format> {
    let formats = Format::all().filter(|format| !format.to_string().contains("json"));
    formats.collect()
}

fn options(source: &mut Source<'_>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.mode = pick(source, &[Mode::Lenient, Mode::Strict]);
    options.recover = pick(source, &[Recover::Keep, Recover::Drop, Recover::Error]);
    options.open_prompt = one_in(source, 3);
    if one_in(source, 4) {
        options.continues = Some(pick(source, Role::ALL));
    }
    options
}

/// A text in a format: well-formed, damaged, or nothing of the kind.
fn any_text(source: &mut Source<'_>, format: Format) -> String {
    if one_in(source, 4) {
        return text::hostile(source);
    }
    let document = document::document(source, format);
    let text = render(&document, format, &RenderOptions::default()).unwrap_or_default();
    if one_in(source, 3) { text } else { mutate::mutate(source, &text) }
}

#[test]
fn what_is_rendered_reads_back_the_same() {
    let formats = formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        property::round_trip(&document::document(source, format), format);
    });
}

#[test]
fn nothing_makes_a_reader_panic() {
    let formats = formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let options = options(source);
        let text = any_text(source, format);
        property::reads_anything(&text, format, &options);
    });
}

#[test]
fn well_formed_text_is_written_back_byte_for_byte() {
    let formats = text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let mut options = ReadOptions::default();
        options.mode = Mode::Strict;
        options.open_prompt = one_in(source, 3);
        let text = any_text(source, format);
        property::lossless(&text, format, &options);
    });
}

#[test]
fn chunks_do_not_show() {
    let formats = text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let options = options(source);
        let text = any_text(source, format);
        let cuts: Vec<usize> = match source.int_in_range(0..=2).unwrap_or(0) {
            0 => vec![source.int_in_range(0..=text.len()).unwrap_or(0)],
            1 => (0..text.len()).collect(),
            _ => {
                let cut = |source: &mut Source<'_>| source.int_in_range(0..=text.len());
                let mut cuts: Vec<_> = (0..5).map(|_| cut(source).unwrap_or(0)).collect();
                cuts.sort_unstable();
                cuts
            }
        };
        property::chunk_invariant(&text, &cuts, format, &options);
    });
}

#[test]
fn a_stream_that_keeps_nothing_tells_the_same_deltas() {
    let formats = text_formats();
    cases(CASES / 10, |source| {
        let format = pick(source, &formats);
        let options = options(source);
        let text = any_text(source, format);
        let deltas = |keep| {
            let told = property::stream([text.as_bytes()], format, &options, keep);
            let is_delta = |event: &String| !event.starts_with(r#"{"type":"message.done""#);
            told.events.into_iter().filter(is_delta).collect::<Vec<_>>()
        };
        assert_eq!(deltas(Keep::Bodies), deltas(Keep::Nothing), "{text:?}");
    });
}

#[test]
fn no_byte_is_lost() {
    let formats = text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let options = options(source);
        let text = any_text(source, format);
        property::nothing_is_lost(&text, format, &options);
    });
}

#[test]
fn hidden_text_does_not_show_in_what_a_user_sees() {
    let formats = text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let one = document::document(source, format);
        let mut two = one.clone();
        if let Document::Conversation(conversation) = &mut two {
            for message in &mut conversation.messages {
                if message.visibility() == openchatml::Visibility::Hidden {
                    message.body = text::hostile(source).into();
                }
            }
        }
        property::non_interference(&one, &two, format);
    });
}
