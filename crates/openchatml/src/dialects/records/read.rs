//! Reads a record.

use super::{BETWEEN, CHECKS, FORM};
use crate::Code;
use crate::document::{DocumentReader, Speaker, Written};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Conversation, DocumentLayout, Layout, Message, Role, Shape};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::State;
use crate::services::parts::joined;

type Result<T> = std::result::Result<T, JsonError>;

/// Keys of records: first those with parts of the conversation, then all others.
pub(super) const KEYS: &[&str] = &[
    "prompt",
    "completion",
    "instruction",
    "input",
    "output",
    "system",
    "history",
    "id",
    "idx",
    "source",
    "dataset",
    "category",
    "task",
    "language",
    "lang",
    "model",
    "title",
    "hash",
    "score",
    "metadata",
    "meta",
    "text",
];

/// The kind of a record, as the key of its data.
pub(super) const TEXTS: &str = "texts";
pub(super) const INSTRUCTION: &str = "instruction";

/// The parts of a record.
#[derive(Default)]
struct Record<'a> {
    system: Option<Message<'a>>,
    history: Vec<Message<'a>>,
    /// The prompt, and whether it is a list of messages.
    prompt: Option<(Vec<Message<'a>>, bool)>,
    completion: Option<(Vec<Message<'a>>, bool)>,
    instruction: Option<Message<'a>>,
    input: Option<Message<'a>>,
    output: Option<Message<'a>>,
}

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut conversation = Conversation::default();
    let mut state = State::default();
    let mut record = Record::default();
    let read = match json.peek() {
        Some(b'{') => record.read(&mut reader, &mut json, &mut state),
        _ => reader.wrong(&mut json, "an object"),
    };
    let key = record.finish(&mut reader, &mut conversation, &mut state);
    if conversation.messages.len() > options.limits.messages {
        conversation.messages.truncate(options.limits.messages);
        reader.too_many(0, &json);
    }
    state.end(&mut conversation, FORM, &options.limits);
    if let Some((key, asked)) = key {
        let layout = conversation.layout.get_or_insert_with(|| {
            Box::new(DocumentLayout { form: FORM, ..DocumentLayout::default() })
        });
        layout.beyond.get_or_insert_default().key = key;
        layout.shape = Shape::Exchange(asked);
    }
    reader.finish(json, read, conversation.into(), |_| Some(&CHECKS))
}

impl<'a> Record<'a> {
    fn read(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        state: &mut State<'a>,
    ) -> Result<()> {
        let start = json.offset();
        reader.object(json, KEYS, |reader, json, key| {
            match key {
                "prompt" => self.prompt = side(reader, json, Role::User)?,
                "completion" => self.completion = side(reader, json, Role::Assistant)?,
                "instruction" => self.instruction = reader.text_message(json, Role::User)?,
                "input" => self.input = reader.text_message(json, Role::User)?,
                "output" => self.output = reader.text_message(json, Role::Assistant)?,
                "system" => self.system = reader.text_message(json, Role::System)?,
                "history" => self.history = history(reader, json)?,
                _ => state.aside(json, key)?,
            }
            Ok(())
        })?;
        let has_sides = self.prompt.is_some() && self.completion.is_some();
        if !has_sides && (self.instruction.is_none() || self.output.is_none()) {
            let text =
                "the object has neither `prompt` and `completion`, nor `instruction` and `output`";
            reader.lacks(text, start);
        }
        Ok(())
    }

    /// Moves the messages to the conversation. Returns the kind of the record, and the number of
    /// messages before the completion.
    fn finish(
        self,
        reader: &mut DocumentReader<'_>,
        conversation: &mut Conversation<'a>,
        state: &mut State<'a>,
    ) -> Option<(&'static str, usize)> {
        let messages = &mut conversation.messages;
        let Self { system, history, prompt, completion, instruction, input, output } = self;
        messages.extend(system.filter(|system| !system.body.is_empty()));
        messages.extend(history);
        let is_text = |side: &Option<(Vec<Message<'a>>, bool)>| matches!(side, Some((_, false)));
        let mut key = "";
        if prompt.is_some() || completion.is_some() {
            if is_text(&prompt) && is_text(&completion) {
                key = TEXTS;
            }
            let others = [instruction, input, output].into_iter().flatten();
            for other in others.filter(|other| !other.body.is_empty()) {
                let found =
                    Code::ParseJson.at(other.span, "the record already has a prompt or completion");
                reader.drop_value(found.help("it will be dropped"));
            }
            messages.extend(prompt.into_iter().flat_map(|side| side.0));
            let asked = messages.len();
            messages.extend(completion.into_iter().flat_map(|side| side.0));
            return Some((key, asked));
        }
        if instruction.is_some() || output.is_some() {
            key = INSTRUCTION;
        }
        messages.extend(asked(reader, instruction, input));
        let asked = messages.len();
        messages.extend(output);
        let _ = state;
        (!key.is_empty()).then_some((key, asked))
    }
}

/// Returns the message of an instruction and its input.
fn asked<'a>(
    reader: &mut DocumentReader<'_>,
    instruction: Option<Message<'a>>,
    input: Option<Message<'a>>,
) -> Option<Message<'a>> {
    let (Some(mut instruction), Some(input)) = (instruction.clone(), input.clone()) else {
        return instruction.or(input);
    };
    if input.body.is_empty() {
        return Some(instruction);
    }
    let texts = [&instruction.body, &input.body];
    let parts = texts.map(|body| {
        let text = Data::String(body.text().into_owned().into());
        Value::from(Data::Map(vec![("text".into(), Value::from(text))]))
    });
    let (text, is_cut) = reader.limited(joined(&parts, BETWEEN).into(), input.span);
    Written::new(text, 0).cut(is_cut).say(&mut instruction);
    if !is_cut {
        let content = Some(Value::from(Data::List(parts.into())));
        instruction.layout = Some(Box::new(Layout { form: FORM, content, ..Layout::default() }));
    }
    Some(instruction)
}

/// Reads one side of a record: a text of this role, or a list of messages.
fn side<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    role: Role,
) -> Result<Option<(Vec<Message<'a>>, bool)>> {
    let mut messages = Vec::new();
    if json.peek() != Some(b'[') {
        messages.extend(reader.text_message(json, role)?);
        return Ok((!messages.is_empty()).then_some((messages, false)));
    }
    reader.messages(json, &mut messages, message)?;
    Ok(Some((messages, true)))
}

/// Reads a message: a role and text.
fn message<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut message = Message::new(Role::User, "");
    message.in_json = true;
    let (mut speaker, mut said) = (None::<Speaker<'a>>, None);
    let span = reader.object(json, &["role", "content"], |reader, json, key| {
        match key {
            "role" => speaker = reader.speaker(json, false)?,
            _ => said = reader.written(json)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    if said.is_none() {
        reader.tolerate(Code::ParseJson.at(span, "the message has no `content`"));
    }
    said.unwrap_or_default().say(&mut message);
    let speaker = reader.spoken(speaker, span);
    reader.speak(speaker, &mut message);
    messages.push(message);
    Ok(())
}

/// Reads earlier rounds: a list of pairs of an instruction and its output.
fn history<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Vec<Message<'a>>> {
    let mut messages = Vec::new();
    reader.messages(json, &mut messages, |reader, json, messages| {
        let start = json.offset();
        let mut count = 0;
        reader.array(json, |reader, json| {
            let role = if count == 0 { Role::User } else { Role::Assistant };
            count += 1;
            if count > 2 {
                return reader.wrong(json, "a pair of texts");
            }
            messages.extend(reader.text_message(json, role)?);
            Ok(())
        })?;
        if count < 2 {
            let span = crate::Span::new(start, json.position());
            let found = Code::ParseJson.at(span, "a round of `history` must be a pair of texts");
            reader.tolerate(found);
        }
        Ok(())
    })?;
    Ok(messages)
}
