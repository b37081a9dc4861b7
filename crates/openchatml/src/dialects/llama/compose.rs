//! Composes a conversation like the chat templates: the date in the system message, and the tools in
//! the first message of the user.

use std::borrow::Cow;

use crate::Span;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened, Rules};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Composed, Loss, Lost};
use crate::writing::RenderError;

/// The date in the templates, which do not know the current one.
const DATE: &str = "26 Jul 2024";

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
    let is_read = conversation.origin == rules.form;
    if !is_read {
        opened.respell_arguments();
    }
    let is_system = opened.rest.first().is_some_and(|(first, _)| first.role == Role::System);
    let system = is_system.then(|| opened.rest.remove(0));
    let is_user = opened.rest.first().is_some_and(|(first, _)| first.role == Role::User);
    let mut text = String::new();
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        text.push_str("Environment: ipython\n");
    }
    let dates = before(options).filter(|_| !is_read);
    let is_dated = dates.is_some();
    text.push_str(&dates.unwrap_or_default());
    match (tools.is_empty(), is_user) {
        (false, true) => opened.say_before_first(&declaration(IN_USER, tools)),
        (false, false) => text.push_str(&declaration(IN_SYSTEM, tools)),
        (true, _) => {}
    }
    let (mut message, place) = match system {
        Some((message, place)) => (message, Some(place)),
        None => (Message::new(Role::System, ""), None),
    };
    let needs_system = place.is_some() || is_dated || !tools.is_empty() && !is_user;
    if !text.is_empty() {
        let text = [&text, &*message.body.text()].concat();
        sections::say(&mut message, text);
    }
    if needs_system {
        opened.composed.push(message, place);
    }
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the dates of Llama 3.
pub(super) fn dated(options: &RenderOptions) -> Option<String> {
    let date = options.date.as_deref().map_or(DATE.into(), spelled);
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

const IN_USER: &str = "Given the following functions, please respond with a JSON for a function call \
     with its proper arguments that best answers the given prompt.\n\n";

const IN_SYSTEM: &str = "You have access to the following functions. To call a function, please respond with JSON for \
     a function call.";

/// Returns the declaration of tools after its first sentence.
fn declaration(first: &str, tools: &[Tool<'_>]) -> String {
    let mut text = first.to_owned();
    text.push_str(
        "Respond in the format {\"name\": function name, \"parameters\": dictionary of argument \
         name and its value}.Do not use variables.\n\n",
    );
    for tool in tools {
        python::to_indented_json(&mut text, &whole_function(tool), 4);
        text.push_str("\n\n");
    }
    text
}
