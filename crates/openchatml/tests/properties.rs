//! The properties of the core over random hostile documents and texts.

use openchatml::{Format, Keep, Mode, ReadOptions};
use openchatml_testkit::{cases, one_in, pick, property, run};

/// How many cases a property runs over, all formats together.
const CASES: usize = 100_000;

#[test]
fn what_is_rendered_reads_back_the_same() {
    cases(CASES, run::round_trips);
}

#[test]
fn what_is_converted_reads_back_and_shows_nothing_hidden() {
    cases(CASES, run::conversions);
}

#[test]
fn nothing_makes_a_reader_panic() {
    let formats: Vec<_> = Format::all().collect();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let options = run::options(source);
        let text = run::any_text(source, format);
        property::reads_anything(&text, format, &options);
    });
}

#[test]
fn well_formed_text_is_written_back_byte_for_byte() {
    let formats = run::text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let mut options = ReadOptions::default();
        options.mode = Mode::Strict;
        options.open_prompt = one_in(source, 3);
        let text = run::any_text(source, format);
        property::lossless(&text, format, &options);
    });
}

#[test]
fn chunks_do_not_show() {
    cases(CASES, run::streams);
}

#[test]
fn chunks_do_not_show_in_bytes_that_are_no_text() {
    cases(CASES / 10, |source| {
        let bytes = source.bytes(source.len()).unwrap_or_default().to_vec();
        run::streams_bytes(&bytes);
    });
}

#[test]
fn a_stream_that_keeps_nothing_tells_the_same_deltas() {
    let formats = run::text_formats();
    cases(CASES / 10, |source| {
        let format = pick(source, &formats);
        let options = run::options(source);
        let text = run::any_text(source, format);
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
    let formats = run::text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let options = run::options(source);
        let text = run::any_text(source, format);
        property::nothing_is_lost(&text, format, &options);
    });
}

#[test]
fn hidden_text_does_not_show_in_what_a_user_sees() {
    cases(CASES, run::hides);
}
