//! What the chat template of the published gpt-oss checkpoints makes of a conversation.
//!
//! The template (openai/gpt-oss-20b, revision of 2025-08-08) is given messages with `thinking`,
//! `content` and `tool_calls`, and tools. Here a conversation is turned into the one whose faithful
//! text is the text that the template makes, so that ids and spans come of it as of any other.

mod declare;
mod turns;

use crate::declare::Namespace;
use crate::declare::Style;
use crate::harmony::{
    Contents, INSTRUCTIONS, PromptOptions, ResponseFormat, Sections, SystemContent, is_system,
};
use crate::model::{Body, Conversation, FormId, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost, said_in_part};
use crate::writing::{Place, RenderError};
use crate::{Code, Limits, Span};

use self::turns::Turns;

/// Where conversations come from that the template has made.
pub(super) const ORIGIN: FormId = FormId::new("hf-template");

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the template can be given.
static CARRIES: Carries =
    Carries { tools: true, declared_tools: false, declares: |_| false, ..super::CARRIES };

type Result<T> = std::result::Result<T, RenderError>;

/// The conversation that says what the template says of this one, and where its messages stood.
///
/// # Errors
///
/// What the template raises an error at, and what it would leave out without a word.
fn compose<'a>(
    conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>> {
    let conversation = &Conversation { tools: tools.to_vec(), ..conversation };
    if options.generation_prompt.is_some_and(|role| role != Role::Assistant) {
        return Err(unsaid(None, "the template prompts the assistant only"));
    }
    let mut turns = Turns::default();
    let rest = opening(conversation, options, &mut turns)?;
    turns.read(conversation, rest, options)?;
    let Turns { messages, origins, losses, .. } = turns;
    let composed = Conversation { messages, origin: ORIGIN, ..Conversation::default() };
    // It says as little of a schema as the reference does.
    let mut remarks = said_in_part(&conversation.tools, Style::Reference);
    if !conversation.tools.is_empty() {
        remarks.insert(0, Loss::new(None, Span::default(), Lost::ToolsAsText));
    }
    // Who asks for the template asks for what it makes of a history.
    remarks.extend(losses);
    Ok(Composed { conversation: composed, places: origins, remarks, ..Composed::default() })
}

/// Says what the system and the developer say. Gives the place of the first message behind that.
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

/// What the system says: as its message has it, or as the options have it.
fn system(
    message: Option<&Message<'_>>,
    conversation: &Conversation<'_>,
    options: &RenderOptions,
) -> Result<String> {
    let at = message.map(|_| 0);
    let usual = SystemContent::default();
    let text = message.map(|message| message.body.text());
    let said = match &text {
        Some(text) => SystemContent::read(text)
            .ok_or_else(|| unsaid(at, "the template has no words for all that the system says"))?,
        None => PromptOptions::system(options).unwrap_or_default(),
    };
    if said.current_date.is_none() {
        let error = unsaid(at, "the template says the date, and none is given");
        return Err(error.help("give one: `RenderOptions::date`, `--date`"));
    }
    let is_builtin = |it: &Namespace<'_>| [Namespace::browser(), Namespace::python()].contains(it);
    let is_sayable = said.model_identity.is_some()
        && said.knowledge_cutoff == usual.knowledge_cutoff
        && said.reasoning_effort.is_some()
        && said.valid_channels == usual.valid_channels
        && said.channel_required
        && said.tools.iter().all(is_builtin);
    if !is_sayable {
        return Err(unsaid(at, "the template has no words for all that the system says"));
    }
    Ok(said.text(!conversation.tools.is_empty(), Style::Documented))
}

/// What the first message says that the template takes for the developer's instructions. What was
/// read as Harmony has headings, which are the template's business.
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
            return Err(unsaid(Some(at), "the template declares functions, and no other tools"));
        }
        return Ok(developer.instructions.unwrap_or_default().into_owned());
    }
    let read = Sections::read(&text, &Limits::default());
    if read.tools.is_some() && conversation.tools.is_empty() {
        let why =
            "the template declares tools from their schemas, which a declaration does not say";
        return Err(unsaid(Some(at), why));
    }
    // The template leaves an empty line behind instructions.
    let instructions = read.instructions.map(|it| it.strip_suffix("\n\n").unwrap_or(it).to_owned());
    let parts = [instructions, ResponseFormat::section(&read.response_formats)];
    Ok(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

fn unsaid(message: Option<usize>, why: impl Into<String>) -> RenderError {
    let help = "the default profile writes what the template does not";
    RenderError::new(Code::RenderUnsupported, message, why).help(help)
}

fn unsaid_at(message: usize, place: Place, why: &str) -> RenderError {
    unsaid(Some(message), why).at(place, Span::default())
}

/// The JSON string that says `text`.
fn quoted(text: &str) -> Body<'static> {
    let mut out = String::new();
    crate::json::write_string(&mut out, text);
    Body::from(out)
}
