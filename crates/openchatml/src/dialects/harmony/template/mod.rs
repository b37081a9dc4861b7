//! Composes a conversation like the chat template of the published gpt-oss checkpoints.
//!
//! The template (openai/gpt-oss-20b, revision of 2025-08-08) gets messages with `thinking`,
//! `content` and `tool_calls`, and tools. This module turns a conversation into the one whose plain
//! text equals the output of the template, so ids and spans work as for any other conversation.

mod declare;
mod turns;

use crate::declare::Namespace;
use crate::declare::Style;
use crate::harmony::{
    Contents, INSTRUCTIONS, PromptOptions, ResponseFormat, Sections, SystemContent, is_system,
};
use crate::model::{Body, Conversation, FormId, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost, partly_expressed};
use crate::writing::{Place, RenderError};
use crate::{Code, Limits, Span};

use self::turns::Turns;

/// The origin of conversations that the template has composed.
pub(super) const ORIGIN: FormId = FormId::new("hf-template");

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries =
    Carries { tools: true, declared_tools: false, declares: |_| false, ..super::CARRIES };

type Result<T> = std::result::Result<T, RenderError>;

/// Composes the conversation that the template writes, with the original positions of its messages.
///
/// # Errors
///
/// The template raises an error, or would silently drop something.
fn compose<'a>(
    conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>> {
    let conversation = &Conversation { tools: tools.to_vec(), ..conversation };
    if options.generation_prompt.is_some_and(|role| role != Role::Assistant) {
        return Err(unsaid(None, "the template can only prompt the assistant"));
    }
    let mut turns = Turns::default();
    let rest = opening(conversation, options, &mut turns)?;
    turns.read(conversation, rest, options)?;
    let Turns { messages, origins, losses, .. } = turns;
    let composed = Conversation { messages, origin: ORIGIN, ..Conversation::default() };
    // It expresses as little of a schema as the reference renderer.
    let mut remarks = partly_expressed(&conversation.tools, Style::Reference);
    if !conversation.tools.is_empty() {
        remarks.insert(0, Loss::new(None, Span::default(), Lost::ToolsAsText));
    }
    // The caller of the template accepts how it handles history.
    remarks.extend(losses);
    Ok(Composed { conversation: composed, places: origins, remarks, ..Composed::default() })
}

/// Writes the system and developer messages. Returns the position of the first message after them.
fn opening<'a>(
    conversation: &Conversation<'a>,
    options: &RenderOptions,
    turns: &mut Turns<'a>,
) -> Result<usize> {
    let messages = &conversation.messages;
    let system = messages.first().filter(|first| is_system(first, conversation));
    let mut at = usize::from(system.is_some());
    let text = self::system(system, conversation, options)?;
    turns.push(Message::new(Role::System, text), system.map(|_| 0));
    let speaks = |message: &&Message<'_>| matches!(message.role, Role::System | Role::Developer);
    let developer = messages.get(at).filter(speaks).map(|message| (at, message));
    at += usize::from(developer.is_some());
    let mut instructions = match developer {
        None => String::new(),
        Some((at, message)) => self::instructions(at, message, conversation)?,
    };
    if let Some(section) = ResponseFormat::section(PromptOptions::response_formats(options)) {
        let between = if instructions.is_empty() { "" } else { "\n\n" };
        instructions = [&instructions, between, &section].concat();
    }
    let mut text = String::new();
    if !instructions.is_empty() {
        text = format!("{INSTRUCTIONS}\n\n{instructions}\n\n");
    }
    if !conversation.tools.is_empty() {
        text += &declare::functions(&conversation.tools).map_err(|why| unsaid(None, why))?;
    }
    if !text.is_empty() {
        turns.push(Message::new(Role::Developer, text), developer.map(|(at, _)| at));
    }
    Ok(at)
}

/// Returns the text of the system message: from the message, or from the options.
fn system(
    message: Option<&Message<'_>>,
    conversation: &Conversation<'_>,
    options: &RenderOptions,
) -> Result<String> {
    let at = message.map(|_| 0);
    let usual = SystemContent::default();
    let text = message.map(|message| message.body.text());
    let system_content = match &text {
        Some(text) => SystemContent::read(text)
            .ok_or_else(|| unsaid(at, "the template cannot write all of this system message"))?,
        None => PromptOptions::system(options, conversation).unwrap_or_default(),
    };
    if system_content.current_date.is_none() {
        let error = unsaid(at, "the template requires the current date");
        return Err(error.help("set `RenderOptions::date` or `--date`"));
    }
    let is_builtin = |it: &Namespace<'_>| [Namespace::browser(), Namespace::python()].contains(it);
    let is_sayable = system_content.model_identity.is_some()
        && system_content.knowledge_cutoff == usual.knowledge_cutoff
        && system_content.reasoning_effort.is_some()
        && system_content.valid_channels == usual.valid_channels
        && system_content.channel_required
        && system_content.tools.iter().all(is_builtin);
    if !is_sayable {
        return Err(unsaid(at, "the template cannot write all of this system message"));
    }
    Ok(system_content.text(!conversation.tools.is_empty(), Style::Documented))
}

/// Returns the text of the first message that the template uses as the developer's instructions. A
/// message that was read as Harmony has headings, which the template writes itself.
fn instructions(
    at: usize,
    message: &Message<'_>,
    conversation: &Conversation<'_>,
) -> Result<String> {
    let text = message.body.text();
    if conversation.origin != super::RULES.form {
        return Ok(text.into_owned());
    }
    if let Some(developer) = Contents::of(conversation).developer_of(message) {
        if developer.tools.iter().any(|namespace| namespace.name != crate::declare::FUNCTIONS) {
            return Err(unsaid(Some(at), "the template can only declare functions"));
        }
        return Ok(developer.instructions.unwrap_or_default().into_owned());
    }
    let read = Sections::read(&text, &Limits::default());
    if read.tools.is_some() && conversation.tools.is_empty() {
        let why = "the template declares tools from their schemas, but this message declares them as text";
        return Err(unsaid(Some(at), why));
    }
    // The template writes an empty line after instructions.
    let instructions = read.instructions.map(|it| it.strip_suffix("\n\n").unwrap_or(it).to_owned());
    let parts = [instructions, ResponseFormat::section(&read.response_formats)];
    Ok(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

fn unsaid(message: Option<usize>, why: impl Into<String>) -> RenderError {
    let help = "use the default profile, which can write it";
    RenderError::new(Code::RenderUnsupported, message, why).help(help)
}

fn unsaid_at(message: usize, place: Place, why: &str) -> RenderError {
    unsaid(Some(message), why).at(place, Span::default())
}

/// Returns the JSON string of `text`.
fn quoted(text: &str) -> Body<'static> {
    let mut out = String::new();
    crate::json::write_string(&mut out, text);
    Body::from(out)
}
