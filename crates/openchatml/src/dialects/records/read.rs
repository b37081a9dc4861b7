//! Reads a record.

use super::{BETWEEN, FORM};
use crate::document::{DocumentReader, Key, Keys, Others, Written, continued, is_pair, same};
use crate::json::{Data, Json, JsonError, Value};
use crate::limits::Limits;
use crate::model::{
    Channel, Conversation, Document, DocumentLayout, Layout, Message, Role, Shape, untrain,
};
use crate::options::ReadOptions;
use crate::reading::{Parsed, hide};
use crate::services::parts::joined;
use crate::services::{Replies, State, beyond, chat, checks};
use crate::{Code, Span};

/// What an object lacks that is no record.
const NOTHING: &str = "the object has neither `prompt` and `completion`, nor `instruction` and `output`, nor `chosen` and `rejected`";

type Result<T> = std::result::Result<T, JsonError>;

/// Keys of records with parts of the conversation. All others are kept.
pub(super) const KEYS: &[&str] = &[
    "prompt",
    "question",
    "completion",
    "answer",
    "response",
    "chosen",
    "rejected",
    "instruction",
    "input",
    "context",
    "output",
    "system",
    "system_prompt",
    "history",
    "messages",
    "tools",
    "functions",
    "chat_template_kwargs",
];

/// The kinds of records that are two texts, and the keys of the texts. The kind is the key of the
/// data of a record.
pub(super) const TEXTS: &[(&str, &str, &str)] = &[
    ("texts", "prompt", "completion"),
    ("prompt, answer", "prompt", "answer"),
    ("prompt, response", "prompt", "response"),
    ("question", "question", "completion"),
    ("question, answer", "question", "answer"),
    ("question, response", "question", "response"),
];
/// The kinds of records that are an instruction, and the keys of its input and its output.
pub(super) const INSTRUCTIONS: &[(&str, &str, &str)] = &[
    (INSTRUCTION, "input", "output"),
    ("instruction, response", "input", "response"),
    ("context", "context", "output"),
    ("context, response", "context", "response"),
];
/// The kind of an instruction with an `input` and an `output`, and the mark of its message.
pub(super) const INSTRUCTION: &str = "instruction";
/// A pair of single messages after a prompt under `messages`.
pub(super) const MESSAGES: &str = "messages";

/// The messages of a side of a record, and whether they are a list of messages.
type Side<'a> = (Vec<Message<'a>>, bool);

/// The parts of a record.
#[derive(Default)]
struct Record<'a> {
    system: Option<Message<'a>>,
    history: Vec<Message<'a>>,
    /// The prompt, and whether it is a list of messages.
    prompt: Option<Side<'a>>,
    /// The key of the prompt.
    prompt_key: &'static str,
    /// The keys of the completion, and of the input of an instruction.
    completion_key: &'static str,
    input_key: &'static str,
    /// The calls of the prompt, which replies on each side can answer.
    replies: Replies,
    completion: Option<Side<'a>>,
    chosen: Option<Side<'a>>,
    rejected: Option<Side<'a>>,
    /// Whether `messages` are the prompt of single messages.
    continues: Option<bool>,
    instruction: Option<Message<'a>>,
    input: Option<Message<'a>>,
    output: Option<Message<'a>>,
}

/// Whether a text is a pair of two whole records, and not of their messages or texts.
pub(super) fn is_of_documents(text: &str, limits: &Limits) -> bool {
    let mut json = Json::new(text, limits);
    is_pair(text, &[], limits) && {
        let start = json.offset();
        let side = json.value_at("chosen", start).or_else(|| json.value_at("rejected", start));
        let holds = |key| side.is_some_and(|at| json.value_at(key, at).is_some());
        ["completion", "output"].into_iter().any(holds)
    }
}

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut conversation = Conversation::default();
    let mut state = State::default();
    state.has_completion = true;
    let mut record = Record::default();
    let read = match json.peek() {
        Some(b'{') => record.read(&mut reader, &mut json, &mut state),
        _ => reader.wrong(&mut json, "an object"),
    };
    if let Some(pair) = record.take_pair(&mut reader, &mut state) {
        let document = pair.into_document(state, &mut reader, &json);
        return reader.finish(json, read, document, checks);
    }
    let form = record.finish(&mut reader, &mut conversation);
    if conversation.messages.len() > options.limits.messages {
        conversation.messages.truncate(options.limits.messages);
        reader.too_many(0, &json);
    }
    state.end(&mut conversation, FORM, &mut reader);
    if let Some(form) = form {
        // The prompt is only context.
        let asked = form.asked.min(conversation.messages.len());
        untrain(&mut conversation.messages[..asked], FORM);
        form.store(&mut conversation);
    }
    reader.finish(json, read, conversation.into(), checks)
}

/// How a record was written.
struct RecordForm {
    /// The kind of the record, as the key of its data.
    key: &'static str,
    /// The number of messages before the completion.
    asked: usize,
}

impl RecordForm {
    fn store(self, conversation: &mut Conversation<'_>) {
        let layout = conversation.layout.get_or_insert_with(|| {
            Box::new(DocumentLayout { form: FORM, ..DocumentLayout::default() })
        });
        layout.beyond.get_or_insert_default().key = self.key;
        layout.shape = Shape::Exchange(self.asked);
    }
}

/// A preference pair of a record.
struct RecordPair<'a> {
    form: RecordForm,
    prompt: Vec<Message<'a>>,
    sides: [Vec<Message<'a>>; 2],
}

impl<'a> RecordPair<'a> {
    fn into_document(
        self,
        state: State<'a>,
        reader: &mut DocumentReader<'_>,
        json: &Json<'a>,
    ) -> Document<'a> {
        let Self { form, prompt, sides } = self;
        let mut prompt = Conversation::from_messages(prompt);
        state.end(&mut prompt, FORM, reader);
        form.store(&mut prompt);
        continued(reader, json, FORM, prompt, sides)
    }
}

impl<'a> Record<'a> {
    fn read(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        state: &mut State<'a>,
    ) -> Result<()> {
        let start = json.offset();
        let same = [
            same(KEYS, &["prompt", "question"]),
            same(KEYS, &["completion", "answer", "response"]),
            same(KEYS, &["input", "context"]),
            same(KEYS, &["system", "system_prompt"]),
        ];
        let keys = Keys { known: KEYS, same: &same, others: Others::Columns(KEYS) };
        reader.object_with(json, &keys, |reader, json, key| {
            let key = match key {
                Key::Known(key) => key,
                Key::Other(key) => return state.column(json, key),
            };
            match key {
                "prompt" | "question" => self.read_prompt(reader, json, key, state)?,
                "completion" | "answer" | "response" => {
                    self.completion = self.read_side(reader, json, state)?;
                    self.completion_key = key;
                }
                "chosen" => self.chosen = self.read_side(reader, json, state)?,
                "rejected" => self.rejected = self.read_side(reader, json, state)?,
                "messages" if self.continues(json, start) => {
                    self.read_prompt(reader, json, key, state)?;
                }
                "tools" | "functions" => state.declared.read(reader, json)?,
                "history" if json.peek() == Some(b'n') => json.word().map(|_| ())?,
                "instruction" => self.instruction = text(reader, json, Role::User)?,
                "input" | "context" => {
                    self.input = text(reader, json, Role::User)?;
                    self.input_key = key;
                }
                "output" => self.output = text(reader, json, Role::Assistant)?,
                "system" | "system_prompt" => self.system = text(reader, json, Role::System)?,
                "history" => self.history = history(reader, json)?,
                _ => state.aside(json, key)?,
            }
            Ok(())
        })?;
        if self.prompt.is_none() && self.instruction.is_some() && self.output.is_none() {
            // The completion of an instruction is its output.
            let text = self.completion.take_if(|(_, is_list)| !*is_list);
            self.output = text.and_then(|(messages, _)| messages.into_iter().next());
        }
        let lacks = self.lacks(reader, start);
        if let Some(text) = lacks {
            reader.lacks(text, start);
        }
        Ok(())
    }

    /// Whether `messages` are the prompt: if `chosen` is a single message, and nothing else is the
    /// prompt. The record begins at byte `start`.
    fn continues(&mut self, json: &Json<'_>, start: usize) -> bool {
        *self.continues.get_or_insert_with(|| {
            let value_at = |key| json.value_at(key, start);
            value_at("chosen").is_some_and(|at| json.byte_at(at) == Some(b'{'))
                && value_at("prompt").is_none()
                && value_at("question").is_none()
        })
    }

    fn read_prompt(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        key: &'static str,
        state: &mut State<'a>,
    ) -> Result<()> {
        self.prompt = side(reader, json, Role::User, state)?;
        self.prompt_key = key;
        self.replies = std::mem::take(&mut state.replies);
        Ok(())
    }

    /// Reads a side. It is an alternative to other sides, so it cannot answer their calls.
    fn read_side(
        &self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        state: &mut State<'a>,
    ) -> Result<Option<Side<'a>>> {
        state.replies = self.replies.clone();
        side(reader, json, Role::Assistant, state)
    }

    /// Returns what the record lacks, which begins at byte `start`.
    fn lacks(&mut self, reader: &mut DocumentReader<'_>, start: usize) -> Option<&'static str> {
        match (&self.chosen, &self.rejected) {
            (Some(_), None) if self.completion.is_none() => {
                let text = "the object has `chosen`, but no `rejected`";
                let found = Code::ParseJson.at(Span::new(start, start + 1), text);
                reader.report(found.help("`chosen` is read as a completion"));
                self.completion = self.chosen.take();
                None
            }
            (Some(_), None) => Some("the object has `completion` and `chosen`, but no `rejected`"),
            (None, Some(_)) => Some("the object has `rejected`, but no `chosen`"),
            (Some(chosen), Some(_)) => {
                let has_prompt = self.prompt.is_some()
                    || self.instruction.is_some()
                    || chosen.1
                    || self.read_transcripts(&reader.options.limits);
                if !has_prompt {
                    // They can be anything, also whole transcripts with hidden messages.
                    let sides = [&mut self.chosen, &mut self.rejected];
                    let messages = sides.into_iter().flatten().flat_map(|side| &mut side.0);
                    messages.for_each(hide);
                }
                let text = "the texts `chosen` and `rejected` require a `prompt`";
                (!has_prompt).then_some(text)
            }
            (None, None) => {
                let has_task = self.instruction.is_some() || self.input.is_some();
                match (self.prompt.is_some(), self.completion.is_some()) {
                    (true, true) => None,
                    _ if has_task && self.output.is_some() => None,
                    (true, false) => Some("the object has a `prompt`, but no `completion`"),
                    (false, true) => Some("the object has a `completion`, but no `prompt`"),
                    _ if has_task => Some("the object has an `instruction`, but no `output`"),
                    _ if self.output.is_some() => {
                        Some("the object has an `output`, but no `instruction`")
                    }
                    _ => Some(NOTHING),
                }
            }
        }
    }

    /// Reads both sides as transcripts, if they are that: texts that begin with a turn of the user.
    fn read_transcripts(&mut self, limits: &Limits) -> bool {
        let (Some(chosen), Some(rejected)) = (&self.chosen, &self.rejected) else { return false };
        let of = |side: &Side<'a>| turns_of(side, limits.messages);
        let (Some(chosen), Some(rejected)) = (of(chosen), of(rejected)) else { return false };
        (self.chosen, self.rejected) = (Some((chosen, true)), Some((rejected, true)));
        true
    }

    /// Takes the pair, if the record has one.
    fn take_pair(
        &mut self,
        reader: &mut DocumentReader<'_>,
        state: &mut State<'a>,
    ) -> Option<RecordPair<'a>> {
        let (Some(mut chosen), Some(mut rejected)) = (self.chosen.take(), self.rejected.take())
        else {
            return None;
        };
        let record = std::mem::take(self);
        let Self { system, history, prompt, prompt_key, completion, .. } = record;
        let Self { instruction, input, output, .. } = record;
        let completion = completion.into_iter().flat_map(|side| side.0);
        drop_others(reader, completion.chain(output), "the record has `chosen` and `rejected`");
        let is_text = matches!(prompt, Some((_, false))) && !chosen.1 && !rejected.1;
        let key = match prompt_key {
            MESSAGES => MESSAGES,
            key if is_text => kind_of(TEXTS, [key, "completion"]),
            _ => "",
        };
        let mut messages: Vec<_> = system.filter(|it| !it.body.is_empty()).into_iter().collect();
        messages.extend(history);
        match prompt {
            // Some data sets repeat the prompt, which the lists already contain.
            Some((text, false)) if [&chosen, &rejected].iter().all(|it| begins(it, &text)) => {
                let text = text.first().map(|it| it.body.text().into_owned()).unwrap_or_default();
                state.keep("prompt", Data::String(text.into()).into());
            }
            Some((prompt, is_list)) => {
                let sides = [&mut chosen, &mut rejected];
                if is_list && sides.iter().all(|side| side.1 && side.0.starts_with(&prompt)) {
                    sides.into_iter().for_each(|side| drop(side.0.drain(..prompt.len())));
                }
                drop_others(
                    reader,
                    instruction.into_iter().chain(input),
                    "the record has a prompt",
                );
                messages.extend(prompt);
            }
            None => messages.extend(asked(reader, instruction, input)),
        }
        let form = RecordForm { key, asked: messages.len() };
        Some(RecordPair { form, prompt: messages, sides: [chosen.0, rejected.0] })
    }

    /// Moves the messages to the conversation.
    fn finish(
        self,
        reader: &mut DocumentReader<'_>,
        conversation: &mut Conversation<'a>,
    ) -> Option<RecordForm> {
        let messages = &mut conversation.messages;
        let Self { system, history, prompt, prompt_key, completion, .. } = self;
        let Self { instruction, input, output, completion_key, input_key, .. } = self;
        messages.extend(system.filter(|system| !system.body.is_empty()));
        messages.extend(history);
        let is_text = |side: &Option<Side<'a>>| matches!(side, Some((_, false)));
        let mut key = "";
        if prompt.is_some() || completion.is_some() {
            if is_text(&prompt) && is_text(&completion) {
                key = kind_of(TEXTS, [prompt_key, completion_key]);
            }
            let others = [instruction, output].into_iter().flatten();
            drop_others(reader, others, "the record already has a prompt or completion");
            drop_others(reader, input, "it is unknown where this text belongs in the prompt");
            messages.extend(prompt.into_iter().flat_map(|side| side.0));
            let asked = messages.len();
            messages.extend(completion.into_iter().flat_map(|side| side.0));
            return Some(RecordForm { key, asked });
        }
        if instruction.is_some() || output.is_some() {
            let output_key = if completion_key.is_empty() { "output" } else { completion_key };
            let input_key = if input_key.is_empty() { "input" } else { input_key };
            key = kind_of(INSTRUCTIONS, [input_key, output_key]);
        }
        messages.extend(asked(reader, instruction, input));
        messages.extend(output);
        // A model is trained on all rounds.
        (!key.is_empty()).then_some(RecordForm { key, asked: 0 })
    }
}

/// How turns begin in transcripts. They come from `hh-rlhf`.
const TURNS: &[(&str, Role)] = &[("\n\nHuman:", Role::User), ("\n\nAssistant:", Role::Assistant)];

/// Returns the turns of a transcript: a text that begins with a turn of the user. The text of a turn
/// cannot contain the beginning of another.
fn turns_of<'a>(side: &Side<'a>, most: usize) -> Option<Vec<Message<'a>>> {
    let ([whole], false) = (side.0.as_slice(), side.1) else { return None };
    let text = whole.body.text();
    text.starts_with(TURNS[0].0).then_some(())?;
    let mut starts = Vec::new();
    for (at, _) in text.match_indices("\n\n") {
        let turn = TURNS.iter().find(|(begin, _)| text[at..].starts_with(begin));
        starts.extend(turn.map(|(begin, role)| (at, at + begin.len(), *role)));
    }
    let ends = starts.iter().skip(1).map(|start| start.0).chain([text.len()]);
    let turns = starts.iter().zip(ends).take(most.saturating_add(1));
    let turns = turns.map(|((_, start, role), end)| {
        let said = &text[*start..end];
        let mut message = Message::new(*role, said.strip_prefix(' ').unwrap_or(said).to_owned());
        (message.in_json, message.span) = (true, whole.span);
        if *role == Role::Assistant {
            message.channel = whole.channel;
        }
        message
    });
    Some(turns.collect())
}

/// Reports texts that have no place in the record.
fn drop_others<'a>(
    reader: &mut DocumentReader<'_>,
    others: impl IntoIterator<Item = Message<'a>>,
    why: &'static str,
) {
    for other in others.into_iter().filter(|other| !other.body.is_empty()) {
        reader.drop_value(Code::ParseJson.at(other.span, why).help("it will be dropped"));
    }
}

/// Whether a side is a list of messages that begins with this text of the user, after instructions.
fn begins(side: &Side<'_>, prompt: &[Message<'_>]) -> bool {
    let (messages, is_list) = side;
    let first = messages.iter().find(|it| !matches!(it.role, Role::System | Role::Developer));
    *is_list && first.is_some() && first == prompt.first()
}

/// Returns the kind of a record with these keys, or the first one.
fn kind_of(kinds: &[(&'static str, &str, &str)], keys: [&str; 2]) -> &'static str {
    let kind = kinds.iter().find(|(_, one, other)| keys == [*one, *other]).or(kinds.first());
    kind.map_or("", |kind| kind.0)
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
    if instruction.body.is_empty() {
        return Some(input);
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
        beyond(&mut instruction, FORM).key = INSTRUCTION;
    }
    Some(instruction)
}

/// Reads one side of a record: a text of this role, a message, or a list of messages.
fn side<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    role: Role,
    state: &mut State<'a>,
) -> Result<Option<Side<'a>>> {
    let mut messages = Vec::new();
    let mut message =
        |reader: &mut DocumentReader<'_>, json: &mut Json<'a>, messages: &mut Vec<Message<'a>>| {
            chat::read(reader, json, messages, state, FORM)
        };
    match json.peek() {
        Some(b'{') => reader.message(json, &mut messages, message)?,
        Some(b'[') => reader.messages(json, &mut messages, &mut message)?,
        _ => {
            messages.extend(text(reader, json, role)?);
            return Ok((!messages.is_empty()).then_some((messages, false)));
        }
    }
    Ok(Some((messages, true)))
}

/// Reads a text of this role.
fn text<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    role: Role,
) -> Result<Option<Message<'a>>> {
    let mut message = reader.text_message(json, role)?;
    if let Some(answer) = message.as_mut().filter(|_| role == Role::Assistant) {
        answer.channel = Some(Channel::Final);
    }
    Ok(message)
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
            messages.extend(text(reader, json, role)?);
            Ok(())
        })?;
        if count < 2 {
            let span = Span::new(start, json.position());
            let found = Code::ParseJson.at(span, "a round of `history` must be a pair of texts");
            reader.tolerate(found);
        }
        Ok(())
    })?;
    Ok(messages)
}
