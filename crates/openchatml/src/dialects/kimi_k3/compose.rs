//! Composes a conversation like the encoder of the model: a turn of the system declares the tools.

use super::{DECLARATION, RULES};
use crate::Span;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::{Data, Value};
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the encoder can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        let tools: Vec<_> =
            tools.iter().map(|tool| sorted(whole_function(tool)).to_json()).collect();
        let text = format!(
            "# Tools\nHere are the available tools, described in JSONSchema.\n\n```json\n[{}]\n```",
            tools.join(",")
        );
        let mut message = Message::new(Role::System, text);
        message.name = Some(DECLARATION.into());
        opened.composed.push(message, None);
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns a value with the keys of its objects in order.
fn sorted(value: Value<'_>) -> Value<'_> {
    let Value { data, span, .. } = value;
    let data = match data {
        Data::List(items) => Data::List(items.into_iter().map(sorted).collect()),
        Data::Map(entries) => {
            let mut entries: Vec<_> =
                entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|one, two| one.0.cmp(&two.0));
            Data::Map(entries)
        }
        data => data,
    };
    Value { data, span }
}
