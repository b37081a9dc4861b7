//! Laws of visibility: hidden content stays hidden (2.2 §7, §11; decision 40).

use std::collections::BTreeSet;

use openchatml::convert::{convert, prepare};
use openchatml::render::LayoutChoice;
use openchatml::wire::Api;
use openchatml::{
    Carrier, Content, Conversation, Document, End, Event, Format, Keep, Message, Policy,
    RenderOptions, Role, Stream, TextFormat, Visibility, render,
};
use openchatml_tokens::Tokenizer;

use super::fix::fixed;
use super::{Broken, Case, Verdict, brief, lenient, read};
use crate::grammar::{data, json};
use crate::ids::Pairs;
use crate::wire::{ReasoningMode, Setup};

/// The user view of any output shows nothing that the user view of the document does not show.
pub(crate) fn leak(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    let view = view(&parsed.document);
    let check = |what, text: &str, format: Format| {
        let after = self::view(&read(text, format).document);
        shows_no_more(&view, &after).map_err(|datum| {
            Broken::new(what, format!("{datum} is shown of {text:?}: {after:?}, not {view:?}"))
        })
    };
    let mut options = RenderOptions::default();
    if let Ok(converted) = convert(&parsed.document, case.to, &options) {
        check("a conversion shows hidden text", &converted.output, case.to)?;
    }
    if let Ok(text) = render(&parsed.document, case.to, &options) {
        check("a rendering shows hidden text", &text, case.to)?;
    }
    options.layout = LayoutChoice::Canonical;
    if let Ok(text) = render(&parsed.document, case.from, &options) {
        check("the canonical layout shows hidden text", &text, case.from)?;
    }
    if let Some(fixed) = fixed(case) {
        let after = self::view(&case.read(&fixed).document);
        shows_no_more(&view, &after).map_err(|datum| {
            let detail = format!("{datum} is shown of {fixed:?}: {after:?}, not {view:?}");
            Broken::new("a fix shows hidden text", detail)
        })?;
    }
    if let Some(after) = of_ids(&parsed.document, case.to) {
        shows_no_more(&view, &after).map_err(|datum| {
            let detail = format!("{datum} is shown: {after:?}, not {view:?}");
            Broken::new("token ids show hidden text", detail)
        })?;
    }
    let told: View = view.into_iter().chain(withdrawn(case)).collect();
    streamed(case, &told)?;
    told_of(case, &parsed.document, &told)
}

/// Returns the messages of a stream whose ends show that they are hidden. Their text was visible
/// before: only a reader of the whole text can hide it.
fn withdrawn(case: &Case<'_>) -> View {
    let Ok(format) = TextFormat::try_from(case.from) else { return View::new() };
    let policy = Policy::default();
    let mut stream = Stream::new(format, &case.options());
    let mut events: Vec<_> = stream.feed(case.text).collect();
    events.extend(stream.finish());
    let begun = |at: usize| {
        let mut starts = events.iter().filter(|event| event.is_for_user(policy));
        starts.any(|event| matches!(event, Event::MessageStart { index, .. } if *index == at))
    };
    let hidden = events.iter().filter_map(|event| match event {
        Event::MessageDone { index, message }
            if policy.visibility(message) == Visibility::Hidden && begun(*index) =>
        {
            Some((message.role.to_string(), message.body.text().into_owned()))
        }
        Event::MessageHidden { index: at } => events.iter().find_map(|event| match event {
            Event::MessageDone { index, message } if index == at && begun(*at) => {
                Some((message.role.to_string(), message.body.text().into_owned()))
            }
            _ => None,
        }),
        _ => None,
    });
    hidden.collect()
}

/// The user-visible events of a stream contain only what the view shows, and the role and content
/// type of each message.
fn told_of(case: &Case<'_>, document: &Document<'_>, view: &View) -> Verdict {
    let Document::Conversation(conversation) = document else { return Ok(()) };
    let policy = Policy::default();
    let shown = conversation.messages.iter();
    let shown = shown.filter(|message| policy.visibility(message) == Visibility::User);
    let header = |message: &Message<'_>| format!("{:?} {:?}", message.name, message.content_type);
    let header = shown.map(header).collect::<String>();
    let texts = view.iter().map(|it| it.1.as_str());
    let allowed = texts.chain([header.as_str()]).collect::<Vec<_>>().join("\n");
    let events = decoded(&user_events(case).unwrap_or_default());
    match words(&events).difference(&words(&allowed)).next() {
        Some(datum) => {
            let detail = format!("{datum} is told: {events:?}, not {view:?}");
            Err(Broken::new("an event tells a user hidden text", detail))
        }
        None => Ok(()),
    }
}

/// Returns the user-visible events of a stream, one per line. `None` if the format cannot be
/// streamed.
fn user_events(case: &Case<'_>) -> Option<String> {
    let format = TextFormat::try_from(case.from).ok()?;
    let mut stream = Stream::new(format, &case.options()).for_user(Policy::default());
    let mut events: Vec<_> = stream.feed(case.text).collect();
    events.extend(stream.finish());
    Some(events.iter().map(|event| event.to_json() + "\n").collect())
}

/// Returns the user view of a document after writing it as token ids and reading it.
fn of_ids(document: &Document<'_>, to: Format) -> Option<View> {
    let tokenizer = Tokenizer::new(to.text().ok()?, Pairs::all(to));
    let options = RenderOptions::default();
    let prepared = prepare(document, to, &options).ok()?;
    let rendered = tokenizer.render_prepared(&prepared, &options).ok()?;
    let read = tokenizer.parse(&rendered.ids, &lenient());
    Some(view(read.document()))
}

/// The user-visible output of a stream, as events or in other protocols, is part of the view.
fn streamed(case: &Case<'_>, view: &View) -> Verdict {
    let shown = view.iter().map(|it| it.1.as_str()).collect::<Vec<_>>().join("\n");
    for (what, told) in protocols(case) {
        if let Some(datum) = words(&told).difference(&words(&shown)).next() {
            let detail = format!("{datum} is told: {told:?}, not {view:?}");
            return Err(Broken::new(what, detail));
        }
    }
    Ok(())
}

/// Returns the user-visible output of all protocols.
fn protocols(case: &Case<'_>) -> Vec<(&'static str, String)> {
    if case.from.carrier() != Carrier::Text {
        return Vec::new();
    }
    let (thoughts, keep) = (ReasoningMode::Drop, Keep::Bodies);
    let setup =
        Setup { format: case.from, options: case.options(), thoughts, for_user: true, keep };
    let mut deltas = String::new();
    setup.stream([case.text.as_bytes()], |event| {
        if let Event::Delta { text, .. } = event {
            deltas.push_str(text);
        }
    });
    let whats = [
        (Api::Responses, "a stream of Responses tells a user hidden text"),
        (Api::ChatCompletions, "a stream of Chat Completions tells a user hidden text"),
        (Api::Messages, "a stream of Messages tells a user hidden text"),
    ];
    let written =
        whats.map(|(api, what)| (what, decoded(&setup.written(api, [case.text.as_bytes()]))));
    std::iter::once(("a stream tells a user hidden text", deltas)).chain(written).collect()
}

/// Returns the strings in JSON lines.
fn decoded(lines: &str) -> String {
    let values = lines.lines().filter_map(json::read);
    values.map(|(value, _)| value.scalars().join(" ") + "\n").collect()
}

/// A user view: roles and texts.
type View = Vec<(String, String)>;

fn view(document: &Document<'_>) -> View {
    let mut seen = Vec::new();
    let mut see = |conversation: &Conversation<'_>| {
        let view = Policy::default().view(conversation);
        seen.extend(view.messages().map(|it| (it.role().to_string(), it.text().to_owned())));
    };
    document.conversations().into_iter().for_each(&mut see);
    seen
}

/// Whether the document is not a conversation. Files and tasks of OpenChatML 0.1 hide nothing and
/// have no view.
fn without_view(document: &Document<'_>) -> String {
    match document {
        Document::Conversation(_) | Document::Pair(_) => String::new(),
        Document::Files(parts) => {
            let contents = parts.iter().map(|part| &part.content);
            let rest = contents.filter(|it| !matches!(it, Content::Conversation(_)));
            rest.map(|it| format!("{it:?}\n")).collect()
        }
        task => format!("{task:?}"),
    }
}

fn words(text: &str) -> BTreeSet<&str> {
    data(text).into_iter().map(|(_, datum)| datum).collect()
}

/// Returns a datum or a text in a view that the earlier view does not show. Adjacent visible texts
/// may have been joined.
fn shows_no_more(before: &View, after: &View) -> Result<(), String> {
    let all = |view: &View, between: &str| {
        view.iter().map(|it| it.1.as_str()).collect::<Vec<_>>().join(between)
    };
    let [one, two] = [before, after].map(|view| all(view, "\n"));
    if let Some(datum) = words(&two).difference(&words(&one)).next() {
        return Err((*datum).to_owned());
    }
    let joined = all(before, "");
    match after.iter().find(|it| !joined.contains(&it.1)) {
        Some(other) => Err(format!("{:?}", other.1)),
        None => Ok(()),
    }
}

/// The detected format shows a user nothing that the real format does not show: the content of
/// messages is no evidence for a format (decision 48).
pub(crate) fn detected(case: &Case<'_>) -> Verdict {
    let found = openchatml::detect(case.text);
    let Some(best) = found.first().filter(|best| best.is_certain()) else { return Ok(()) };
    if best.format == case.from {
        return Ok(());
    }
    let own = case.parse();
    if own.has_errors() {
        return Ok(());
    }
    let unseen = without_view(&own.document);
    let own = view(&own.document);
    let other = view(&read(case.text, best.format).document);
    let texts = |view: &View| view.iter().map(|it| it.1.as_str()).collect::<Vec<_>>().join("\n");
    let [own, other] = [own, other].map(|view| texts(&view));
    let mut free = words(&own);
    free.extend(words(&unseen));
    match words(&other).difference(&free).next() {
        Some(datum) => {
            let cause = best.format.to_string();
            let detail = format!("{datum} is shown as {cause}: {other:?}, not {own:?}");
            Err(Broken { what: "the detected format shows hidden text", cause, detail })
        }
        None => Ok(()),
    }
}

/// Replacing hidden data does not change what a user sees.
pub(crate) fn hidden(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    let Document::Conversation(_) = &parsed.document else { return Ok(()) };
    let shown: View = view(&parsed.document).into_iter().chain(withdrawn(case)).collect();
    let shown: BTreeSet<_> = shown.iter().flat_map(|it| words(&it.1)).collect();
    let messages = parsed.document.as_conversation().map_or(&[][..], |it| &it.messages);
    let bodies: String = messages.iter().map(|it| format!("{} ", it.body.text())).collect();
    let bodies = words(&bodies);
    let names =
        messages.iter().flat_map(|it| [&it.name, &it.recipient, &it.call_id, &it.content_type]);
    let names: String = names.flatten().map(|name| format!("{name} ")).collect();
    let names = words(&names);
    let is_hidden =
        |datum: &str| bodies.contains(datum) && !shown.contains(datum) && !names.contains(datum);
    let mut other = case.text.to_owned();
    for (at, datum) in data(case.text).into_iter().rev() {
        if is_hidden(datum) && !datum.starts_with('8') {
            other.replace_range(at..at + datum.len(), &datum.replace(['s', 't'], "q"));
        }
    }
    if other == case.text {
        return Ok(());
    }
    looks_alike(case, &Case { text: &other, ..*case })
}

/// Two texts that differ only in hidden text look the same to a user.
fn looks_alike(one: &Case<'_>, two: &Case<'_>) -> Verdict {
    for (first, second) in told(one).iter().zip(&told(two)) {
        // Text that cannot be escaped is refused, and the refusal is not visible to users.
        let is_refused = first.1.starts_with("Err") || second.1.starts_with("Err");
        if first.1 != second.1 && !is_refused {
            let detail = format!("{:?}, and of {:?} {:?}", first.1, two.text, second.1);
            return Err(Broken::new(first.0, detail));
        }
    }
    Ok(())
}

/// Returns everything that a user sees of a text.
fn told(case: &Case<'_>) -> Vec<(&'static str, String)> {
    let parsed = case.parse();
    let converted = convert(&parsed.document, case.to, &RenderOptions::default());
    let converted = converted.map(|it| view(&read(&it.output, case.to).document));
    let mut told = vec![
        ("hidden text changes the view", format!("{:?}", view(&parsed.document))),
        ("hidden text changes the view of a conversion", format!("{converted:?}")),
        ("hidden text changes what a user is refused", format!("{:?}", refused(&parsed.document))),
    ];
    if let Some(events) = user_events(case) {
        told.push(("hidden text changes user events", events));
    }
    let protocols = protocols(case).into_iter();
    told.extend(protocols.map(|(_, told)| ("hidden text changes a stream for users", told)));
    told
}

/// Returns the errors for requests of hidden or missing messages.
fn refused(document: &Document<'_>) -> Vec<String> {
    let Document::Conversation(conversation) = document else { return Vec::new() };
    let view = Policy::default().view(conversation);
    let errors = (0..=conversation.messages.len()).filter_map(|index| view.message(index).err());
    errors.map(|error| format!("{error} {}", error.code.user_summary())).collect()
}

/// Two documents that differ only in hidden text look the same to a user.
pub(crate) fn secret(one: &Case<'_>, two: &Case<'_>) -> Verdict {
    looks_alike(one, two)
}

/// A completion stops at the first `<|return|>` or `<|call|>` of the assistant: nothing after it is
/// shown, it causes an error, and exactly one end is reported (HIP-1 §8; decision 41).
pub(crate) fn completion(case: &Case<'_>) -> Verdict {
    const STOPS: &[&str] = &["<|return|>", "<|call|>"];
    let controls = case.from.dialect().controls.entries();
    let has_stops = STOPS.iter().all(|stop| controls.iter().any(|it| it.1 == *stop));
    if !case.continues || !has_stops {
        return Ok(());
    }
    let parsed = case.parse();
    let messages = &parsed.document.as_conversation().map_or(&[][..], |it| &it.messages);
    let stops = |message: &&Message<'_>| {
        matches!(message.end, End::Return | End::Call)
            && message.role == Role::Assistant
            && !message.recovered
            && !message.foreign
    };
    let mut dones = 0;
    let format = TextFormat::try_from(case.from).expect("a text format");
    let mut stream = Stream::new(format, &case.options());
    let mut take = |event: Event<'_>| dones += usize::from(matches!(event, Event::Done { .. }));
    stream.feed_with(case.text, &mut take);
    stream.finish_with(&mut take);
    if dones > 1 {
        return Err(Broken::new("the end of a response is told twice", format!("{dones} times")));
    }
    let Some(at) = messages.iter().position(|message| stops(&message)) else { return Ok(()) };
    let behind = &messages[at + 1..];
    let policy = Policy::default();
    if let Some(shown) = behind.iter().find(|it| policy.visibility(it) == Visibility::User) {
        let detail = format!("{:?} is shown, in {}", shown.body.text(), brief(&parsed.document));
        return Err(Broken::new("what follows a stop is shown", detail));
    }
    if !behind.is_empty() && !parsed.has_errors() {
        return Err(Broken::new("what follows a stop is no error", brief(&parsed.document)));
    }
    Ok(())
}
