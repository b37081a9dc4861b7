//! Composes a conversation like the chat template: one system message, at the beginning.

use super::{CONTROLS, RULES};
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Body, Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Join, Loss, Lost};
use crate::writing::RenderError;
use crate::{Control, Section, Span};

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

/// The text between joined system messages.
const BETWEEN: &str = "\n\n";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::default();
    let mut system: Option<(Message<'a>, Option<usize>)> = None;
    for (place, message) in std::mem::take(&mut conversation.messages).into_iter().enumerate() {
        let is_late = !opened.rest.is_empty();
        match (message.role, &mut system) {
            (Role::System, None) => {
                if is_late {
                    let loss = Loss::new(Some(place), message.span, Lost::SystemMoved);
                    opened.composed.losses.push(loss);
                }
                system = Some((message, Some(place)));
            }
            (Role::System, Some((first, _))) => {
                let lost = if is_late { Lost::SystemMoved } else { Lost::Merged };
                opened.composed.remarks.push(Loss::new(Some(place), message.span, lost));
                let at = first.body.len() + BETWEEN.len();
                opened.composed.joins.push(Join { message: 0, at, place, from: 0 });
                let text = [&*first.body.text(), BETWEEN, &message.body.text()].concat();
                say(first, text);
            }
            _ => opened.rest.push((message, place)),
        }
    }
    RenderError::of_tools(tools).map_or(Ok(()), Err)?;
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        // The template writes no other fields than these.
        let in_part = tools.iter().filter(|tool| !tool.extra.is_empty());
        let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
        opened.composed.remarks.extend(in_part.map(loss));
        let (first, _) = system.get_or_insert_with(|| (Message::new(Role::System, ""), None));
        let text = declaration(&first.body.text(), tools);
        say(first, text);
    }
    // An empty system message is not written: white space after the first token is not a message.
    if let Some((message, place)) = system {
        match message.body.text().trim_ascii().is_empty() {
            false => opened.composed.push(message, place),
            true => {
                opened.composed.joins.clear();
                let loss = Loss::new(place, message.span, Lost::Empty);
                opened.composed.remarks.push(loss);
            }
        }
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

fn say(message: &mut Message<'_>, text: String) {
    (message.body, message.body_at, message.pieces) = (Body::from(text), 0, None);
}

/// Returns the system message of a conversation with tools, with the texts of the model's
/// documentation.
fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    if !text.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str("## Tools\nYou have access to the following tools:\n");
    for tool in tools {
        text.push_str("\n### ");
        text.push_str(&tool.name);
        text.push_str("\nDescription: ");
        text.push_str(tool.description.as_deref().unwrap_or_default());
        text.push_str("\n\nParameters: ");
        match &tool.parameters {
            Some(parameters) => python::to_json(&mut text, parameters),
            None => text.push_str("{}"),
        }
        text.push('\n');
    }
    let spell = |control| CONTROLS.spelling(control).unwrap_or_default();
    text.push_str("\nIMPORTANT: ALWAYS adhere to this exact format for tool use:\n");
    for piece in [
        spell(Control::OpenSection(Section::Calls)),
        spell(Control::OpenSection(Section::Call)),
        "tool_call_name",
        spell(Control::Arguments),
        "tool_call_arguments",
        spell(Control::CloseSection(Section::Call)),
        "{{additional_tool_calls}}",
        spell(Control::CloseSection(Section::Calls)),
    ] {
        text.push_str(piece);
    }
    text.push_str(
        "\n\nWhere:\n\n- `tool_call_name` must be an exact match to one of the available tools\n\
         - `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema\n\
         - For multiple tool calls, chain them directly without separators or spaces\n",
    );
    text
}
