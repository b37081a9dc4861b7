//! Runs the properties of the core with random hostile documents and texts.

use openchatml::{Format, Keep, Message, Mode, ReadOptions, RenderOptions, convert, parse};
use openchatml_testkit::{cases, document, hints, one_in, pick, property, run, secrets, turns};

/// The number of cases for a property, over all formats.
const CASES: usize = 100_000;

#[test]
fn rendered_documents_are_read_back_unchanged() {
    cases(CASES, run::round_trips);
}

#[test]
fn converted_documents_are_read_back_and_show_nothing_hidden() {
    cases(CASES, run::conversions);
}

#[test]
fn readers_never_panic() {
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

/// Generated from the grammar of turns, because the writers do not mix line breaks. In a format
/// without turns, it is ordinary text.
#[test]
fn turns_with_any_line_breaks_are_written_back_byte_for_byte() {
    let formats = run::text_formats();
    cases(CASES, |source| {
        let text = turns::document(source);
        for &format in &formats {
            let mut options = ReadOptions::default();
            options.mode = Mode::Strict;
            property::lossless(&text, format, &options);
            property::canonical_layout(&text, format);
        }
    });
}

#[test]
fn json_of_services_is_read_back_unchanged() {
    let formats: Vec<_> = Format::all().filter(|format| run::is_of_services(*format)).collect();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let text = run::any_text(source, format);
        property::rewrites(&text, format);
    });
}

#[test]
fn chunks_make_no_difference() {
    cases(CASES, run::streams);
}

#[test]
fn chunks_make_no_difference_for_invalid_bytes() {
    let formats = run::text_formats();
    cases(CASES, |source| {
        let format = pick(source, &formats);
        let bytes = source.bytes(source.len()).unwrap_or_default().to_vec();
        run::streams_bytes(&bytes, format);
    });
}

#[test]
fn a_stream_that_keeps_no_text_emits_the_same_deltas() {
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
fn hidden_text_does_not_affect_the_user_view() {
    cases(CASES, run::hides);
}

#[test]
fn possibly_hidden_messages_are_not_shown() {
    cases(CASES / 10, hints::hide);
}

#[test]
fn text_after_the_stop_token_of_a_completion_is_not_shown() {
    cases(CASES, run::completions_stop);
}

#[test]
fn safe_fixes_keep_the_meaning() {
    cases(CASES, run::fixes);
}

#[test]
fn other_protocols_have_the_content_of_the_stream() {
    cases(CASES / 4, run::writes);
}

#[test]
fn hidden_text_does_not_affect_other_protocols() {
    cases(CASES / 4, run::writes_nothing_hidden);
}

/// A sidecar restores what a format cannot carry: every written message has its original fields,
/// and all losses are reported.
#[test]
fn sidecars_restore_what_a_format_cannot_carry() {
    let formats = run::text_formats();
    cases(CASES, |source| {
        let (from, to) = (pick(source, &formats), pick(source, &formats));
        let document = document::document(source, from);
        let Some(original) = document.as_conversation() else { return };
        let options = RenderOptions::default();
        let Ok((converted, sidecar)) = convert::convert_with_sidecar(&document, to, &options)
        else {
            return;
        };
        let mut read = ReadOptions::default();
        read.open_prompt = true;
        let mut restored = parse(&converted.output, to, &read).into_conversation();
        let sidecar = convert::Sidecar::from_json(&sidecar.to_json()).expect("it was written so");
        sidecar.restore(&mut restored).expect("it is the same conversation");
        let fields = |message: &Message<'_>| {
            let mut fields = message.clone().into_owned();
            fields.body = "".into();
            (fields.recovered, fields.foreign) = (false, false);
            fields
        };
        // If system messages are joined, the first one may have moved to the beginning.
        let is_move = |lost| matches!(lost, convert::Lost::Merged | convert::Lost::SystemMoved);
        let moves = converted.losses.iter().any(|loss| is_move(loss.lost));
        let mut left: Vec<_> = original.messages.iter().collect();
        for message in &restored.messages {
            let found = left.iter().position(|it| fields(it) == fields(message));
            let Some(found) = found else {
                panic!("{message:?} is not in {:?}", original.messages);
            };
            left.drain(if moves { found..=found } else { 0..=found });
        }
        assert_eq!(restored.header, original.header);
    });
}

#[test]
fn no_output_shows_hidden_text() {
    cases(CASES, secrets::routes);
}
