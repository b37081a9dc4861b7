//! Composes a conversation like the chat template: the text of the system declares the tools, and says
//! how much the model thinks.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
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
    let effort = if options.thinking == Some(true) { "high" } else { "no_think" };
    let mode = [spell(MODE), "reasoning_effort:", effort].concat();
    let declare = |system: &str| [&declaration(system, tools), &*mode].concat();
    let mut opened = Opened::joined(messages, (!tools.is_empty()).then_some(declare));
    if tools.is_empty() && options.is_of_prompt() {
        // A prompt always says how much the model thinks. A conversion adds nothing.
        match opened.composed.conversation.messages.first_mut() {
            Some(system) => {
                let text = [&*system.body.text(), &mode].concat();
                sections::say(system, text);
            }
            None => opened.composed.push(Message::new(Role::System, mode), None),
        }
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

const MODE: Control = Control::OpenSection(Section::Declaration);

fn spell(control: Control) -> &'static str {
    RULES.controls.spelling(control).unwrap_or_default()
}

/// Returns the text of the system of a conversation with tools, up to the effort.
fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let between = if system.is_empty() { "" } else { "\n\n" };
    let mut text = [system, between].concat();
    text.push_str(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n",
    );
    for (index, tool) in tools.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "\n" });
        python::to_json(&mut text, &whole_function(tool));
    }
    let [calls, call, key, value] = [Section::Calls, Section::Call, Section::Key, Section::Value]
        .map(|section| [Control::OpenSection(section), Control::CloseSection(section)].map(spell));
    text.push_str(&format!(
        "\n</tools>\n\nFor function call returns, you should first print {}\n\
         For each function call, you should return object like:\n{}{{function-name}}{}\n",
        calls[0],
        call[0],
        spell(Control::Arguments),
    ));
    for number in 1..=2 {
        let (key, end_key, value, end_value) = (key[0], key[1], value[0], value[1]);
        text.push_str(&format!(
            "{key}{{arg-key-{number}}}{end_key}\n{value}{{arg-value-{number}}}{end_value}\n"
        ));
    }
    text.push_str(&format!(
        "...\n{}\nAt the end of function call returns, you should print {}",
        call[1], calls[1],
    ));
    text
}
