//! Detects JSON formats by the keys of a document and of its messages.
//!
//! Each format lists its known keys, and the keys that are evidence for it alone. The more keys a
//! format knows, the better a document matches it. The text of messages is ignored.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::{Candidate, Evidence, Recognized, candidate};
use crate::diagnostic::{did_you_mean, is_misspelled, quote};
use crate::dialect::Carrier;
use crate::dialects::ALL;
use crate::services::is_of_training;
use crate::signs::{Case, Items, JsonSigns, Kind, SIDES, Seen, Sketch};

/// The score against a format for each unknown key.
const MISFIT: u32 = 20;

/// Returns the items that a format reads as messages: those under one of its keys, those of a list,
/// or the document itself.
fn items_of<'s>(sketch: &'s Sketch, holders: &[&str]) -> &'s Items {
    let held = holders.iter().find_map(|holder| sketch.items.get(*holder));
    held.or_else(|| sketch.items.get("")).unwrap_or(&sketch.message)
}

/// Returns the formats that JSON documents can be in.
pub(super) fn detect(sketch: &Sketch) -> Vec<Candidate> {
    let forms = ALL.iter().filter_map(|dialect| Some((*dialect, dialect.json.as_ref()?)));
    let cases = forms.filter_map(|(dialect, form)| {
        let mut case = Case::default();
        score(sketch, form.signs, &mut case);
        candidate(case, dialect, Carrier::Json)
    });
    cases.collect()
}

/// Recognizes a document with a list under a key that is a misspelled key of messages.
pub(super) fn misspelled(sketch: &Sketch) -> Option<Recognized> {
    let forms = ALL.iter().filter_map(|dialect| dialect.json.as_ref());
    let holders: Vec<_> = forms.flat_map(|form| form.signs.holders).copied().collect();
    let mut lists =
        sketch.keys.iter().filter_map(|(key, kinds)| Some((key, *kinds.get(&Kind::List)?)));
    let (key, Seen { record, span }) = lists.find(|(key, _)| is_misspelled(key, &holders))?;
    let what = format!("key {}", quote(key));
    Some(Recognized {
        name: format!("a conversation under the unknown key {}", quote(key)).into(),
        evidence: Evidence { what, record, span },
        help: did_you_mean(key, &holders, "").into(),
    })
}

/// Recognizes a document whose messages are under a key of messages of another format.
pub(super) fn misplaced(sketch: &Sketch) -> Option<Recognized> {
    let forms = || ALL.iter().filter_map(|dialect| Some((dialect, dialect.json.as_ref()?.signs)));
    let all_have = |items: &Items, keys: &[&str]| keys.iter().any(|key| items.all_have(key));
    let mut held = sketch.items.iter().filter_map(|(holder, items)| {
        let mut own = forms().filter(|(_, signs)| signs.holders.contains(&holder.as_str()));
        if own.any(|(_, signs)| all_have(items, signs.required)) {
            return None;
        }
        let other = forms().find(|(_, signs)| {
            !signs.holders.contains(&holder.as_str()) && all_have(items, signs.required)
        });
        let (dialect, signs) = other?;
        Some((holder, dialect, signs.holders.first()?))
    });
    let (holder, dialect, holder_there) = held.next()?;
    let Seen { record, span } = *sketch.keys.get(holder)?.get(&Kind::List)?;
    let what = format!("key {}", quote(holder));
    Some(Recognized {
        name: format!("messages of `{}` under `{holder}`", dialect.id).into(),
        evidence: Evidence { what, record, span },
        help: format!("rename `{holder}` to `{holder_there}`").into(),
    })
}

/// Computes how well documents match a format.
fn score(sketch: &Sketch, signs: &JsonSigns, case: &mut Case) {
    let holder = signs.holders.iter().find(|holder| sketch.keys.contains_key(**holder));
    let is_list = sketch.list.is_some();
    let items = items_of(sketch, signs.holders);
    let is_message = |items: &Items| signs.required.iter().any(|key| items.all_have(key));
    let speaks: Vec<_> = signs
        .signs
        .iter()
        .filter_map(|(sign, weight)| Some((*sign, *weight, sign.find(sketch, items)?)))
        .collect();
    let (base, what, seen) = if let Some(holder) = holder {
        let kinds = &sketch.keys[*holder];
        let seen = kinds.values().next().copied().unwrap_or_default();
        (40, format!("key `{holder}`"), seen)
    } else if is_list && signs.lists && (is_message(items) || !speaks.is_empty()) {
        (35, "a list".to_owned(), sketch.list.unwrap_or_default())
    } else if !is_list && is_message(&sketch.message) {
        let key = signs.required.iter().find(|key| sketch.message.all_have(key));
        let key = key.copied().unwrap_or_default();
        let seen = sketch.message.keys.get(key).map(|(_, seen)| *seen).unwrap_or_default();
        (30, format!("key `{key}`"), seen)
    } else if speaks.iter().any(|(_, weight, _)| *weight >= 60) {
        (0, String::new(), Seen::default())
    } else {
        return;
    };
    if base > 0 {
        case.speaks(base + signs.usual, what, seen);
    }
    for (sign, weight, seen) in &speaks {
        case.speaks(*weight, sign.describe(), *seen);
    }
    let is_around = holder.is_some_and(|holder| signs.around.contains(holder));
    let misfits = match is_around {
        true => unknown_keys(sketch, signs),
        false => misfits(sketch, items, holder.is_none() && !is_list, signs),
    };
    case.score = case.score.min(100).saturating_sub(MISFIT * misfits);
}

/// Keys of requests and responses that data sets also have as columns.
const COLUMNS: &[&str] = &["id", "model", "metadata", "user", "usage", "created", "title"];

/// Whether a key of a record can be a part of its conversation, or say whether a model is trained on it.
pub(super) fn is_part(key: &str) -> bool {
    let is_known = DOCUMENT_KEYS.contains(key) || SIDES.contains(&key) || is_of_training(key);
    is_known && !COLUMNS.contains(&key)
}

/// Counts the keys of the document that a format does not know, but another one does. A key that no
/// format knows, such as a column of a data set, is no evidence.
fn unknown_keys(sketch: &Sketch, signs: &JsonSigns) -> u32 {
    // Every format has pairs.
    let is_known = |key: &str| {
        signs.holders.contains(&key)
            || signs.keys.contains(&key)
            || COLUMNS.contains(&key)
            || sketch.has_sides && SIDES.contains(&key)
    };
    let is_misfit = |key: &&String| DOCUMENT_KEYS.contains(key.as_str()) && !is_known(key);
    let unknown = sketch.keys.keys().filter(is_misfit).count();
    u32::try_from(unknown).unwrap_or(u32::MAX).min(5)
}

/// The keys of documents that any format knows.
static DOCUMENT_KEYS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let keys = all().flat_map(|signs| signs.holders.iter().chain(signs.keys));
    keys.chain(&SIDES).copied().collect()
});

/// The keys of messages that any format knows.
static MESSAGE_KEYS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let keys = all().flat_map(|signs| signs.required.iter().chain(signs.message_keys));
    keys.copied().collect()
});

/// Returns the features of all formats.
fn all() -> impl Iterator<Item = &'static JsonSigns> {
    ALL.iter().filter_map(|dialect| Some(dialect.json.as_ref()?.signs))
}

/// Counts the keys and kinds of content that a format does not know, but another one does.
fn misfits(sketch: &Sketch, items: &Items, is_message: bool, signs: &JsonSigns) -> u32 {
    let is_known = |key: &str| signs.required.contains(&key) || signs.message_keys.contains(&key);
    let is_misfit = |key: &&String| MESSAGE_KEYS.contains(key.as_str()) && !is_known(key);
    let of_messages = match signs.message_keys {
        [] => 0,
        _ => items.keys.keys().filter(is_misfit).count(),
    };
    let kinds = items.kinds.keys().filter(|(key, kind)| {
        key == "content" && !signs.content.is_empty() && !signs.content.contains(kind)
    });
    let parts = items
        .parts
        .keys()
        .filter(|kind| !signs.parts.is_empty() && !signs.parts.contains(&kind.as_str()));
    let missing = !signs.required.is_empty()
        && !signs.required.iter().any(|key| items.keys.contains_key(*key));
    let missing = usize::from(items.count > items.strings && missing);
    let of_document = if is_message { 0 } else { unknown_keys(sketch, signs) };
    let all = of_messages + kinds.count() + parts.count() + missing;
    u32::try_from(all).unwrap_or(u32::MAX).saturating_add(of_document).min(5)
}
