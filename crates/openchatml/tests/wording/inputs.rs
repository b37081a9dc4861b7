//! The inputs of the repository, and their diagnostics.

use openchatml::{
    Code, Conversation, Diagnostic, Document, Event, Format, Message, Mode, Policy, ReadOptions,
    Recover, RenderOptions, Role, Severity, Stream, convert, parse, render,
};
use openchatml_templates::Template;
use openchatml_testkit::markdown::with_blocks;

use crate::case::{self, Case};
use crate::markdown::Block;

/// Calls `take` with every diagnostic of every input.
pub(crate) fn each_diagnostic(take: &mut dyn FnMut(&Diagnostic)) {
    for folder in case::folders() {
        for case in case::load(&folder) {
            of_case(&case, take);
        }
    }
    for code in Code::ALL {
        with_blocks(code.explanation(), |info, text| {
            let block = Block { info: info.to_owned(), text: text.to_owned() };
            of_example(&block, take);
            None
        });
    }
}

fn of_case(case: &Case, take: &mut dyn FnMut(&Diagnostic)) {
    let bytes = case.input_bytes();
    let options = variants(&case.options());
    for options in &options {
        of_stream(case, &bytes, options, take);
    }
    let Ok(text) = std::str::from_utf8(&bytes) else { return };
    for options in &options {
        parse(text, case.format(), options).diagnostics.iter().for_each(&mut *take);
    }
    for format in Format::all() {
        parse(text, format, &case.options()).diagnostics.iter().for_each(&mut *take);
    }
    let document = parse(text, case.format(), &case.options()).document;
    for format in Format::all() {
        of_writing(&document, format, &RenderOptions::default(), take);
    }
    for convert in &case.converts {
        let format = convert.to.parse().expect("a format");
        of_writing(&document, format, &convert.options(case), take);
    }
    let Some(conversation) = document.as_conversation() else { return };
    let view = Policy::default().view(conversation);
    for index in 0..conversation.messages.len() {
        if let Err(refused) = view.message(index) {
            take(&refused);
        }
    }
}

/// Returns the variants of options for a case.
fn variants(options: &ReadOptions) -> Vec<ReadOptions> {
    let mut all = vec![options.clone()];
    let mut with = |change: &dyn Fn(&mut ReadOptions)| {
        let mut options = options.clone();
        change(&mut options);
        all.push(options);
    };
    with(&|it| it.mode = Mode::Strict);
    with(&|it| it.recover = Recover::Drop);
    with(&|it| it.recover = Recover::Error);
    with(&|it| it.continues = Some(Role::Assistant));
    with(&|it| {
        it.limits.header_bytes = 40;
        it.limits.message_bytes = 24;
        it.limits.messages = 2;
        it.limits.attributes = 1;
        it.limits.value_bytes = 8;
        it.limits.json_depth = 3;
    });
    with(&|it| it.limits.diagnostics = 1);
    all
}

/// Collects the diagnostics of a stream with the whole input.
fn of_stream(case: &Case, bytes: &[u8], options: &ReadOptions, take: &mut dyn FnMut(&Diagnostic)) {
    let Ok(format) = case.format().text() else { return };
    let mut on_event = |event: Event<'_>| {
        if let Event::Diagnostic { diagnostic, .. } = event {
            take(&diagnostic);
        }
    };
    let mut stream = Stream::new(format, options);
    stream.feed_with(bytes, &mut on_event);
    match case.cancelled {
        true => stream.cancel_with(&mut on_event),
        false => stream.finish_with(&mut on_event),
    }
}

/// Collects the diagnostics of conversions and of rendering.
fn of_writing(
    document: &Document<'_>,
    format: Format,
    options: &RenderOptions,
    take: &mut dyn FnMut(&Diagnostic),
) {
    let nothing = Conversation::default();
    let conversation = document.as_conversation().unwrap_or(&nothing);
    match convert::convert(document, format, options) {
        Ok(converted) => {
            let losses = converted.losses.iter();
            losses.for_each(|loss| take(&loss.to_diagnostic(Severity::Warning)));
        }
        Err(error) => take(&error.to_diagnostic(conversation)),
    }
    if let Err(error) = render(document, format, options) {
        take(&error.to_diagnostic(conversation));
    }
}

/// Collects the diagnostics of an example of an explanation.
fn of_example(block: &Block, take: &mut dyn FnMut(&Diagnostic)) {
    if block.info == "jinja" {
        let question = Conversation::from_messages([Message::new(Role::User, "What is 2 + 2?")]);
        let template = Template::new(&block.text, &Default::default());
        let rendered = template.and_then(|it| it.render(&question, &Default::default()));
        if let Err(error) = rendered {
            take(&error.to_diagnostic(&question));
        }
        return;
    }
    if block.format().is_none() {
        return;
    }
    let strict = Block { info: format!("{} strict", block.info), ..block.clone() };
    for block in [block, &strict] {
        let parsed = block.read();
        parsed.diagnostics.iter().for_each(&mut *take);
        if let Some(format) = block.value("to") {
            let format = format.parse().expect("a format");
            of_writing(&parsed.document, format, &RenderOptions::default(), take);
        }
    }
}
