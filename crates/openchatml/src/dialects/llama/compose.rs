//! Composes a conversation like the chat templates: the date and the tools in the system message.
//!
//! The templates can also declare tools in the first message of the user. Then a user would see them as
//! a part of what the user said, so this is not done.

use std::borrow::Cow;

use crate::Span;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened, Rules};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Composed, Loss, Lost};
use crate::writing::RenderError;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Declares the tools. `before` returns the text before that of the system message.
pub(super) fn compose<'a>(
    rules: &'static Rules,
    before: fn(&RenderOptions) -> Option<String>,
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    RenderError::of_tools(tools).map_or(Ok(()), Err)?;
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if conversation.origin != rules.form {
        opened.respell_arguments();
    }
    let is_system = opened.rest.first().is_some_and(|(first, _)| first.role == Role::System);
    let (mut message, place) = match is_system {
        true => {
            let (message, place) = opened.rest.remove(0);
            (message, Some(place))
        }
        false => (Message::new(Role::System, ""), None),
    };
    let mut text = String::new();
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        text.push_str("Environment: ipython\n");
    }
    text.push_str(&before(options).unwrap_or_default());
    if !tools.is_empty() {
        text.push_str(&declaration(tools));
    }
    if !text.is_empty() {
        let text = [&text, &*message.body.text()].concat();
        sections::say(&mut message, text);
    }
    if place.is_some() || !message.body.is_empty() {
        opened.composed.push(message, place);
    }
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the dates of Llama 3, if the current date is known.
pub(super) fn dated(options: &RenderOptions) -> Option<String> {
    let date = spelled(options.date.as_deref()?);
    Some(format!("Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n"))
}

/// Returns nothing: Llama 4 has no dates.
pub(super) fn undated(_: &RenderOptions) -> Option<String> {
    None
}

/// Spells a date such as `2026-01-31` as the template does.
fn spelled(date: &str) -> Cow<'_, str> {
    let parts: Vec<_> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return date.into() };
    let month = month.parse::<usize>().ok().and_then(|it| MONTHS.get(it.wrapping_sub(1)));
    month.map_or(date.into(), |month| format!("{day} {month} {year}").into())
}

/// Returns the declaration of tools.
fn declaration(tools: &[Tool<'_>]) -> String {
    let mut text = String::from(
        "You have access to the following functions. To call a function, please respond with JSON \
         for a function call.Respond in the format {\"name\": function name, \"parameters\": \
         dictionary of argument name and its value}.Do not use variables.\n\n",
    );
    for tool in tools {
        python::to_indented_json(&mut text, &whole_function(tool), 4);
        text.push_str("\n\n");
    }
    text
}
