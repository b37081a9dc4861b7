//! Composes a conversation like the chat template: the system message asks to think and declares the
//! tools.

use super::RULES;
use super::declaration::{breaks_out, declaration, is_whole};
use super::tokens::CONTROLS;
use crate::grammar::sections::{self, Opened};
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
    if let Some(tool) = tools.iter().find(|tool| breaks_out(tool)) {
        return Err(RenderError::of_declaration(tool));
    }
    let messages = std::mem::take(&mut conversation.messages);
    let thinks = options.thinking == Some(true);
    let opened = if thinks || !tools.is_empty() {
        let mut opened = Opened::declaring(messages, "", |system| opening(system, tools, thinks));
        if tools.is_empty() {
            opened.composed.remarks.clear();
        }
        // The template does not write all fields.
        let in_part = tools.iter().filter(|tool| !is_whole(tool));
        let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
        opened.composed.remarks.extend(in_part.map(loss));
        opened
    } else {
        Opened::new(messages)
    };
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the text of the system message.
fn opening(system: &str, tools: &[Tool<'_>], thinks: bool) -> String {
    let spell = |control| CONTROLS.spelling(control).unwrap_or_default();
    let mut text = String::new();
    if thinks {
        text.push_str(spell(Control::OpenSection(Section::Thinking)));
        text.push('\n');
    }
    text.push_str(system.trim());
    for tool in tools {
        text.push_str(spell(Control::OpenSection(Section::Declaration)));
        text.push_str(declaration(tool).trim());
        text.push_str(spell(Control::CloseSection(Section::Declaration)));
    }
    text
}
