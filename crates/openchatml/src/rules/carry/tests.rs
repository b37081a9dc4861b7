//! What must hold of all rules together, and of each, for every table and any conversation.

use std::collections::BTreeSet;

use openchatml_testkit::{Source, cases, one_in, pick};

use super::{Adapted, At, EACH, Home, NAMES, REQUIRED, adapt, fits, fits_each};
use crate::json::Value;
use crate::model::{
    Body, Channel, Conversation, End, FormId, Header, Intent, Marker, Message, Role, Segment, Tool,
    Visibility, Weight,
};
use crate::options::{Profile, RenderOptions};
use crate::rules::{Carries, Loss, Lost};
use crate::{Carrier, Format, dialects};

const CASES: usize = 20_000;

/// Every table: those of formats, and those of the chat templates that write some.
fn tables() -> Vec<&'static Carries> {
    let mut options = RenderOptions::default();
    options.profile = Profile::HfTemplate;
    let composer = |format: Format| {
        let (composing, form) = match format.carrier() {
            Carrier::Text => format.dialect.text.map(|form| (form.composer, form.id))?,
            Carrier::Json => format.dialect.json.as_ref().map(|form| (form.composer, form.id))?,
        };
        Some(composing.of(&Conversation::default(), form, &options)?.carries)
    };
    Format::all().flat_map(|format| [Some(format.carries()), composer(format)]).flatten().collect()
}

fn some<T: Copy>(source: &mut Source<'_>, rarity: u8, of: &[T]) -> Option<T> {
    one_in(source, rarity).then(|| pick(source, of))
}

fn body(source: &mut Source<'_>) -> Body<'static> {
    match source.int_in_range(0..=5).unwrap_or(0) {
        0 => Body::default(),
        1 => Body::from("{}"),
        2 => Body::from_segments([Segment::Literal("a".into()), Segment::Text("b".into())]),
        3 => Body::from_segments([
            Segment::Text("{\"a\":1}".into()),
            Segment::Marker(pick(source, Marker::ALL)),
            Segment::Literal("b".into()),
        ]),
        _ => Body::from("a"),
    }
}

fn message(source: &mut Source<'_>) -> Message<'static> {
    let mut message = Message::new(pick(source, Role::ALL), body(source));
    message.channel = some(source, 2, Channel::ALL);
    message.intent = some(source, 4, Intent::ALL);
    let names = &["functions.f", "functions.g", "example_user", "Eric"];
    message.name = some(source, 3, names).map(Into::into);
    let recipients = &["functions.f", "functions.g", "assistant", "all"];
    message.recipient = some(source, 2, recipients).map(Into::into);
    message.call_id = some(source, 3, &["call_1", "b", "c"]).map(Into::into);
    message.content_type = some(source, 3, &["json", "code", "text"]).map(Into::into);
    message.constrained = one_in(source, 6);
    message.end = some(source, 2, End::ALL).unwrap_or_default();
    if message.is_call() && one_in(source, 2) {
        (message.channel, message.end) = (Some(Channel::Commentary), End::Call);
    }
    message.weight = some(source, 8, &[Weight::ZERO, Weight::ONE]);
    message.unread = some(source, 12, &["mood=sad"]).map(Into::into);
    message.recovered = one_in(source, 12);
    message.foreign = one_in(source, 12);
    message
}

fn header(source: &mut Source<'_>) -> Header<'static> {
    let mut header = match one_in(source, 8) {
        true => Header::default(),
        false => Header::new(pick(source, &["2.2", "2.0", "1.0"])),
    };
    for key in ["capabilities", "profiles", "model"] {
        if one_in(source, 3) {
            header.insert(key, Value::from("x"));
        }
    }
    header
}

/// Any conversation that the model can hold, read in any format or in none.
fn conversation(source: &mut Source<'_>) -> Conversation<'static> {
    let mut conversation = Conversation::default();
    if one_in(source, 2) {
        conversation.header = Some(header(source));
    }
    for _ in 0..source.int_in_range(0..=2).unwrap_or(0) {
        let mut tool = Tool { name: "f".into(), ..Tool::default() };
        if one_in(source, 2) {
            tool.extra.push((pick(source, &["type", "strict"]).into(), Value::from(true)));
        }
        conversation.tools.push(tool);
    }
    let count = source.int_in_range(0..=5).unwrap_or(0);
    conversation.messages = (0..count).map(|_| message(source)).collect();
    let forms: Vec<FormId> = dialects::ALL.iter().map(|it| it.form()).collect();
    conversation.origin = some(source, 2, &forms).unwrap_or_default();
    conversation
}

/// Whether the header says something else, and it does not come back.
fn header_differs(one: &Conversation<'_>, two: &Conversation<'_>, home: Home<'_>) -> bool {
    let is_implied = |header: &Header<'_>| {
        let version = home.and_then(|home| home.version);
        version.is_some() && header == &Header::new(version.unwrap_or_default())
    };
    one.header != two.header
        && !(two.header.is_none() && one.header.as_ref().is_some_and(is_implied))
}

fn is_json(message: &Message<'_>) -> bool {
    let text = message.body.text();
    text.is_empty() || serde_json::from_str::<serde_json::Value>(&text).is_ok()
}

/// Whether a message says something else: what a format says without a word about it may come and go.
fn differs(one: &Message<'_>, two: &Message<'_>, home: Home<'_>) -> bool {
    let (mut one, mut two) = (one.clone(), two.clone());
    let (is_call, is_reply) = (two.is_call(), two.role == Role::Tool);
    // What has no channel is on `final`, or on the channel of its kind.
    match (one.channel, two.channel) {
        (None, Some(Channel::Commentary)) if is_call || is_reply => one.channel = two.channel,
        (None, Some(Channel::Final)) => one.channel = two.channel,
        (Some(Channel::Final), None) => two.channel = one.channel,
        (Some(Channel::Commentary), None)
            if is_reply && home.is_some_and(|home| home.channels.are_fixed()) =>
        {
            two.channel = one.channel;
        }
        _ => {}
    }
    let assistant = Some("assistant");
    match (one.recipient.as_deref(), two.recipient.as_deref()) {
        (None, to) if is_reply && to == assistant => one.recipient.clone_from(&two.recipient),
        (to, None) if is_reply && to == assistant => two.recipient.clone_from(&one.recipient),
        _ => {}
    }
    // A constraint is one to a type.
    for message in [&mut one, &mut two] {
        message.constrained &= message.content_type.is_some();
    }
    let json = Some("json");
    match (one.content_type.as_deref(), two.content_type.as_deref()) {
        (None, it)
            if is_call
                && it == json
                && (is_json(&one) || home.is_some_and(|home| !(home.content_types)(&two))) =>
        {
            one.content_type.clone_from(&two.content_type);
        }
        (it, None) if is_call && it == json && home.is_some_and(|home| home.reads_json_calls) => {
            two.content_type.clone_from(&one.content_type);
        }
        _ => {}
    }
    one != two
}

/// A loss is told of exactly the messages that say something else, and of the document if that does.
fn losses_are_what_changed(
    before: &Conversation<'_>,
    (after, places): (&Conversation<'_>, &[usize]),
    losses: &[Loss],
    home: Home<'_>,
) {
    let lost: BTreeSet<_> = losses.iter().map(|loss| loss.message).collect();
    let differ = header_differs(before, after, home) || before.tools != after.tools;
    assert_eq!(lost.contains(&None), differ, "{losses:?}");
    for (at, message) in before.messages.iter().enumerate() {
        let is_it = |(place, _): &(&usize, _)| **place == at;
        let left: Vec<_> = places.iter().zip(&after.messages).filter(is_it).collect();
        let differs = match left[..] {
            [(_, left)] => differs(message, left, home),
            _ => true,
        };
        assert_eq!(lost.contains(&Some(at)), differs, "{losses:?}: {message:?} to {left:?}");
    }
}

/// No message shows what was hidden, and none makes a call that was not made.
fn nothing_is_gained(before: &Conversation<'_>, after: &Conversation<'_>, places: &[usize]) {
    let is_made = |it: &Message<'_>| it.is_call() && it.end == End::Call && !it.recovered;
    for (place, message) in places.iter().zip(&after.messages) {
        let original = &before.messages[*place];
        let is_hidden = message.visibility() == Visibility::Hidden;
        assert!(
            is_hidden || original.visibility() == Visibility::User,
            "{original:?}: {message:?}"
        );
        assert!(!is_made(message) || is_made(original), "{original:?}: {message:?}");
    }
}

#[test]
fn what_is_adapted_fits_and_a_loss_is_told_of_what_changed() {
    cases(CASES, |source| {
        let before = conversation(source);
        let carries = pick(source, &tables());
        let home = dialects::carried_by(before.origin);
        let (mut after, mut losses) = (before.clone(), Vec::new());
        let places = adapt(&mut after, carries, home, &mut losses);
        if fits(&before, carries) {
            assert_eq!((&after, &losses), (&before, &Vec::new()));
        }
        assert!(fits(&after, carries), "{before:?} became {after:?}");
        assert_eq!(after.messages.len(), places.len());
        losses_are_what_changed(&before, (&after, &places), &losses, home);
        nothing_is_gained(&before, &after, &places);
        let (mut twice, mut more) = (after.clone(), Vec::new());
        let again = adapt(&mut twice, carries, home, &mut more);
        assert_eq!((twice, more), (after, Vec::new()));
        assert!(again.into_iter().eq(0..places.len()));
    });
}

/// Applies rules of messages up to one. `None` if one of them drops the message.
fn through<'a>(mut message: Message<'a>, count: usize, at: &At<'_>) -> Option<Message<'a>> {
    for rule in &EACH[..count] {
        if (rule.fits)(&message, at) {
            continue;
        }
        match (rule.adapt)(&mut message, at, None) {
            Adapted::Dropped(_) => return None,
            Adapted::Split(rest, _) => message = *rest,
            Adapted::Changed(_) => {}
        }
    }
    Some(message)
}

#[test]
fn each_rule_of_messages_makes_what_it_gets_fit_and_breaks_no_rule_before_it() {
    cases(CASES, |source| {
        let any = message(source);
        let home = some(source, 2, &tables());
        let carries = pick(source, &tables());
        let (is_last, is_stopped) = (one_in(source, 2), one_in(source, 2));
        let at = At { carries, is_last, is_stopped, settings: None };
        assert_eq!(fits_each(&any, &at), EACH.iter().all(|rule| (rule.fits)(&any, &at)));
        for (index, rule) in EACH.iter().enumerate() {
            let Some(before) = through(any.clone(), index, &at) else { return };
            if (rule.fits)(&before, &at) {
                continue;
            }
            let mut after = before.clone();
            let (lost, rest) = match (rule.adapt)(&mut after, &at, home) {
                Adapted::Dropped(_) => return,
                Adapted::Changed(lost) => (lost, None),
                Adapted::Split(rest, lost) => (Some(lost), Some(rest)),
            };
            let name = rule.name;
            assert_eq!(lost.is_some(), differs(&before, &after, home), "{name}: {before:?}");
            for message in std::iter::once(&after).chain(rest.as_deref()) {
                assert!((rule.fits)(message, &at), "{name}: {before:?} became {message:?}");
            }
            for rule in &EACH[..index] {
                assert!((rule.fits)(&after, &at), "{name} breaks {}: {after:?}", rule.name);
            }
        }
    });
}

#[test]
fn what_is_required_is_filled_in() {
    cases(CASES, |source| {
        let before = conversation(source);
        let carries = pick(source, &tables());
        let home = dialects::carried_by(before.origin);
        for rule in NAMES.iter().chain(REQUIRED) {
            let mut after = before.clone();
            let losses = rule.apply(&mut after, carries, home);
            assert!(rule.fits(&after, carries), "{}: {before:?}", rule.name);
            let is_id = |lost: &Lost| *lost == Lost::CallIdChanged;
            let lost = losses.iter().map(|loss| loss.lost);
            let (changed, lost): (Vec<Lost>, Vec<Lost>) = lost.partition(is_id);
            let renamed = before.messages.iter().zip(&after.messages);
            let renamed =
                renamed.filter(|(one, two)| one.call_id.is_some() && one.call_id != two.call_id);
            assert_eq!(changed.len(), renamed.count(), "{}", rule.name);
            let had = before.header.as_ref().filter(|header| header.get("version").is_some());
            let version = home.and_then(|home| home.version);
            let replaced = had.filter(|_| before.header != after.header);
            let replaced = replaced.filter(|it| version.is_none() || it.version() != version);
            assert_eq!(lost, replaced.map(|_| Lost::Version).into_iter().collect::<Vec<_>>());
            // Everything that was said is still there.
            for (one, two) in before.messages.iter().zip(&after.messages) {
                let mut filled = one.clone();
                filled.name = filled.name.or_else(|| two.name.clone());
                filled.recipient = filled.recipient.or_else(|| two.recipient.clone());
                filled.call_id.clone_from(&two.call_id);
                filled.channel = filled.channel.or(two.channel);
                assert_eq!(&filled, two, "{}", rule.name);
            }
        }
    });
}
