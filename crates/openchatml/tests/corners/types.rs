//! Properties of types that programs rely on: they can be stored, shared and sent.

use std::error::Error as _;

use openchatml::convert::OtherConversation;
use openchatml::render::SinkError;
use openchatml::{
    Diagnostic, Error, Event, Events, FormatError, ReadOptions, RenderError, Stream, TextFormat,
    UnknownName,
};

fn is_error<E: std::error::Error + Send + Sync + 'static>() {}

fn can_be_kept<T: Send + Sync + 'static>() {}

#[test]
fn errors_can_be_sent_and_boxed() {
    is_error::<Diagnostic>();
    is_error::<Error>();
    is_error::<FormatError>();
    is_error::<OtherConversation>();
    is_error::<RenderError>();
    is_error::<SinkError>();
    is_error::<UnknownName>();
    can_be_kept::<Events>();
    can_be_kept::<Event<'static>>();
    can_be_kept::<Stream>();
}

/// `Error` displays the contained error, and equals it if it is created by `?`.
#[test]
fn every_error_converts_to_error() {
    let format = "openai".parse::<TextFormat>().expect_err("it is JSON");
    let error = Error::from(format.clone());
    assert_eq!(error, Error::Format(format.clone()));
    assert_eq!(error.to_string(), format.to_string());
    assert!(error.source().is_none());
}

/// Events of an iterator outlive the stream, and equal those of a callback.
#[test]
fn iterator_and_callback_give_the_same_events() {
    let text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>\
        One.\n\nTwo.<|end|><|start|>user<|message|>No<|end|>\
        <|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|call|>";
    for chunk in [1, 7, text.len()] {
        let mut told = Vec::new();
        let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::completion());
        for bytes in text.as_bytes().chunks(chunk) {
            stream.feed_with(bytes, |event| told.push(event.to_json()));
        }
        stream.finish_with(|event| told.push(event.to_json()));

        let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::completion());
        let mut events = Vec::new();
        for bytes in text.as_bytes().chunks(chunk) {
            let fed = stream.feed(bytes);
            assert_eq!(fed.size_hint(), (fed.len(), Some(fed.len())));
            events.extend(fed);
        }
        events.extend(stream.finish());
        let owned = std::thread::spawn(move || {
            events.iter().map(|event| event.borrowed().to_json()).collect::<Vec<_>>()
        });
        assert_eq!(owned.join().expect("events can be sent"), told);
    }
}
