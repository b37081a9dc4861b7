//! Runs the properties with a source: tests use seeds, fuzzers use their input.

use openchatml::convert::Sidecar;
use openchatml::declare::{Style, typescript};
use openchatml::{
    Control, Conversation, Document, End, Format, Keep, Message, Mode, ReadOptions, Recover,
    RenderOptions, Role, Section, Severity, Value, parse, render,
};

pub use crate::inputs::{any_text, is_of_services, options, text_formats};

use crate::inputs::is_text;
use crate::{
    Source, conversion, document, fixes, one_in, pick, property, secrets, text, turns, wire,
};

/// Reads `text` in the named format in every possible way.
pub fn reads(text: &str, format: &str) {
    let format: Format = format.parse().expect("a format");
    for mode in [Mode::Lenient, Mode::Strict] {
        for recover in [Recover::Keep, Recover::Drop, Recover::Error] {
            let mut options = ReadOptions::default();
            options.mode = mode;
            options.recover = recover;
            let parsed = property::reads_anything(text, format, &options);
            if is_text(format) {
                property::nothing_is_lost(text, format, &options);
            }
            if mode == Mode::Strict && is_text(format) {
                property::lossless(text, format, &options);
            }
            drop(parsed);
        }
    }
    if is_of_services(format) {
        property::rewrites(text, format);
    }
    if is_text(format) {
        let cuts = [text.len() / 3, text.len() / 2];
        property::chunk_invariant(text, &cuts, format, &ReadOptions::default());
    }
}

/// Reads `text` as the header of a transcript.
pub fn reads_header(text: &str) {
    let text = format!("{text}\n<|start|>user<|message|>Hi.<|end|>\n");
    reads(&text, "openchatml-2.2");
}

/// Streams a text that is split at random places or at every byte.
pub fn streams(source: &mut Source<'_>) {
    let format = pick(source, &text_formats());
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
}

/// Writes a stream in other protocols, with the input split anywhere.
pub fn writes(source: &mut Source<'_>) {
    let setup = wire::Setup {
        format: pick(source, &text_formats()),
        options: options(source),
        thoughts: pick(source, &wire::ReasoningMode::ALL),
        for_user: one_in(source, 4),
        keep: pick(source, &[Keep::Bodies, Keep::Nothing]),
    };
    let text = any_text(source, setup.format);
    let mut cuts: Vec<usize> = match source.int_in_range(0..=2).unwrap_or(0) {
        0 if text.len() < 1000 => (0..text.len()).collect(),
        _ => (0..3).map(|_| source.int_in_range(0..=text.len()).unwrap_or(0)).collect(),
    };
    cuts.sort_unstable();
    wire::writes(&text, &cuts, &setup);
}

/// Compares the output of two conversations that differ only in hidden text, for clients that run
/// calls and for users.
pub fn writes_nothing_hidden(source: &mut Source<'_>) {
    let format = pick(source, &text_formats());
    let thoughts = pick(source, &[wire::ReasoningMode::Drop, wire::ReasoningMode::Constant]);
    let [one, two] = differ_in_hidden(source, format);
    let setup = |for_user| wire::Setup {
        format,
        options: ReadOptions::default(),
        thoughts,
        for_user,
        keep: Keep::Bodies,
    };
    wire::hides(&one, &two, &setup(true));
    // Clients that run calls see them, so calls are the same in both.
    let mut two = two;
    if let (Document::Conversation(one), Document::Conversation(two)) = (&one, &mut two) {
        for (one, two) in one.messages.iter().zip(&mut two.messages) {
            if one.is_call() {
                two.body = one.body.clone();
            }
        }
    }
    wire::hides(&one, &two, &setup(false));
}

/// Streams bytes that need not be UTF-8. The result is the same for the whole input and byte by
/// byte.
pub fn streams_bytes(bytes: &[u8], format: Format) {
    let options = ReadOptions::default();
    let whole = property::stream([bytes], format, &options, Keep::Bodies);
    let bytewise = property::stream(bytes.chunks(1), format, &options, Keep::Bodies);
    assert_eq!(bytewise, whole, "{format}: {bytes:?}");
    for found in &whole.diagnostics {
        assert!(found.span.end <= bytes.len(), "{format}: {found} is outside of {bytes:?}");
    }
}

/// Writes a random document and reads it again.
pub fn round_trips(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let format = pick(source, &formats);
    property::round_trip(&document::document(source, format), format);
}

/// Converts a random document to another format and reads it again.
pub fn conversions(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let (from, to) = (pick(source, &formats), pick(source, &formats));
    conversion::conversion(&document::document(source, from), to);
}

/// Compares what a user sees of two conversations that differ only in hidden text.
pub fn hides(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let format = pick(source, &formats);
    let [one, two] = differ_in_hidden(source, format);
    property::non_interference(&one, &two, format);
}

/// Generates a completion that ends with a stop token of the assistant, followed by anything.
/// `None` if the generated text is not such a completion.
pub fn stopped(source: &mut Source<'_>, format: Format) -> Option<(String, String)> {
    let text = match format.dialect().controls.spelling(Control::Channel) {
        Some(_) => stopped_in_channels(source, format)?,
        None => stopped_in_body(source, format)?,
    };
    let parsed = parse(&text, format, &continues());
    let own = parsed.document.as_conversation()?.messages.last()?;
    is_stopped(own, format).then(|| (text, any_text(source, format)))
}

/// Whether the last message of a completion certainly ends with a stop token.
pub fn is_stopped(own: &Message<'_>, format: Format) -> bool {
    let has_channels = format.dialect().controls.spelling(Control::Channel).is_some();
    match own.end {
        End::Return | End::Call => !own.foreign,
        End::End => !has_channels && !own.foreign && !own.recovered,
        End::Open | End::Prompt => false,
    }
}

/// Generates a completion without channels, up to the stop token.
fn stopped_in_body(source: &mut Source<'_>, format: Format) -> Option<String> {
    let spelled = |control| format.dialect().controls.spelling(control);
    let Some(stop) = spelled(Control::Close(Role::Assistant)) else {
        let line = pick(source, &["", "\n"]);
        return Some(format!("{}{line}{}", text::hostile(source), spelled(Control::End)?));
    };
    let (inner, outer) = (
        spelled(Control::OpenSection(Section::Reasoning))?,
        spelled(Control::CloseSection(Section::Reasoning))?,
    );
    let mut text = match one_in(source, 2) {
        true => format!("{inner}{}{outer}", text::hostile(source)),
        false => String::new(),
    };
    let (calls, called) = (
        spelled(Control::OpenSection(Section::Calls))?,
        spelled(Control::CloseSection(Section::Calls))?,
    );
    text.push_str(&match one_in(source, 3) {
        true => format!("{calls}[{{\"f\": {}}}]{called}", text::json(source)),
        false => format!("{}{stop}", text::hostile(source)),
    });
    Some(text)
}

/// Generates a completion with channels, up to the stop token.
fn stopped_in_channels(source: &mut Source<'_>, format: Format) -> Option<String> {
    let spelled = |control| format.dialect().controls.spelling(control);
    let (start, channel, message) =
        (spelled(Control::Start)?, spelled(Control::Channel)?, spelled(Control::Message)?);
    let (end, stops) = (spelled(Control::End)?, [Control::Return, Control::Call]);
    let stop = spelled(pick(source, &stops))?;
    let mut text = String::new();
    for _ in 0..source.int_in_range(0..=2).unwrap_or(0) {
        let name = pick(source, &["analysis", "commentary", "final"]);
        let body = text::hostile(source);
        text.push_str(&format!("{channel}{name}{message}{body}{end}{start}assistant"));
    }
    let header = pick(source, &["final", "analysis", "commentary", "commentary to=functions.f"]);
    let body = if one_in(source, 3) { text::json(source) } else { text::hostile(source) };
    text.push_str(&format!("{channel}{header}{message}{body}{stop}"));
    Some(text)
}

/// Returns the options for reading a completion.
pub fn continues() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options
}

/// Text after the stop token of a completion is not shown, makes no call, and is not part of the
/// output in other protocols.
pub fn completions_stop(source: &mut Source<'_>) {
    let format = pick(source, &text_formats());
    let Some((text, more)) = stopped(source, format) else { return };
    let longer = format!("{text}{more}");
    let setup = |for_user| wire::Setup {
        format,
        options: continues(),
        thoughts: wire::ReasoningMode::Raw,
        for_user,
        keep: Keep::Bodies,
    };
    let seen = |text: &str| {
        let conversation = parse(text, format, &continues()).into_conversation();
        let calls = conversation.messages.iter().filter(|message| conversion::is_made(message));
        let told = property::stream([text.as_bytes()], format, &continues(), Keep::Bodies);
        let done = told.events.iter().filter(|event| event.contains("\"type\":\"response.done\""));
        let mut events = Vec::new();
        setup(true).stream([text.as_bytes()], |event| events.push(event.to_json()));
        let wires = [false, true].map(|for_user| {
            let setup = setup(for_user);
            let bytes = text.as_bytes();
            wire::Api::ALL.map(|api| setup.written(api, [bytes]))
        });
        (
            property::seen(&conversation),
            calls.count(),
            done.cloned().collect::<Vec<_>>(),
            property::joined(events),
            wires,
        )
    };
    assert_eq!(seen(&longer), seen(&text), "{format}: {text:?}, and then {more:?}");
    // The tokens that a format has after the stop token.
    let behind = [Control::End, Control::Eos, Control::Close(Role::Assistant)];
    let spelled = |control: &Control| format.dialect().controls.spelling(*control);
    let rest =
        behind.iter().filter_map(spelled).fold(more.clone(), |rest, it| rest.replace(it, ""));
    if !rest.trim().is_empty() {
        let parsed = parse(&longer, format, &continues());
        let before = parse(&text, format, &continues());
        let errors = |parsed: &openchatml::Parsed<'_>| {
            parsed.diagnostics.iter().filter(|it| it.severity == Severity::Error).count()
        };
        assert!(errors(&parsed) > errors(&before), "{format}: {text:?}, and then {more:?}");
    }
}

/// Generates two documents that differ only in hidden text.
pub fn differ_in_hidden(source: &mut Source<'_>, format: Format) -> [Document<'static>; 2] {
    let one = match one_in(source, 3) {
        true => secrets::from(source, format),
        false => document::document(source, format),
    };
    let two = secrets::with_other_secrets(source, &one);
    [one, two]
}

/// Fixes a text: safe fixes keep the meaning.
pub fn fixes(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let format = pick(source, &formats);
    let mut options = options(source);
    let text = any_fixable(source, format);
    fixes::are_checked(&text, format, &options);
    options.limits = openchatml::Limits::default();
    fixes::keep_the_conversation(&text, format, &options);
}

/// Generates a text in a format or a similar one, with problems that have fixes: slips, missing
/// headers and ends, and old role names.
fn any_fixable(source: &mut Source<'_>, format: Format) -> String {
    let mut text = match is_text(format) && one_in(source, 6) {
        true => turns::document(source),
        false => any_text(source, format),
    };
    for _ in 0..source.int_in_range(0..=2).unwrap_or(0) {
        let Some((from, to)) = source.choose(SLIPS).ok().copied() else { break };
        text = match one_in(source, 2) {
            true => text.replacen(from, to, 1),
            false => text.replace(from, to),
        };
    }
    text
}

/// More attributes than a header may have, with a duplicate.
const MANY: &str = " name=x name=x name=x name=x name=x name=x name=x name=x name=x name=x name=x \
    name=x name=x name=x name=x name=x name=x name=x name=x name=x name=x name=x name=x name=x \
    name=x name=x name=x name=x name=x name=x name=x to=functions.f intent=status<|message|>";

/// Parts of well-formed text with typical slips.
const SLIPS: &[(&str, &str)] = &[
    ("version: 2.2\n\n", ""),
    ("version: 2.2\n\n", " "),
    ("version: 2.2\n\n", "\n  "),
    ("version: 2.2\n\n", "words "),
    ("version: 2.0\n\n", ""),
    ("version: 2.0\n\n", "words\n"),
    ("<s>", ""),
    ("<s>\n", ""),
    ("</s>", ""),
    ("\n</s>\n", ""),
    ("</s>\n", "words"),
    ("tool name=", "functions."),
    ("tool", "functions.f"),
    ("assistant<", "assistant name=a name=a<"),
    (" to=", " to=x to=x to="),
    ("<|message|>", " intent=status intent=status<|message|>"),
    ("<|message|>", "<|end_message|>"),
    ("user<", "User<"),
    ("system<", "assistant:example_user<"),
    ("\"user\"", "\"User\""),
    ("\"user\"", "\"\\tUser\""),
    ("|>\"}", "|>”}"),
    (" to=functions.", "<|channel|>commentaryto=functions."),
    ("<|channel|>final", "<|channel|>finalto=x"),
    ("tool ", "functions.a\u{a0}b "),
    ("<|message|>", " name=x name=x<|message|>"),
    ("<|message|>", MANY),
    ("\n", ""),
    ("<|im_end|>", "<|im_end|><|im_start|>to"),
    (" to=functions.", " functions."),
    ("<|end|>", ""),
    ("<|im_end|>", ""),
    ("<|channel|>", "<|channel|><|literal|>"),
];

/// Reads any text as a sidecar, and restores it in conversations.
pub fn reads_sidecar(text: &str) {
    let Ok(sidecar) = Sidecar::from_json(text) else { return };
    let json = sidecar.to_json();
    let again = Sidecar::from_json(&json).expect("it was written");
    assert_eq!(again, sidecar, "{json}");
    for messages in 0..4 {
        let message = || Message::new(Role::Assistant, "Hi");
        let mut conversation = Conversation::from_messages((0..messages).map(|_| message()));
        if sidecar.restore(&mut conversation).is_ok() {
            property::reads_anything(
                &canonical(conversation),
                Format::JSON,
                &ReadOptions::default(),
            );
        }
    }
}

/// Reads any text as canonical JSON. Message ids are kept if they are requested.
pub fn keeps_ids(text: &str) {
    let read = parse(text, Format::JSON, &ReadOptions::default()).document;
    let mut options = RenderOptions::default();
    options.ids = true;
    let Ok(written) = render(&read, Format::JSON, &options) else { return };
    let again = parse(&written, Format::JSON, &ReadOptions::default()).document;
    let ids = |document: &Document<'_>| -> Vec<Option<Vec<u32>>> {
        let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
        messages.iter().map(|message| message.ids().map(<[u32]>::to_vec)).collect()
    };
    assert_eq!(ids(&again), ids(&read), "{written}");
    assert_eq!(render(&again, Format::JSON, &options).as_ref(), Ok(&written));
}

fn canonical(conversation: Conversation<'_>) -> String {
    render(&conversation.into(), Format::JSON, &RenderOptions::default()).expect("it says all")
}

/// Returns the JSON of a text as the schema of a tool, if it is JSON.
///
/// ```
/// use openchatml_testkit::run::schema;
///
/// assert!(schema(r#"{"type":"string"}"#).is_some_and(|schema| schema.get("type").is_some()));
/// assert!(schema("{").is_none());
/// ```
pub fn schema(text: &str) -> Option<Value<'static>> {
    let function = format!(r#"{{"name":"f","parameters":{text}}}"#);
    let declared =
        format!(r#"{{"tools":[{{"type":"function","function":{function}}}],"messages":[]}}"#);
    let parsed = parse(&declared, Format::JSON, &ReadOptions::default());
    let mut tools = parsed.into_conversation().into_owned().tools;
    tools.pop()?.parameters
}

/// Declares a tool with any schema as TypeScript.
pub fn declares(schema: &Value<'_>) {
    for style in [Style::Documented, Style::Reference] {
        let (text, _) = typescript(schema, style);
        // Types are cut off after a mebibyte, but the last one is complete.
        assert!(text.len() <= 2 << 20, "{} bytes of {schema:?}", text.len());
    }
}
