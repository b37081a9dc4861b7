//! Composes a conversation like the chat template: a turn of the system says how much the model thinks,
//! and a turn of the developer declares the tools. A prompt always has both.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;
use crate::{Control, Section, Span};

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

/// The text of the system in a prompt of a conversation that has none.
const SYSTEM: &str = "Your model version is MiniMax-M3, developed by MiniMax. Knowledge cutoff: \
    January 2026. Founded in early 2022, MiniMax is a global AI foundation model company committed \
    to advancing the frontiers of AI towards AGI.";

/// The text of the developer in a conversation that has none.
const DEVELOPER: &str = "You are a helpful assistant.";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
    }
    let is_prompt = options.is_of_prompt();
    // A conversion without tools adds nothing.
    if is_prompt || !tools.is_empty() {
        let mut system = take(&mut opened, Role::System);
        let mut developer = take(&mut opened, Role::Developer);
        if is_prompt {
            // The template writes a single message of both roles into the turn of the developer.
            developer = developer.or_else(|| system.take());
            let (message, text) = text_of(&mut system, Role::System, SYSTEM);
            sections::say(message, text + &instructions(options));
        }
        let (message, text) = text_of(&mut developer, Role::Developer, DEVELOPER);
        sections::say(message, text + &declaration(tools));
        for (message, place) in [system, developer].into_iter().flatten() {
            opened.composed.push(message, place);
        }
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// A message at the beginning, and its position in the conversation.
type Leading<'a> = Option<(Message<'a>, Option<usize>)>;

/// Takes the first message, if it has this role.
fn take<'a>(opened: &mut Opened<'a>, role: Role) -> Leading<'a> {
    let is_first = opened.rest.first().is_some_and(|(message, _)| message.role == role);
    let (message, place) = is_first.then(|| opened.rest.remove(0))?;
    Some((message, Some(place)))
}

/// Returns the message with this role, and its text. An empty one is none.
fn text_of<'l, 'a>(
    leading: &'l mut Leading<'a>,
    role: Role,
    default: &str,
) -> (&'l mut Message<'a>, String) {
    let (message, _) = leading.get_or_insert_with(|| (Message::new(role, ""), None));
    message.role = role;
    let text = message.body.text();
    let text = if text.is_empty() { default.to_owned() } else { text.into_owned() };
    (message, text)
}

fn spell(control: Control) -> &'static str {
    RULES.controls.spelling(control).unwrap_or_default()
}

/// Returns what a prompt says about reasoning.
fn instructions(options: &RenderOptions) -> String {
    let open = spell(Control::OpenSection(Section::Reasoning));
    let close = spell(Control::CloseSection(Section::Reasoning));
    let mode = match options.open_reasoning.then_some(true).or(options.thinking) {
        Some(true) => {
            "enabled. You MUST think step by step before every response, including after receiving \
             function/tool results."
        }
        Some(false) => "disabled. Do not output any thinking process.",
        None => {
            "adaptive. You are encouraged to think for complex decision-making, multi-step \
             reasoning, or when analyzing function/tool results."
        }
    };
    format!(
        "\n\n<thinking_instructions>\nYou have a thinking capability that allows you to reason step by \
         step before responding. When thinking is enabled, wrap your reasoning in {open}{close} tags \
         before your response. When thinking is disabled, begin your response directly after the \
         {close} prefix. When thinking is adaptive, decide on your own whether to think for the current \
         turn.\nCurrent thinking mode: {mode}\n</thinking_instructions>"
    )
}

/// Returns the part of the developer's text that declares tools.
fn declaration(tools: &[Tool<'_>]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n\n# Tools\nYou may call one or more tools to assist with the user query.\n\
         Here are the tools available in JSONSchema format:\n\n<tools>\n",
    );
    for tool in tools {
        let function = whole_function(tool);
        text.push_str("<tool>");
        python::to_json(&mut text, function.get("function").unwrap_or(&function));
        text.push_str("</tool>\n");
    }
    let [open, close] = [Section::Calls, Section::Call]
        .map(|section| [Control::OpenSection(section), Control::CloseSection(section)].map(spell));
    let ([calls, end_calls], [call, end_call]) = (open, close);
    let [tag, end_tag] =
        [Control::OpenSection(Section::Key), Control::CloseSection(Section::Key)].map(spell);
    text.push_str(&format!(
        "</tools>\n\nTo call tools, wrap all invocations in a single {calls}{end_calls} block. \
         Parameter values containing nested objects or arrays are recursively expanded into XML \
         elements. Example:\n\n{calls}\n\
         {call}tool-name-1\">{tag}param-1>value-1{end_tag}param-1>\
         {tag}param-2>{tag}item>{tag}key-a>val-a{end_tag}key-a>{tag}key-b>val-b{end_tag}key-b>\
         {end_tag}item>{end_tag}param-2>{end_call}\n\
         {call}tool-name-2\">{tag}param-1>value-1{end_tag}param-1>{end_call}\n{end_calls}"
    ));
    text
}
