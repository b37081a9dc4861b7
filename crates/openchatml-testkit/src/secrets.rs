//! Documents with hidden text in every possible place, and the output routes through which it could
//! become visible.
//!
//! Two properties hold for every output route of a document: the user view of the output shows
//! nothing that the user view of the document did not show, and other hidden text gives the same
//! user view.

use openchatml::convert::{self, Channels, Loss, Lost};
use openchatml::render::{LayoutChoice, Profile, Values};
use openchatml::{
    Body, Channel, Conversation, Document, End, Format, Header, Intent, Marker, Message, Policy,
    ReadOptions, RenderError, RenderOptions, Role, Segment, Stream, TextFormat, Visibility,
    history, parse, render,
};
use serde_json::{Map, Value, json};

use crate::{Source, inputs, one_in, pick, text};

/// A user view: role and text of each message that is not empty.
pub type Seen = Vec<(Role, String)>;

/// The output of a route.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The output, parsed again.
    pub document: Document<'static>,
    /// The user-visible events when the output is streamed.
    pub events: Vec<String>,
    /// Whether adjacent messages may be joined.
    pub joins: bool,
    /// Whether visible text became part of an earlier message, which is reported as a loss.
    pub takes: bool,
}

/// An output route of a document.
pub type Route<'d> = dyn Fn(&Document<'_>) -> Result<Outcome, RenderError> + 'd;

// ------------------------------------------------------------------------------------ documents

/// Generates any conversation: markers, recovered and foreign messages, channels, recipients and
/// ends in any place.
pub fn anything(source: &mut Source<'_>) -> Conversation<'static> {
    let mut conversation = Conversation::default();
    if one_in(source, 2) {
        conversation.header = Some(Header::new(pick(source, &["2.2", "2.0"])));
    }
    let is_hostile = one_in(source, 3);
    let count = source.int_in_range(1..=6).unwrap_or(1);
    conversation.messages = (0..count).map(|_| any_message(source, is_hostile)).collect();
    conversation
}

fn any_message(source: &mut Source<'_>, is_hostile: bool) -> Message<'static> {
    let mut message = Message::new(pick(source, Role::ALL), "");
    if one_in(source, 2) {
        message.role = Role::Assistant;
    }
    if !one_in(source, 3) {
        message.channel = Some(pick(source, Channel::ALL));
    }
    if one_in(source, 3) {
        message.intent = Some(pick(source, Intent::ALL));
    }
    let value = |source: &mut Source<'_>, n| {
        one_in(source, n).then(|| match is_hostile {
            true => text::value(source),
            false => (pick(source, &["functions.f", "python", "user", "a"])).to_owned(),
        })
    };
    message.recipient = value(source, 4).map(Into::into);
    message.name = value(source, 5).map(Into::into);
    message.call_id = value(source, 5).map(Into::into);
    message.end = match one_in(source, 2) {
        true => End::End,
        false => pick(source, End::ALL),
    };
    if message.role == Role::Tool && one_in(source, 2) {
        message.name = Some("functions.f".into());
    }
    if message.is_call() && !one_in(source, 4) {
        (message.channel, message.end) = (Some(Channel::Commentary), End::Call);
    }
    if one_in(source, 6) {
        message.content_type = Some("json".into());
        message.constrained = one_in(source, 2);
    }
    message.recovered = one_in(source, 6);
    message.foreign = one_in(source, 8);
    message.body = any_body(source, is_hostile);
    if message.end == End::Prompt {
        message.body = Body::default();
    }
    message
}

fn any_body(source: &mut Source<'_>, is_hostile: bool) -> Body<'static> {
    let marks = one_in(source, 3);
    let count = source.int_in_range(0..=3).unwrap_or(1);
    let segments = (0..count).map(|_| match source.int_in_range(0..=2).unwrap_or(0) {
        0 if marks => Segment::Marker(pick(source, Marker::ALL)),
        1 if marks => Segment::Literal(words(source, is_hostile).into()),
        _ => Segment::Text(words(source, is_hostile).into()),
    });
    Body::from_segments(segments.collect::<Vec<_>>())
}

fn words(source: &mut Source<'_>, is_hostile: bool) -> String {
    match source.int_in_range(0..=3).unwrap_or(0) {
        0 => text::json(source),
        _ if is_hostile => text::hostile(source),
        _ => text::benign(source),
    }
}

/// Generates hidden text that is not empty. Whether a text is empty is not hidden, because
/// templates omit empty texts.
fn secret(source: &mut Source<'_>, is_hostile: bool) -> String {
    let words = words(source, is_hostile);
    if words.is_empty() { ".".to_owned() } else { words }
}

/// Generates a document from `format`: parsed from a text, well-formed or not, or from JSON that
/// contains more than text can represent.
pub fn from(source: &mut Source<'_>, format: Format) -> Document<'static> {
    let read =
        |text: &str, options: &ReadOptions| parse(text, format, options).document.into_owned();
    match source.int_in_range(0..=3).unwrap_or(0) {
        0 => {
            let options = inputs::options(source);
            read(&inputs::any_text(source, format), &options)
        }
        1 if has_segments(format) => {
            let text = segments_json(&anything(source), format);
            read(&text, &inputs::options(source))
        }
        2 => {
            let anything = anything(source).into();
            let options = RenderOptions::default();
            match convert::convert(&anything, format, &options) {
                Ok(converted) => read(&converted.output, &ReadOptions::default()),
                Err(_) => anything,
            }
        }
        _ => anything(source).into(),
    }
}

/// Whether the JSON of a format has segments and markers.
fn has_segments(format: Format) -> bool {
    matches!(format.to_string().as_str(), "json" | "openchatml-2.2:json")
}

/// Writes a conversation as JSON without the checks of a writer.
pub fn segments_json(conversation: &Conversation<'_>, format: Format) -> String {
    let messages: Vec<Value> = conversation.messages.iter().map(message_json).collect();
    match format.to_string().as_str() {
        "json" => json!({ "messages": messages }).to_string(),
        _ => Value::from(messages).to_string(),
    }
}

fn message_json(message: &Message<'_>) -> Value {
    let mut object = Map::new();
    object.insert("role".into(), message.role.as_str().into());
    let words = [
        ("name", message.name.as_deref()),
        ("recipient", message.recipient.as_deref()),
        ("call_id", message.call_id.as_deref()),
        ("content_type", message.content_type.as_deref()),
        ("channel", message.channel.map(Channel::as_str)),
        ("intent", message.intent.map(Intent::as_str)),
    ];
    for (key, value) in words {
        object.extend(value.map(|value| (key.to_owned(), Value::from(value))));
    }
    let segments = message.body.segments().map(|segment| match segment {
        Segment::Text(text) => json!({"type": "text", "text": text}),
        Segment::Literal(text) => json!({"type": "literal", "text": text}),
        Segment::Marker(marker) => json!({"type": "marker", "marker": marker.as_str()}),
    });
    object.insert("content".into(), segments.collect());
    if message.end != End::End {
        object.insert("end".into(), message.end.as_str().into());
    }
    for (key, is_so) in [("recovered", message.recovered), ("foreign", message.foreign)] {
        if is_so {
            object.insert(key.into(), true.into());
        }
    }
    Value::Object(object)
}

/// Replaces the hidden text of a document: each hidden message, and the text after the first marker
/// of a visible one. Markers remain.
pub fn with_other_secrets(source: &mut Source<'_>, document: &Document<'_>) -> Document<'static> {
    let mut other = document.clone().into_owned();
    let is_hostile = one_in(source, 3);
    for conversation in other.conversations_mut() {
        for message in &mut conversation.messages {
            let mut is_hidden = message.visibility() == Visibility::Hidden;
            // A section with settings of the model is not text, although it is part of a message.
            let is_section = message.body.text().starts_with("Deliberation: ");
            if is_section || !is_hidden && !message.body.has_markers() {
                continue;
            }
            let segments = message.body.segments().map(|segment| match segment {
                Segment::Marker(marker) => {
                    is_hidden = true;
                    Segment::Marker(marker)
                }
                // Whether a hidden message is empty is visible in formats that write no empty ones.
                Segment::Text(text) if is_hidden && !text.is_empty() => {
                    Segment::Text(secret(source, is_hostile).into())
                }
                Segment::Literal(text) if is_hidden && !text.is_empty() => {
                    Segment::Literal(secret(source, is_hostile).into())
                }
                Segment::Text(text) => Segment::Text(text.into_owned().into()),
                Segment::Literal(text) => Segment::Literal(text.into_owned().into()),
            });
            message.body = Body::from_segments(segments.collect::<Vec<_>>());
        }
    }
    other
}

// ---------------------------------------------------------------------------------------- views

/// Returns the user view of a document. Empty messages are omitted.
pub fn seen(document: &Document<'_>) -> Seen {
    let policy = Policy::default();
    let mut seen = Seen::new();
    for conversation in document.clone().into_owned().conversations_mut() {
        let view = policy.view(conversation);
        let said = view.messages().filter(|message| !message.text().is_empty());
        seen.extend(said.map(|message| (message.role(), message.text().to_owned())));
    }
    seen
}

/// Joins adjacent texts of one speaker.
fn joined(seen: &Seen) -> Seen {
    let mut joined = Seen::new();
    for (role, text) in seen {
        match joined.last_mut() {
            Some((last, before)) if last == role => before.push_str(text),
            _ => joined.push((*role, text.clone())),
        }
    }
    joined
}

/// Whether `part` is a subsequence of `whole`. If `joins` is set, adjacent texts of one speaker may
/// be joined, and a reply of a tool may have absorbed the beginning of a text.
pub fn is_some_of(part: &Seen, whole: &Seen, joins: bool) -> bool {
    let mut left = whole.as_slice();
    part.iter().all(|(role, text)| {
        let found = (0..left.len()).find_map(|at| {
            let run = left[at..].iter().take_while(|it| it.0 == *role);
            let mut said = String::new();
            run.enumerate().take(if joins { usize::MAX } else { 1 }).find_map(|(len, it)| {
                said.push_str(&it.1);
                let is_it = said == *text || joins && said.ends_with(text);
                is_it.then_some(at + len + 1)
            })
        });
        left = &left[found.unwrap_or(0)..];
        found.is_some()
    })
}

/// Formats a document as canonical JSON.
fn told(document: &Document<'_>) -> String {
    match document {
        Document::Conversation(conversation) => segments_json(conversation, Format::JSON),
        other => format!("{other:?}"),
    }
}

// ---------------------------------------------------------------------------------- properties

/// The user view of the output of a route shows nothing that the view of the document did not show.
///
/// # Panics
///
/// The property does not hold.
pub fn leaks_nothing(document: &Document<'_>, route: &Route<'_>, name: &str) {
    let Ok(outcome) = route(document) else { return };
    let [before, after] = [seen(document), seen(&outcome.document)];
    assert!(
        is_some_of(&after, &before, outcome.joins),
        "{name} shows {after:?} of {before:?}\n{}\n{}",
        told(document),
        told(&outcome.document),
    );
}

/// Two documents that differ only in hidden text have the same view and the same user-visible
/// events on a route, or are both refused for the same reason.
///
/// # Panics
///
/// The property does not hold.
pub fn ignores_secrets(one: &Document<'_>, two: &Document<'_>, route: &Route<'_>, name: &str) {
    let Some((documents, [one, two])) = both(one, two, route, name) else { return };
    let view = |outcome: &Outcome| match outcome.joins {
        true => joined(&seen(&outcome.document)),
        false => seen(&outcome.document),
    };
    let [from_one, from_two] = [&documents[0], &documents[1]].map(told);
    // Replies have no end token in Apertus: if a reply absorbs a part of the answer, that part is
    // hidden, and its loss is reported.
    if !one.takes && !two.takes {
        assert_eq!(view(&one), view(&two), "{name}:\n{from_one}\n{from_two}");
    }
    if !one.joins {
        assert_eq!(one.events, two.events, "{name}:\n{from_one}\n{from_two}");
    }
}

/// Returns the outputs of a route for two documents that differ only in hidden text, and the
/// documents. `None` if both are refused for the same reason.
///
/// An error may be about hidden text that the target cannot write. It must name the hidden message,
/// and with harmless text the document must be written like the other one.
///
/// # Panics
///
/// One of them is refused for another reason.
pub fn both<T>(
    one: &Document<'_>,
    two: &Document<'_>,
    route: &(impl Fn(&Document<'_>) -> Result<T, RenderError> + ?Sized),
    name: &str,
) -> Option<([Document<'static>; 2], [T; 2])> {
    let mut documents = [one.clone().into_owned(), two.clone().into_owned()];
    loop {
        let refused = match [route(&documents[0]), route(&documents[1])] {
            [Ok(one), Ok(two)] => return Some((documents, [one, two])),
            outcomes => outcomes.map(Result::err),
        };
        // In Apertus, a text that begins with a bracket can go on replies that are no JSON.
        let is_list = |error: &RenderError| {
            error.to_string().ends_with("directly after calls would be read as their replies")
        };
        // In DeepSeek V3.2 and later, the words around replies are words also as ids, and what they do to
        // a turn is found at its first message.
        let has_words = name.contains("deepseek-v3.2") || name.contains("deepseek-v4");
        let is_of_words = |error: &RenderError| {
            has_words && error.to_string().ends_with("would be read as another message")
        };
        if refused.iter().flatten().any(|error| is_list(error) || is_of_words(error)) {
            return None;
        }
        // The hidden message that differs and that the target cannot write.
        let places = refused.iter().flatten().filter_map(|error| error.message);
        let Some(at) = places.into_iter().find_map(|at| differing_secret(&documents, at)) else {
            let [one, two] = refused.map(|error| error.map(|error| error.to_string()));
            let [from_one, from_two] = [&documents[0], &documents[1]].map(told);
            assert_eq!(one, two, "{name} refuses one of these:\n{from_one}\n{from_two}");
            return None;
        };
        for document in &mut documents {
            match document {
                Document::Conversation(conversation) => {
                    make_harmless(&mut conversation.messages[at]);
                }
                // The error does not name the file of the message.
                other => {
                    let all = other.conversations_mut().into_iter().flat_map(|it| &mut it.messages);
                    all.for_each(make_harmless);
                }
            }
        }
    }
}

/// Returns the message at this index if it differs in hidden text, or another reply of the same
/// list: the end of a reply may depend on the others.
fn differing_secret(documents: &[Document<'_>; 2], at: usize) -> Option<usize> {
    let [one, two] = documents;
    let (Document::Conversation(one), Document::Conversation(two)) = (one, two) else {
        return (one != two).then_some(at);
    };
    let differs = |at: &usize| {
        let bodies = [one, two].map(|it| it.messages.get(*at).map(|message| &message.body));
        bodies[0] != bodies[1]
    };
    let is_reply = |at: &usize| one.messages.get(*at).is_some_and(|it| it.role == Role::Tool);
    let before = (0..=at).rev().take_while(is_reply);
    let after = (at..one.messages.len()).take_while(is_reply);
    std::iter::once(at).chain(before).chain(after).find(differs)
}

/// Replaces the hidden text of a message by text that every format can write.
fn make_harmless(message: &mut Message<'static>) {
    let mut is_hidden = message.visibility() == Visibility::Hidden;
    let mut segments = Vec::new();
    for segment in message.body.clone().segments() {
        match segment {
            Segment::Marker(marker) => {
                is_hidden = true;
                segments.push(Segment::Marker(marker));
            }
            Segment::Text(_) | Segment::Literal(_) if is_hidden => {}
            Segment::Text(text) => segments.push(Segment::Text(text.into_owned().into())),
            Segment::Literal(text) => segments.push(Segment::Literal(text.into_owned().into())),
        }
    }
    if is_hidden {
        segments.push(Segment::Text("{}".into()));
    }
    message.body = Body::from_segments(segments);
}

// --------------------------------------------------------------------------------------- doors

/// Generates options for writing.
pub fn render_options(source: &mut Source<'_>) -> RenderOptions {
    let mut options = RenderOptions::default();
    if one_in(source, 2) {
        options.layout = LayoutChoice::Canonical;
    }
    if one_in(source, 2) {
        options.values = Values::Sanitize;
    }
    match source.int_in_range(0..=5).unwrap_or(0) {
        0 => options.generation_prompt = Some(pick(source, Role::ALL)),
        1 => options.continue_final = true,
        _ => {}
    }
    options.profile = pick(
        source,
        &[
            Profile::Documented,
            Profile::Documented,
            Profile::Reference,
            Profile::OssHarmony,
            Profile::HfTemplate,
            Profile::HfTemplateStrings,
        ],
    );
    if one_in(source, 2) {
        options.date = Some("2026-01-31".into());
    }
    options.thinking = one_in(source, 3).then(|| one_in(source, 2));
    options.ids = one_in(source, 3);
    options
}

/// Whether a conversion to `target` merges a visible message with the one before it.
pub fn takes(document: &Document<'_>, target: Format, options: &RenderOptions) -> bool {
    let Some(conversation) = document.as_conversation() else { return false };
    let Ok(prepared) = convert::prepare(document, target, options) else { return false };
    let is_visible = |at: usize| conversation.messages[at].visibility() == Visibility::User;
    let is_taken = |it: &Loss| {
        matches!(it.lost, Lost::Merged | Lost::SystemMoved) && it.message.is_some_and(is_visible)
    };
    prepared.losses.iter().any(is_taken)
}

/// Returns the output of a document, parsed again and streamed.
pub fn outcome(text: &str, format: Format) -> Outcome {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let document = parse(text, format, &options).document.into_owned();
    let mut events = Vec::new();
    if let Ok(format) = TextFormat::try_from(format) {
        let mut stream = Stream::new(format, &options).for_user(Policy::default());
        events.extend(stream.feed(text).map(|event| event.to_json()));
        events.extend(stream.finish().map(|event| event.to_json()));
        renumber(&mut events);
    }
    let joins = format.carries().channels == Channels::Sections;
    Outcome { document, events, joins, takes: false }
}

/// Renumbers the user-visible messages: templates omit empty hidden messages, and the number of
/// messages is not hidden.
pub(crate) fn renumber(events: &mut [String]) {
    let mut ids: Vec<String> = Vec::new();
    for event in events {
        let Some((before, rest)) = event.split_once("\"message_id\":\"") else { continue };
        let Some((id, after)) = rest.split_once('"') else { continue };
        let number = ids.iter().position(|known| known == id).unwrap_or_else(|| {
            ids.push(id.to_owned());
            ids.len() - 1
        });
        *event = format!("{before}\"message_id\":\"{number}\"{after}");
    }
}

/// The part of a history to write.
#[derive(Clone, Copy, Debug)]
enum Part {
    All,
    NextPrompt,
    ReferencePrompt,
    WithoutForeign,
}

impl Part {
    fn of(self, document: &Document<'_>) -> Document<'static> {
        let Document::Conversation(conversation) = document else {
            return document.clone().into_owned();
        };
        let part = match self {
            Self::All => conversation.clone(),
            Self::NextPrompt => history::next_prompt(conversation),
            Self::ReferencePrompt => history::reference_prompt(conversation),
            Self::WithoutForeign => history::drop_foreign(conversation),
        };
        Document::from(part).into_owned()
    }
}

/// Writes a random document of a random format through a random route, and then the same document
/// with other hidden text.
pub fn routes(source: &mut Source<'_>) {
    let formats: Vec<_> = Format::all().collect();
    let (origin, target) = (pick(source, &formats), pick(source, &formats));
    let one = from(source, origin);
    let options = render_options(source);
    let parts =
        [Part::All, Part::All, Part::NextPrompt, Part::ReferencePrompt, Part::WithoutForeign];
    let part = pick(source, &parts);
    let kind = source.int_in_range(0..=3).unwrap_or(0);
    let name = format!(
        "door {kind}, {part:?}, from {origin} to {target} with {:?}, {:?}, {:?}, prompt {:?} {}, \
         date {}, thinking {:?}, ids {}",
        options.layout,
        options.values,
        options.profile,
        options.generation_prompt,
        options.continue_final,
        options.date.is_some(),
        options.thinking,
        options.ids,
    );
    let route = |document: &Document<'_>| -> Result<Outcome, RenderError> {
        let document = part.of(document);
        let text = match kind {
            0 => render(&document, target, &options)?,
            1 => {
                let (converted, sidecar) =
                    convert::convert_with_sidecar(&document, target, &options)?;
                let mut outcome = outcome(&converted.output, target);
                if let Document::Conversation(conversation) = &mut outcome.document {
                    sidecar.restore(conversation).expect("it belongs to it");
                }
                outcome.takes = outcome.joins && takes(&document, target, &options);
                return Ok(outcome);
            }
            _ => convert::convert(&document, target, &options)?.output,
        };
        let mut outcome = outcome(&text, target);
        outcome.takes = outcome.joins && takes(&document, target, &options);
        Ok(outcome)
    };
    leaks_nothing(&one, &route, &name);
    if matches!(part, Part::All) {
        let two = with_other_secrets(source, &one);
        ignores_secrets(&one, &two, &route, &name);
    }
}
