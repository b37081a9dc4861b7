//! Reads outputs of models with response templates.

mod fields;
mod recorded;
mod streams;

use std::cell::RefCell;
use std::collections::HashMap;

use openchatml::{Channel, Code, Message, Parsed, ReadOptions};
use openchatml_templates::ResponseTemplate;

pub(crate) const THINK: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"}},
        "content": {"close": "<|im_end|>"}
    }
}"#;

pub(crate) const HARMONY: &str = r#"{
    "start_anchor": "<|start|>assistant",
    "fields": {
        "thinking": {"open_pattern": "<\\|channel\\|>analysis.*?<\\|message\\|>", "close": ["<|end|>", "<|return|>"],
            "repeats": true, "join": "\n"},
        "tool_calls": {"open_pattern": "<\\|channel\\|>commentary to=functions\\.(?P<name>\\w+).*?<\\|message\\|>",
            "close": "<|call|>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}},
        "content": {"open_pattern": "<\\|channel\\|>final.*?<\\|message\\|>", "close": ["<|return|>", "<|end|>"]}
    }
}"#;

pub(crate) const GLM: &str = r#"{
    "start_anchor": "<|assistant|>",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open_pattern": "<tool_call>(?P<name>\\w+)\\s*", "close_pattern": "</tool_call>", "repeats": true,
            "content": "xml-inline", "content_args": {
                "tag_pattern": "<arg_key>(?P<key>.*?)</arg_key>\\s*<arg_value>(?P<value>.*?)</arg_value>"},
            "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
        "mood": {"open": "<mood>", "close": "</mood>", "content": "int"},
        "content": {"close": "eos"}
    }
}"#;

pub(crate) const PLAIN: &str = r#"{
    "start_anchor": "A:",
    "fields": {"content": {"open_pattern": "<a+>", "close_pattern": "</a+>|\\Z", "content_args": {"strip": false}, "optional": false}}
}"#;

/// Text at the beginning is reasoning.
pub(crate) const BEGINNING: &str = r#"{
    "start_anchor": "A:",
    "fields": {
        "thinking": {"open_pattern": "(?:^|<think>\\s*)", "close_pattern": "</think>\\s*|<mood>\\Z"},
        "content": {"open": ["<a>", "<aaa>"], "close_pattern": "\\n*</a>"}
    }
}"#;

/// Any text can be a part of an anchor.
pub(crate) const AUTHOR: &str = r#"{
    "start_anchor": "<|end|>",
    "fields": {
        "thinking": {"open_pattern": "(?:<\\|message\\|>)?[^<]*<think>", "close": ["<|end|>", "</think>"]},
        "content": {"open_pattern": "(?:<\\|message\\|>)?[^<]*<a+>", "close": "</a>", "content_args": {"strip": false}}
    }
}"#;

pub(crate) const ALL: [&str; 6] = [THINK, HARMONY, GLM, PLAIN, BEGINNING, AUTHOR];

/// Loads a template, once in each thread.
pub(crate) fn template(json: &str) -> ResponseTemplate {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, ResponseTemplate>> = RefCell::default();
    }
    let load = || ResponseTemplate::from_json(json).unwrap_or_else(|error| panic!("{error}"));
    KNOWN.with_borrow_mut(|known| known.entry(json.to_owned()).or_insert_with(load).clone())
}

pub(crate) fn read(json: &str, prompt: Option<&str>, text: &str) -> Parsed<'static> {
    template(json).read(prompt, text, &ReadOptions::default())
}

/// Writes messages on one line each.
pub(crate) fn written(messages: &[Message<'_>]) -> Vec<String> {
    let line = |it: &Message<'_>| {
        let channel = it.channel.map_or("-", Channel::as_str);
        let to = it.recipient.as_deref().map(|to| format!(" to={to}")).unwrap_or_default();
        let recovered = if it.recovered { " recovered" } else { "" };
        format!("{channel}{to}{recovered} {}: {}", it.end, it.body.text())
    };
    messages.iter().map(line).collect()
}

#[track_caller]
pub(crate) fn check(
    json: &str,
    prompt: Option<&str>,
    text: &str,
    messages: &[&str],
    codes: &[Code],
) {
    let read = read(json, prompt, text);
    let found: Vec<Code> = read.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(found, codes, "{text}: {:?}", read.diagnostics);
    assert_eq!(written(&read.into_conversation().messages), messages, "{text}");
}
