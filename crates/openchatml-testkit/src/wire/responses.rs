//! The checks of a client of the Responses API.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{joined, lines};

/// Checks the events of the Responses API, and returns them without numbers and with adjacent
/// deltas joined.
///
/// # Panics
///
/// The events are inconsistent.
pub(super) fn responses(text: &str) -> Vec<Value> {
    let mut events = lines(text);
    let mut client = Client::default();
    for (number, event) in events.iter_mut().enumerate() {
        client.event(number, event);
        let fields = event.as_object_mut().expect("an event is an object");
        fields.remove("sequence_number");
    }
    assert!(client.is_over, "no end: {text}");
    joined(events, |event| event.get("delta").map(|_| "/delta"))
}

/// The state of a client that reads the events of a response.
#[derive(Default)]
struct Client {
    /// The open item, as it was added.
    item: Option<Value>,
    /// The open part of the item: content, summary or arguments.
    part: Option<(&'static str, String)>,
    /// The texts of its parts.
    said: Vec<(&'static str, String)>,
    done: Vec<Value>,
    ids: HashSet<String>,
    is_over: bool,
}

impl Client {
    fn event(&mut self, number: usize, event: &Value) {
        assert!(!self.is_over, "after the end: {event}");
        assert_eq!(event["sequence_number"], number, "{event}");
        let name = event["type"].as_str().expect("a type");
        let lifecycle = ["response.created", "response.in_progress"];
        assert_eq!(lifecycle.get(number).is_some(), lifecycle.contains(&name), "{event}");
        match name {
            "response.created" | "response.in_progress" => {
                assert_eq!(event["response"]["status"], "in_progress");
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(name, &event["response"]);
            }
            "response.output_item.added" => self.added(event),
            "response.output_item.done" => self.item_done(event),
            _ => self.text(name, event),
        }
    }

    fn end(&mut self, name: &str, response: &Value) {
        assert!(self.item.is_none(), "an item is open: {response}");
        assert_eq!(name.strip_prefix("response."), response["status"].as_str());
        assert_eq!(response["output"], Value::from(self.done.clone()));
        let is_whole =
            |item: &Value| item["type"] != "function_call" || item["status"] == "completed";
        assert!(name != "response.completed" || self.done.iter().all(is_whole), "{response}");
        assert_eq!(response["incomplete_details"].is_null(), name != "response.incomplete");
        assert_eq!(response["error"].is_null(), name != "response.failed");
        assert!(name != "response.failed" || self.done.is_empty(), "{response}");
        self.is_over = true;
    }

    fn added(&mut self, event: &Value) {
        assert!(self.item.is_none(), "two items at once: {event}");
        assert_eq!(event["output_index"], self.done.len(), "{event}");
        let item = &event["item"];
        assert_eq!(item["status"], "in_progress");
        assert!(self.ids.insert(item["id"].to_string()), "{event}");
        match item["type"].as_str().expect("a type") {
            "function_call" => {
                assert!(self.ids.insert(item["call_id"].to_string()), "{event}");
                assert_eq!(item["arguments"], "");
                self.part = Some(("arguments", String::new()));
            }
            "message" => assert_eq!(item["content"], json!([])),
            "reasoning" => assert_eq!(item["summary"], json!([])),
            other => panic!("an item of type {other}"),
        }
        self.item = Some(item.clone());
    }

    fn item_done(&mut self, event: &Value) {
        assert_eq!(event["output_index"], self.done.len(), "{event}");
        let mut wanted = self.item.take().expect("it was added");
        let item = &event["item"];
        wanted["status"] = item["status"].clone();
        let part = self.part.take();
        let said = std::mem::take(&mut self.said);
        let of = |kind: &str| -> Vec<Value> {
            let parts = said.iter().filter(|(what, _)| *what == kind);
            parts.map(|(_, text)| text.as_str().into()).collect()
        };
        let texts = |parts: &Value| -> Vec<Value> {
            let parts = parts.as_array().into_iter().flatten();
            parts.map(|part| part["text"].clone()).collect()
        };
        if item["type"] == "function_call" {
            // Incomplete arguments belong to an incomplete call.
            assert_eq!(part.is_some(), item["status"] == "incomplete", "{event}");
            let arguments = part.map(|(_, text)| text.into()).or(of("arguments").pop());
            wanted["arguments"] = arguments.expect("arguments");
        } else {
            assert!(part.is_none(), "a part is open: {event}");
            for kind in ["content", "summary"] {
                assert_eq!(texts(&item[kind]), of(kind), "{event}");
                if !item[kind].is_null() {
                    wanted[kind] = item[kind].clone();
                }
            }
        }
        assert_eq!(*item, wanted);
        self.done.push(item.clone());
    }

    /// Handles an event of a part of the open item.
    fn text(&mut self, name: &str, event: &Value) {
        let item = self.item.as_ref().expect("an item is open");
        assert_eq!(
            (&event["item_id"], &event["output_index"]),
            (&item["id"], &self.done.len().into())
        );
        let kind = match (item["type"].as_str(), name) {
            (Some("message"), "response.output_text.delta" | "response.output_text.done") => {
                "content"
            }
            (
                Some("message" | "reasoning"),
                "response.content_part.added" | "response.content_part.done",
            ) => "content",
            (
                Some("reasoning"),
                "response.reasoning_text.delta" | "response.reasoning_text.done",
            ) => "content",
            (Some("reasoning"), name) if name.starts_with("response.reasoning_summary_") => {
                "summary"
            }
            (
                Some("function_call"),
                "response.function_call_arguments.delta" | "response.function_call_arguments.done",
            ) => "arguments",
            (kind, name) => panic!("{name} in an item of type {kind:?}"),
        };
        let place = self.said.iter().filter(|(what, _)| *what == kind).count();
        for key in ["content_index", "summary_index"] {
            if let Some(index) = event.get(key) {
                // The text ends before the part.
                let is_after = name.ends_with("part.done");
                assert_eq!(*index, place - usize::from(is_after), "{event}");
            }
        }
        if name.ends_with("part.added") {
            assert_eq!((self.part.take(), &event["part"]["text"]), (None, &"".into()), "{event}");
            self.part = Some((kind, String::new()));
        } else if name.ends_with("part.done") {
            let (_, text) = self.said.last().expect("its text was done");
            assert_eq!(
                (self.part.is_none(), &event["part"]["text"]),
                (true, &text.as_str().into())
            );
        } else if name.ends_with(".delta") {
            let (what, text) = self.part.as_mut().expect("a part is open");
            assert_eq!(*what, kind, "{event}");
            text.push_str(event["delta"].as_str().expect("text"));
        } else {
            let (_, text) = self.part.take().expect("a part is open");
            let key = if kind == "arguments" { "arguments" } else { "text" };
            assert_eq!(event[key], text, "{event}");
            self.said.push((kind, text));
        }
    }
}
