//! Unexpected JSON at any level, with values of any type.

use super::{Json, object};
use crate::grammar::generator::{Generator, Shown};

/// Generates a value of any type with a datum in it.
pub(crate) fn any(generator: &mut Generator<'_>) -> Json {
    match generator.upto(7) {
        0 => Json::Number(generator.number()),
        1 => Json::List(vec![generator.datum().into(), Json::Number(generator.number())]),
        2 => Json::Object(vec![(generator.datum(), generator.datum().into())]),
        3 => Json::Word(generator.pick(&["null", "true", "false"])),
        4 if generator.is_odd(2) => Json::Raw(format!("\"{}\\ud800\"", generator.datum())),
        5 => Json::Raw(
            generator.pick(&["0", "-0.0", "1e400", "12345678901234567890", "\"\""]).to_owned(),
        ),
        _ => generator.datum().into(),
    }
}

/// Adds oddities to a document at any level, with values of any type.
pub(crate) fn add_oddities(generator: &mut Generator<'_>, document: &mut Json) {
    for _ in 0..=generator.upto(1) {
        let count = document.count();
        let mut at = generator.upto(count - 1);
        // Most values are strings, but objects and lists allow more oddities, so they are
        // preferred.
        for _ in 0..4 {
            let mut is_container = false;
            let mut look = |it: &mut Json| {
                is_container = matches!(it, Json::Object(_) | Json::List(_));
            };
            document.change(at, &mut look);
            if is_container {
                break;
            }
            at = generator.upto(count - 1);
        }
        document.change(at, &mut |value| oddly(generator, value));
    }
}

fn oddly(generator: &mut Generator<'_>, value: &mut Json) {
    match value {
        Json::Object(members) => of_object(generator, members),
        Json::List(items) => of_list(generator, items),
        Json::String(_) if generator.one_in(2) => {
            generator.flaw("lone surrogate");
            *value = Json::Raw(format!("\"{}\\udc00\"", generator.datum()));
        }
        value => {
            generator.flaw("value of another type");
            *value = any(generator);
        }
    }
}

fn of_object(generator: &mut Generator<'_>, members: &mut Vec<(String, Json)>) {
    let at = generator.upto(members.len().saturating_sub(1));
    let choice = if members.is_empty() { 0 } else { generator.upto(8) };
    match choice {
        0..=2 => {
            generator.flaw("unknown key");
            let at = generator.upto(members.len());
            let member = (generator.datum(), any(generator));
            members.insert(at, member);
        }
        3 => {
            generator.flaw("value of another type");
            members[at].1 = any(generator);
        }
        4 => {
            generator.flaw("key twice");
            let member = (members[at].0.clone(), any(generator));
            members.insert(at, member);
        }
        5 => {
            generator.flaw("missing key");
            members.remove(at);
        }
        6 => {
            generator.flaw("misspelled key");
            members[at].0 = generator
                .pick(&["Role", "text", "messages", "value", "content ", "tool_call"])
                .to_owned();
        }
        7 => {
            generator.flaw("word of no vocabulary");
            members[at].1 = generator.datum().into();
        }
        _ => {
            generator.flaw("known key out of its place");
            let key = generator.pick(&[
                "role",
                "name",
                "content",
                "tool_calls",
                "tool_call_id",
                "thinking",
                "weight",
                "tools",
                "function",
                "channel",
                "recipient",
                "end",
                "intent",
                "type",
                "text",
            ]);
            let text = generator.text(Shown::Hidden);
            members.push((key.to_owned(), text.into()));
        }
    }
}

fn of_list(generator: &mut Generator<'_>, items: &mut Vec<Json>) {
    let at = generator.upto(items.len());
    match generator.upto(4) {
        0 => {
            generator.flaw("record of another shape");
            let record = any(generator);
            items.insert(at, record);
        }
        1 => {
            generator.flaw("record of another format");
            let record = foreign(generator);
            items.insert(at, record);
        }
        2 if !items.is_empty() => {
            generator.flaw("record twice");
            let copy = items[at.min(items.len() - 1)].clone();
            items.insert(at, copy);
        }
        3 if !items.is_empty() => {
            generator.flaw("record missing");
            items.remove(at.min(items.len() - 1));
        }
        _ => {
            generator.flaw("deep nesting");
            let mut deep: Json = generator.datum().into();
            for _ in 0..generator.pick(&[3, 40, 200]) {
                deep = Json::List(vec![deep]);
            }
            items.insert(at, deep);
        }
    }
}

/// Generates a record of another format.
fn foreign(generator: &mut Generator<'_>) -> Json {
    let text: Json = generator.datum().into();
    match generator.upto(5) {
        0 => object([("role", "user".into()), ("content", text)]),
        1 => object([("from", "human".into()), ("value", text)]),
        2 => object([("type", "message".into()), ("role", "user".into()), ("content", text)]),
        3 => object([("type", "text".into()), ("text", text)]),
        4 => object([("instruction", text), ("output", generator.datum().into())]),
        _ => object([("token", "<|start|>".into()), ("x", text)]),
    }
}

/// Generates JSON that is not a conversation in any format.
pub(crate) fn no_conversation(generator: &mut Generator<'_>) -> Json {
    generator.flaws.clear();
    generator.violations.clear();
    generator.violation("JSON of no conversation");
    let text: Json = generator.datum().into();
    match generator.upto(6) {
        0 => object([]),
        1 => Json::Word(generator.pick(&["null", "true"])),
        2 => text,
        3 => object([("text", text)]),
        4 => object([("msgs", vec![text].into())]),
        5 => object([("version", text), ("dependencies", object([]))]),
        _ => object([("prompt", text), ("chosen", generator.datum().into())]),
    }
}
