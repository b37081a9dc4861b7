//! Reads a list of turns, or a record with one.

use std::borrow::Cow;

use super::{CHECKS, FORM};
use crate::document::{
    DocumentReader, Key, Keys, Others, Root, Speaker, Written, continued, one_side, same,
};
use crate::json::{Json, JsonError};
use crate::model::{Channel, Conversation, Message, Role};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::calls::Name;
use crate::services::{
    Fields, Replies, State, WEIGHT_KEYS, beyond, calls, hide_marked, last_of_each, push_column,
};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let mut state = State::default();
    let mut sides = [None, None];
    // A single turn names its speaker.
    let root = Root::of(&mut json, &["from", "role"], &["conversations", "conversation"]);
    let read = match root {
        Root::List => turns(&mut reader, &mut json, messages, &mut state.replies),
        Root::Message => reader.message(&mut json, messages, |reader, json, messages| {
            turn(reader, json, messages, &mut state.replies)
        }),
        Root::Object => record(&mut reader, &mut json, messages, &mut state, &mut sides),
        Root::Other => reader.no_conversation(&mut json),
    };
    state.end(&mut conversation, FORM, &mut reader);
    let document = match sides {
        [Some(chosen), Some(rejected)] => {
            continued(&mut reader, &json, FORM, conversation, [chosen, rejected])
        }
        _ => {
            conversation.set_shape(FORM, root.shape());
            conversation.into()
        }
    };
    reader.finish(json, read, document, |_| Some(&CHECKS))
}

/// The number of keys with parts of the conversation.
const CONVERSATION: usize = 8;

/// Keys of records: first those with parts of the conversation, then those of media. All others are
/// kept, too.
pub(super) const KEYS: &[&str] = &[
    "conversations",
    "conversation",
    "chosen",
    "rejected",
    "system",
    "system_prompt",
    "tools",
    "functions",
    "images",
    "videos",
    "audios",
];

/// Reads a record. Its `sides` continue the turns, if it is a preference pair.
fn record<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
    sides: &mut [Option<Vec<Message<'a>>>; 2],
) -> Result<()> {
    let start = json.offset();
    let mut has_turns = false;
    const SYSTEM: u64 = same(KEYS, &["system", "system_prompt"]);
    const TURNS: u64 = same(KEYS, &["conversations", "conversation"]);
    let keys = Keys {
        known: KEYS,
        same: &[SYSTEM, TURNS],
        others: Others::Columns(&KEYS[..CONVERSATION]),
    };
    reader.object_with(json, &keys, |reader, json, key| {
        let key = match key {
            Key::Known(key) => key,
            Key::Other(key) => return state.other(reader, json, key),
        };
        match key {
            "conversations" | "conversation" => {
                has_turns = true;
                turns(reader, json, messages, &mut state.replies)?;
            }
            "system" | "system_prompt" => {
                let system = reader.text_message(json, Role::System)?;
                state.first = system.filter(|system| !system.body.is_empty());
            }
            "chosen" | "rejected" => sides[usize::from(key == "rejected")] = side(reader, json)?,
            "tools" | "functions" => state.declared.read(reader, json)?,
            _ => state.aside(json, key)?,
        }
        Ok(())
    })?;
    if !has_turns {
        reader.lacks("the object has no `conversations`", start);
    }
    one_side(reader, messages, sides, ["chosen", "rejected"], start);
    Ok(())
}

/// Reads a side of a preference pair: a turn, or a list of turns.
fn side<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Vec<Message<'a>>>> {
    let (mut messages, mut replies) = (Vec::new(), Replies::default());
    match json.peek() {
        Some(b'n') => return json.word().map(|_| None),
        Some(b'{') => reader.message(json, &mut messages, |reader, json, messages| {
            turn(reader, json, messages, &mut replies)
        })?,
        _ => turns(reader, json, &mut messages, &mut replies)?,
    }
    Ok(Some(messages))
}

fn turns<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    replies: &mut Replies,
) -> Result<()> {
    reader.messages(json, messages, |reader, json, messages| turn(reader, json, messages, replies))
}

pub(super) const TURN_KEYS: &[&str] = &[
    "from",
    "value",
    "role",
    "content",
    "name",
    "author",
    "weight",
    "loss",
    "loss_weight",
    "train",
    "trainable",
    "training",
    "train_on_turn",
    "loss_scale",
];

/// Keys of turns that mean the same.
const SAME: &[u64] = &[
    same(TURN_KEYS, &["from", "role"]),
    same(TURN_KEYS, &["value", "content"]),
    same(TURN_KEYS, WEIGHT_KEYS),
];

/// The speaker of a turn.
enum From<'a> {
    Speaker(Speaker<'a>),
    /// The assistant. The value is a call.
    Call,
}

fn turn<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    replies: &mut Replies,
) -> Result<()> {
    let mut message = Message::new(Role::User, "");
    message.in_json = true;
    let mut turn = Turn::default();
    let keys = Keys { known: TURN_KEYS, same: SAME, others: Others::Fields(TURN_KEYS) };
    let span = reader.object_with(json, &keys, |reader, json, key| {
        let key = match key {
            Key::Known(key) => key,
            Key::Other(key) => return push_column(&mut turn.columns, reader, json, key),
        };
        match key {
            "from" | "role" => turn.from = read_from(reader, json)?,
            "value" | "content" => {
                let start = json.offset();
                turn.value = reader.written(json)?;
                turn.place = Span::new(start, json.position());
            }
            "name" => turn.name = calls::name(reader, json, &mut message)?,
            "author" => turn.author = reader.value(json, key, &mut message)?,
            _ => {
                message.weight = reader.weight(json)?;
                turn.weight_key = if key == "weight" { "" } else { key };
            }
        }
        Ok(())
    })?;
    if let Some(span) = span {
        message.span = span;
        turn.finish(reader, message, messages, replies);
    }
    Ok(())
}

/// The fields of a turn before its speaker is known.
#[derive(Default)]
struct Turn<'a> {
    from: Option<From<'a>>,
    value: Option<Written<'a>>,
    /// The place of the value.
    place: Span,
    name: Name<'a>,
    author: Option<Cow<'a, str>>,
    weight_key: &'static str,
    columns: Fields<'a>,
}

impl<'a> Turn<'a> {
    /// Adds the messages of the turn.
    fn finish(
        self,
        reader: &mut DocumentReader<'_>,
        mut message: Message<'a>,
        messages: &mut Vec<Message<'a>>,
        replies: &mut Replies,
    ) {
        let Self { from, value, place, name, author, weight_key, columns } = self;
        let span = message.span;
        if from.is_none() && value.is_none() {
            let text = "the object has neither `from` nor `value`: it is no message";
            return reader.drop_item(Code::ParseJson.at(span, text).help("it will be dropped"));
        }
        let columns = last_of_each(columns);
        hide_marked(reader, &columns);
        let written = value.unwrap_or_else(|| {
            reader.tolerate(Code::ParseJson.at(span, "the turn has no `value`"));
            Written::default()
        });
        if name.is_some() {
            message.name = calls::name_by(reader, name, author.as_deref());
        }
        let first = messages.len();
        let speaker = match from {
            Some(From::Call) => None,
            Some(From::Speaker(speaker)) => Some(speaker),
            None => Some(reader.spoken(None, span)),
        };
        message.name = match (speaker.as_ref().and_then(Speaker::role), message.name.take()) {
            (Some(Role::Tool), name) => replies.name(None, name, author),
            (_, name) => author.or(name),
        };
        let calls = match speaker {
            None => called(reader, &mut message, written, place),
            Some(speaker) => {
                add_message(reader, speaker, &mut message, written);
                None
            }
        };
        match calls {
            Some(calls) => messages.extend(calls),
            None => messages.push(message),
        }
        messages[first..].iter().for_each(|message| replies.hear(message));
        if let Some(message) =
            messages.get_mut(first).filter(|_| !weight_key.is_empty() || !columns.is_empty())
        {
            let beyond = beyond(message, FORM);
            (beyond.weight_key, beyond.fields) = (weight_key, columns);
        }
    }
}

/// Reads the speaker of a turn, by the names that data sets use.
fn read_from<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<From<'a>>> {
    let Some((word, span)) = reader.string(json)? else { return Ok(None) };
    let role = match word.as_ref() {
        "human" => Role::User,
        "gpt" | "model" | "chatgpt" | "bard" | "bing" | "claude" | "ai" | "bot" => Role::Assistant,
        "observation" | "function_response" | "tool_response" | "function" => Role::Tool,
        "function_call" | "tool_call" => return Ok(Some(From::Call)),
        "developer" => {
            let found = Code::ParseJson.at(span, "this format has no speaker `developer`");
            reader.tolerate(found.help("write `system`"));
            Role::Developer
        }
        _ => return Ok(Some(From::Speaker(reader.speaker_of(word, span, false)))),
    };
    Ok(Some(From::Speaker(Speaker::known(role))))
}

/// Returns a turn that is a message.
fn add_message<'a>(
    reader: &mut DocumentReader<'_>,
    speaker: Speaker<'a>,
    message: &mut Message<'a>,
    written: Written<'a>,
) {
    written.say(message);
    match speaker.role() {
        Some(Role::Assistant) => message.channel = Some(Channel::Final),
        Some(Role::Tool) => {
            message.channel = Some(Channel::Commentary);
            message.recipient = Some("assistant".into());
        }
        _ => {}
    }
    reader.speak(speaker, message);
}

/// Returns the calls of a turn. A turn that is not a valid call is hidden, because it is unknown
/// what it is.
fn called<'a>(
    reader: &mut DocumentReader<'_>,
    message: &mut Message<'a>,
    written: Written<'a>,
    place: Span,
) -> Option<Vec<Message<'a>>> {
    written.say(message);
    let Some(mut calls) = calls::spelled(reader, &message.body.text(), place) else {
        message.role = Role::Assistant;
        message.channel = Some(Channel::Analysis);
        message.recovered = true;
        return None;
    };
    for call in &mut calls {
        call.name.clone_from(&message.name);
        call.weight = message.weight;
        call.recovered |= message.recovered;
    }
    Some(calls)
}
