//! JSON that its format does not expect: at any level, with values of any type.

use super::{Json, object};
use crate::grammar::pen::{Pen, Shown};

/// A value of any type, with a datum in it.
pub(crate) fn any(pen: &mut Pen<'_>) -> Json {
    match pen.upto(7) {
        0 => Json::Number(pen.number()),
        1 => Json::List(vec![pen.datum().into(), Json::Number(pen.number())]),
        2 => Json::Object(vec![(pen.datum(), pen.datum().into())]),
        3 => Json::Word(pen.pick(&["null", "true", "false"])),
        4 if pen.is_odd(2) => Json::Raw(format!("\"{}\\ud800\"", pen.datum())),
        5 => {
            Json::Raw(pen.pick(&["0", "-0.0", "1e400", "12345678901234567890", "\"\""]).to_owned())
        }
        _ => pen.datum().into(),
    }
}

/// Makes some things odd about a document: at any level, with values of any type.
pub(crate) fn garnish(pen: &mut Pen<'_>, document: &mut Json) {
    for _ in 0..=pen.upto(1) {
        let count = document.count();
        let mut at = pen.upto(count - 1);
        // Most values are strings; objects and lists have more to be odd about.
        for _ in 0..4 {
            let mut is_container = false;
            let mut look = |it: &mut Json| {
                is_container = matches!(it, Json::Object(_) | Json::List(_));
            };
            document.change(at, &mut look);
            if is_container {
                break;
            }
            at = pen.upto(count - 1);
        }
        document.change(at, &mut |value| oddly(pen, value));
    }
}

fn oddly(pen: &mut Pen<'_>, value: &mut Json) {
    match value {
        Json::Object(members) => of_object(pen, members),
        Json::List(items) => of_list(pen, items),
        Json::String(_) if pen.one_in(2) => {
            pen.flaw("lone surrogate");
            *value = Json::Raw(format!("\"{}\\udc00\"", pen.datum()));
        }
        value => {
            pen.flaw("value of another type");
            *value = any(pen);
        }
    }
}

fn of_object(pen: &mut Pen<'_>, members: &mut Vec<(String, Json)>) {
    let at = pen.upto(members.len().saturating_sub(1));
    let choice = if members.is_empty() { 0 } else { pen.upto(8) };
    match choice {
        0..=2 => {
            pen.flaw("unknown key");
            let at = pen.upto(members.len());
            let member = (pen.datum(), any(pen));
            members.insert(at, member);
        }
        3 => {
            pen.flaw("value of another type");
            members[at].1 = any(pen);
        }
        4 => {
            pen.flaw("key twice");
            let member = (members[at].0.clone(), any(pen));
            members.insert(at, member);
        }
        5 => {
            pen.flaw("missing key");
            members.remove(at);
        }
        6 => {
            pen.flaw("misspelled key");
            members[at].0 = pen
                .pick(&["Role", "text", "messages", "value", "content ", "tool_call"])
                .to_owned();
        }
        7 => {
            pen.flaw("word of no vocabulary");
            members[at].1 = pen.datum().into();
        }
        _ => {
            pen.flaw("known key out of its place");
            let key = pen.pick(&[
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
            let text = pen.text(Shown::Hidden);
            members.push((key.to_owned(), text.into()));
        }
    }
}

fn of_list(pen: &mut Pen<'_>, items: &mut Vec<Json>) {
    let at = pen.upto(items.len());
    match pen.upto(4) {
        0 => {
            pen.flaw("record of another shape");
            let record = any(pen);
            items.insert(at, record);
        }
        1 => {
            pen.flaw("record of another format");
            let record = foreign(pen);
            items.insert(at, record);
        }
        2 if !items.is_empty() => {
            pen.flaw("record twice");
            let copy = items[at.min(items.len() - 1)].clone();
            items.insert(at, copy);
        }
        3 if !items.is_empty() => {
            pen.flaw("record missing");
            items.remove(at.min(items.len() - 1));
        }
        _ => {
            pen.flaw("deep nesting");
            let mut deep: Json = pen.datum().into();
            for _ in 0..pen.pick(&[3, 40, 200]) {
                deep = Json::List(vec![deep]);
            }
            items.insert(at, deep);
        }
    }
}

/// A record as some other format has it.
fn foreign(pen: &mut Pen<'_>) -> Json {
    let text: Json = pen.datum().into();
    match pen.upto(5) {
        0 => object([("role", "user".into()), ("content", text)]),
        1 => object([("from", "human".into()), ("value", text)]),
        2 => object([("type", "message".into()), ("role", "user".into()), ("content", text)]),
        3 => object([("type", "text".into()), ("text", text)]),
        4 => object([("instruction", text), ("output", pen.datum().into())]),
        _ => object([("token", "<|start|>".into()), ("x", text)]),
    }
}

/// JSON that is no conversation of any format.
pub(crate) fn no_conversation(pen: &mut Pen<'_>) -> Json {
    pen.flaws.clear();
    pen.violations.clear();
    pen.violation("JSON of no conversation");
    let text: Json = pen.datum().into();
    match pen.upto(6) {
        0 => object([]),
        1 => Json::Word(pen.pick(&["null", "true"])),
        2 => text,
        3 => object([("text", text)]),
        4 => object([("msgs", vec![text].into())]),
        5 => object([("version", text), ("dependencies", object([]))]),
        _ => object([("prompt", text), ("chosen", pen.datum().into())]),
    }
}
