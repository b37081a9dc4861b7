//! Composes a conversation like the chat template: one system message, at the beginning.

use super::{CONTROLS, RULES};
use crate::grammar::sections::{self, BETWEEN, Opened};
use crate::json::python;
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;
use crate::{Control, Section, Span};

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    RenderError::of_tools(tools).map_or(Ok(()), Err)?;
    let messages = std::mem::take(&mut conversation.messages);
    let declare = |system: &str| declaration(system, tools);
    let mut opened = Opened::joined(messages, (!tools.is_empty()).then_some(declare));
    // The template writes no other fields than these.
    let in_part = tools.iter().filter(|tool| !tool.extra.is_empty());
    let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
    opened.composed.remarks.extend(in_part.map(loss));
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
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
