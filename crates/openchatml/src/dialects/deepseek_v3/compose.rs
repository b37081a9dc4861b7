//! Composes a conversation like the chat template: one system message, at the beginning. The template
//! does not declare tools, so the system message does.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, BETWEEN, Opened};
use crate::json::{Data, Value, python};
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let declare = |system: &str| declaration(system, tools);
    let opened = Opened::joined(messages, (!tools.is_empty()).then_some(declare));
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the system message of a conversation with tools.
fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    if !text.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str("# Tools\n\n");
    let all: Vec<_> = tools.iter().map(whole_function).collect();
    python::to_json(&mut text, &Value::from(Data::List(all)));
    text
}
