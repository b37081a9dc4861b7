//! Random conversations for formats with sections.

use std::collections::VecDeque;

use openchatml::convert::Carries;
use openchatml::dialects::{CallPiece, Calls, Completion};
use openchatml::{Channel, Control, Conversation, End, Format, Message, Role, TextFormat};

use crate::{Source, one_in, pick, text};

/// Returns the form of calls.
fn form_of_calls(format: Format) -> Option<&'static Calls> {
    let form = TextFormat::try_from(format).and_then(TextFormat::completion);
    let Ok(Completion::Sections(sections)) = form else { return None };
    Some(&sections.calls)
}

/// Whether arguments are objects that are written anew: as parameters or in a syntax of their own, or
/// like `json.dumps` in calls that end with their arguments.
pub(crate) fn has_parameters(format: Format) -> bool {
    let is_other = |piece: &CallPiece| {
        use CallPiece::{Elements, Parameters, Python, Tree};
        matches!(piece, Parameters(_) | Tree(_) | Elements(_) | Python(_))
    };
    form_of_calls(format).is_some_and(|calls| {
        calls.item.1.is_none() || calls.guard.is_some() || calls.pieces.iter().any(is_other)
    })
}

/// Whether arguments are written as elements.
pub(crate) fn has_elements(format: Format) -> bool {
    let are_elements = |piece: &CallPiece| matches!(piece, CallPiece::Elements(_));
    form_of_calls(format).is_some_and(|calls| calls.pieces.iter().any(are_elements))
}

/// Whether calls are written in the syntax of Python.
fn has_python(format: Format) -> bool {
    let is_python = |piece: &CallPiece| matches!(piece, CallPiece::Python(_));
    form_of_calls(format).is_some_and(|calls| calls.pieces.iter().any(is_python))
}

/// Returns a name that can be written in the syntax of Python.
fn python_name(name: &str) -> String {
    let is_of_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.' | '-');
    let name: String = name.chars().map(|it| if is_of_name(it) { it } else { '_' }).collect();
    ["f", name.trim_matches('.')].concat()
}

/// Returns the form of calls, if their ids contain the names of tools.
pub(crate) fn with_ids(format: Format) -> Option<&'static Calls> {
    let is_id = |piece: &CallPiece| matches!(piece, CallPiece::IdUpTo(_));
    form_of_calls(format).filter(|calls| calls.pieces.iter().any(is_id))
}

/// Gives calls ids that contain the names of tools, and gives replies the ids of their calls.
fn identify(calls: &Calls, messages: &mut [Message<'static>]) {
    let mut waiting = VecDeque::new();
    let (mut count, mut follows) = (0, false);
    for message in messages {
        let is_call = message.is_call();
        if is_call {
            if !follows {
                waiting.clear();
            }
            let tool = calls.tool(message.recipient.as_deref().unwrap_or_default());
            let id = format!("{}.{tool}:{count}", calls.namespace);
            message.call_id = Some(id.clone().into());
            waiting.push_back(id);
            count += 1;
        } else if message.role == Role::Tool {
            message.call_id = waiting.pop_front().map(Into::into);
        }
        follows = is_call;
    }
}

/// The state of a turn that affects its next message.
#[derive(Default)]
struct Turn {
    inner: bool,
    /// Whether the last message is a text. Another text would be joined with it.
    in_text: bool,
    /// Whether brackets in a text would be read as those of a list.
    in_list: bool,
}

/// Generates a conversation that the format can carry.
pub(crate) fn conversation(source: &mut Source<'_>, format: Format) -> Conversation<'static> {
    let is_text = !format.to_string().contains("json");
    let mut said = text::hostile(source);
    let shown = said.trim_ascii_start();
    let controls = format.dialect().controls;
    let opens = [Control::Start, Control::Open(Role::System)];
    if !opens.iter().any(|it| controls.spelling(*it).is_some())
        && (shown.is_empty() || shown.starts_with('<'))
    {
        // System messages have no opening token.
        said.insert(0, '.');
    }
    let mut messages = vec![Message::new(Role::System, said)];
    let has_section = format.carries().roles.contains(&Role::Developer);
    if has_section && (is_text || one_in(source, 2)) {
        let section = match one_in(source, 2) {
            true => "Deliberation: enabled\nTool Capabilities: disabled",
            false => "Deliberation: disabled\nTool Capabilities: disabled",
        };
        messages.push(Message::new(Role::Developer, section));
    }
    for _ in 0..source.int_in_range(0..=3).unwrap_or(0) {
        messages.push(Message::new(Role::User, text::hostile(source)));
        let mut turn = Turn::default();
        for _ in 0..source.int_in_range(0..=4).unwrap_or(0) {
            if is_text {
                let form = TurnForm {
                    trims: !has_section,
                    has_parameters: has_parameters(format),
                    has_reasoning: format.carries().reasoning,
                    has_python: has_python(format),
                };
                turn.text_form(source, form, &mut messages)
            } else {
                json_form(source, &mut messages)
            }
        }
    }
    if is_text {
        end(source, format.carries(), &mut messages);
    }
    if let Some(calls) = with_ids(format) {
        identify(calls, &mut messages);
    }
    if has_elements(format) {
        // Members that are `null` are not written.
        for call in messages.iter_mut().filter(|message| message.is_call()) {
            call.body = call.body.text().replace("null", "0").into();
        }
    }
    Conversation::from_messages(messages)
}

fn end(source: &mut Source<'_>, carries: &Carries, messages: &mut Vec<Message<'static>>) {
    let end = pick(source, carries.ends);
    let last = messages.len() - 1;
    let message = &mut messages[last];
    match end {
        End::Return if message.is_answer() => message.end = end,
        End::Open
            if message.is_call() && carries.open_calls
                || !message.is_call() && carries.open_roles.contains(&message.role) =>
        {
            message.end = end;
        }
        End::Prompt if message.role == Role::User => {
            let mut prompt = Message::new(Role::Assistant, "");
            prompt.end = End::Prompt;
            messages.push(prompt);
        }
        _ => {}
    }
}

/// What the turns of a format can contain.
#[derive(Clone, Copy)]
struct TurnForm {
    /// Whether white space between calls and replies is layout.
    trims: bool,
    has_parameters: bool,
    has_reasoning: bool,
    has_python: bool,
}

impl Turn {
    fn text_form(
        &mut self,
        source: &mut Source<'_>,
        form: TurnForm,
        messages: &mut Vec<Message<'static>>,
    ) {
        let TurnForm { trims, has_parameters, has_reasoning, has_python } = form;
        let inner = one_in(source, 2) && has_reasoning;
        if one_in(source, 2) && !(self.in_text && inner == self.inner) {
            let mut said = text::hostile(source);
            if self.in_list && inner == self.inner {
                said = said.replace(['[', ']'], "");
            }
            // White space after a reply can be layout.
            let is_blank = said.trim_ascii().is_empty();
            let follows_reply = messages.last().is_some_and(|it| it.role == Role::Tool);
            if said.is_empty()
                || is_blank && follows_reply
                || trims && said.trim_ascii_start().len() < said.len()
            {
                said.insert(0, '.');
            }
            messages.push(match inner {
                true => Message::reasoning(said),
                false => Message::answer(said),
            });
            (self.inner, self.in_text, self.in_list) = (inner, true, false);
            return;
        }
        if messages.last().is_some_and(Message::is_call) {
            return;
        }
        let calls = calls(source, has_parameters, has_python, messages);
        if calls == ["functions.display_answers"] {
            self.inner = false;
        }
        (self.in_text, self.in_list) = (false, true);
        if calls.len() == 1 && one_in(source, 4) {
            let said = format!("x{}", text::hostile(source).replace(['[', ']', '"'], ""));
            messages.push(reply(&calls[0], said));
        } else if one_in(source, 2) {
            for tool in &calls {
                messages.push(reply(tool, text::json(source)));
            }
            self.in_list = false;
        }
    }
}

/// Generates adjacent calls. Returns the called tools.
fn calls(
    source: &mut Source<'_>,
    has_parameters: bool,
    has_python: bool,
    messages: &mut Vec<Message<'static>>,
) -> Vec<String> {
    let count = source.int_in_range(1..=3).unwrap_or(1);
    let mut tools = Vec::new();
    for _ in 0..count {
        // A name ends at the text behind it.
        let ends: &[char] = if has_parameters { &['"', '\n', '>', '{'] } else { &['"', '\n'] };
        let name = text::value(source).replace(ends, "_");
        let name = if has_python { python_name(&name) } else { name };
        // A function whose name has a dot is read back as a tool of another namespace.
        let is_dotted = name.strip_prefix("functions.").is_some_and(|it| it.contains('.'));
        let name = if is_dotted { name.replace("functions.", "space.") } else { name };
        let recipient = match source.int_in_range(0..=5).unwrap_or(0) {
            0 => "functions.display_answers".to_owned(),
            _ if name.contains('.') => name,
            _ => format!("functions.{name}"),
        };
        let arguments = match has_parameters {
            true => text::parameters(source),
            false => text::json(source),
        };
        // An empty key is no keyword, and no name of a parameter.
        let arguments = match has_parameters && arguments.starts_with("{\"\"") {
            true => "{}".to_owned(),
            false => arguments,
        };
        let mut call = Message::new(Role::Assistant, arguments);
        call.channel = Some(Channel::Commentary);
        call.recipient = Some(recipient.clone().into());
        call.content_type = Some("json".into());
        call.end = End::Call;
        messages.push(call);
        tools.push(recipient);
    }
    tools
}

fn reply(tool: &str, said: String) -> Message<'static> {
    let mut reply = Message::new(Role::Tool, said);
    reply.channel = Some(Channel::Commentary);
    reply.recipient = Some("assistant".into());
    reply.name = Some(tool.to_owned().into());
    reply
}

fn json_form(source: &mut Source<'_>, messages: &mut Vec<Message<'static>>) {
    match source.int_in_range(0..=3).unwrap_or(0) {
        0 => messages.push(Message::reasoning(text::hostile(source))),
        1 => messages.push(Message::answer(text::hostile(source))),
        _ => {
            if messages.last().is_some_and(Message::is_call) {
                return;
            }
            let tools = calls(source, false, false, messages);
            for tool in &tools {
                if one_in(source, 4) {
                    break;
                }
                messages.push(reply(tool, text::hostile(source)));
            }
        }
    }
}
