//! Composes a conversation like the chat template: the system message declares the tools.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer};
use crate::writing::RenderError;
use crate::{Control, Section};

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let mut opened = match tools {
        [] => Opened::new(messages),
        _ => Opened::declaring(messages, "", |system| [system, &declaration(tools)].concat()),
    };
    if conversation.origin != RULES.form {
        opened.respell_arguments();
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the functions as a JSON list between the tokens of declarations.
fn declaration(tools: &[Tool<'_>]) -> String {
    let spell = |control| RULES.controls.spelling(control).unwrap_or_default();
    let mut text = [spell(Control::OpenSection(Section::Declaration)), "["].concat();
    for (index, tool) in tools.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        let function = whole_function(tool);
        python::to_json(&mut text, function.get("function").unwrap_or(&function));
    }
    text.push(']');
    text.push_str(spell(Control::CloseSection(Section::Declaration)));
    text
}
