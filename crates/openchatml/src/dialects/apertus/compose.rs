//! Prepares a conversation as the reference template does: with a system message and the developer
//! section at the beginning. Refuses messages that the format does not allow.

use super::RULES;
use super::declare::{self, Engine};
use super::settle::{Left, is_laid_out, settle};
use crate::model::{Body, Conversation, End, Message, Role, Tool};
use crate::options::{Profile, RenderOptions};
use crate::rules::{Carries, Composed, Composer, Join, Loss, Lost};
use crate::writing::{Place, RenderError};
use crate::{Code, Span};

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// The features that the template can express.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

pub(super) type Result<T> = std::result::Result<T, RenderError>;

fn unsaid(message: Option<usize>, text: &str) -> RenderError {
    RenderError::new(Code::RenderUnsupported, message, text)
}

fn undeclared(why: String) -> RenderError {
    unsaid(None, &why).at(Place::Document, Span::default())
}

fn compose<'a>(
    conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>> {
    let mut composed = Composed::default();
    let engine = match options.profile {
        Profile::Documented => Engine::Documented,
        profile if profile.is_template() => Engine::Transformers,
        _ => Engine::Reference,
    };
    let rest = opening(&conversation.messages, tools, Some(engine), options, &mut composed)?;
    let left = Left::behind(conversation.messages, rest);
    settle(&mut composed, left, options.generation_prompt.is_some())?;
    composed.conversation.origin = RULES.form;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Adapts the message at `index` as the template does. Returns whether it is in the turn of the
/// assistant. `in_turn` says whether the message before it was.
///
/// # Errors
///
/// The template does not allow the message here.
pub(super) fn admit(
    message: &mut Message<'_>,
    index: usize,
    in_turn: bool,
    composed: &mut Composed<'_>,
) -> Result<bool> {
    match message.role {
        Role::System | Role::Developer => {
            let help = "Apertus supports one system message, at the beginning";
            return Err(unsaid(Some(index), "this role is not allowed here").help(help));
        }
        Role::Tool if !in_turn && !is_laid_out(message) => {
            let help = "write the reply after a call or another reply";
            let text = "a tool reply is only allowed in the assistant's turn";
            return Err(unsaid(Some(index), text).help(help));
        }
        _ => {}
    }
    if message.is_call() && RULES.readdress(message) {
        composed.remarks.push(Loss::new(Some(index), message.span, Lost::Recipient));
    }
    Ok(message.role != Role::User)
}

/// Adds the system message and the developer section. If `engine` is given, a template adds the
/// missing ones. Returns the position of the first message after them.
pub(super) fn opening<'a>(
    messages: &[Message<'a>],
    tools: &[Tool<'_>],
    engine: Option<Engine>,
    options: &RenderOptions,
    composed: &mut Composed<'a>,
) -> Result<usize> {
    let speaks = |message: &&Message<'_>| matches!(message.role, Role::System | Role::Developer);
    let count = messages.iter().take_while(speaks).count();
    let (system, section) = joined(&messages[..count], composed);
    match (system, engine) {
        (Some((mut message, index)), _) => {
            let is_followed = engine.is_some() || section.is_some();
            if is_followed && message.end == End::Open {
                let (lost, span) = (Lost::Open, message.span);
                composed.losses.push(Loss::new(Some(index), span, lost));
                message.end = End::End;
            }
            composed.push(message, Some(index));
        }
        (None, Some(_)) => composed.push(Message::new(Role::System, system_text(options)?), None),
        (None, None) => {}
    }
    let declared = |thinking, losses: &mut Vec<Loss>| {
        let engine = engine.unwrap_or(Engine::Documented);
        declare::section(thinking, tools, engine, losses)
    };
    if engine.is_some() && !tools.is_empty() {
        composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
    }
    match section {
        // The section says that there are no tools, but the conversation now has some.
        Some((mut message, index))
            if engine.is_some()
                && !tools.is_empty()
                && declare::is_without_tools(&message.body.text()) =>
        {
            let thinking = declare::deliberates(&message.body.text()).unwrap_or_default();
            let text = declared(thinking, &mut composed.remarks).map_err(undeclared)?;
            (message.body, message.body_at, message.pieces) = (Body::from(text), 0, None);
            composed.push(message, Some(index));
        }
        Some((message, index)) => {
            let text = message.body.text();
            let thinking = declare::deliberates(&text).unwrap_or_default();
            let mut unsaid = Vec::new();
            let says = declared(thinking, &mut unsaid);
            if engine.is_some() {
                composed.remarks.append(&mut unsaid);
            }
            // A text form declares the tools of its section. Messages declare the tools next to
            // them.
            let has_tools = !tools.is_empty() || engine.is_none();
            if has_tools && says.as_deref().ok() != Some(&*text) {
                let (lost, span) = (Lost::Tools, Span::default());
                composed.losses.push(Loss::new(None, span, lost));
            }
            composed.push(message, Some(index));
        }
        None if engine.is_none() => {}
        None => {
            let text = declared(options.thinking.unwrap_or_default(), &mut composed.remarks)
                .map_err(undeclared)?;
            composed.push(Message::new(Role::Developer, text), None);
        }
    }
    Ok(count)
}

/// A message and its position.
type Placed<'a> = Option<(Message<'a>, usize)>;

/// Joins system and developer messages into one system message. Returns it and the developer
/// section among them.
fn joined<'a>(messages: &[Message<'a>], composed: &mut Composed<'a>) -> (Placed<'a>, Placed<'a>) {
    let mut system: Placed<'a> = None;
    let mut section = None;
    for (index, message) in messages.iter().enumerate() {
        let is_section = || declare::deliberates(&message.body.text()).is_some();
        if message.role == Role::Developer && section.is_none() && is_section() {
            section = Some((message.clone(), index));
            continue;
        }
        let lost = match (message.role, &system) {
            (Role::System, None) => None,
            (Role::System, Some(_)) => Some(Lost::Merged),
            _ => Some(Lost::Developer),
        };
        if let Some(lost) = lost {
            composed.losses.push(Loss::new(Some(index), message.span, lost));
        }
        match &mut system {
            None => {
                let mut first = message.clone();
                first.role = Role::System;
                system = Some((first, index));
            }
            Some((first, _)) => {
                let join = Join {
                    message: composed.conversation.messages.len(),
                    at: first.body.len() + BETWEEN.len(),
                    place: index,
                    from: 0,
                };
                composed.joins.push(join);
                self::join(first, message);
            }
        }
    }
    (system, section)
}

/// The text between joined system messages.
const BETWEEN: &str = "\n\n";

/// Appends the text of another message.
fn join(first: &mut Message<'_>, message: &Message<'_>) {
    let text = [first.body.text(), BETWEEN.into(), message.body.text()].concat();
    (first.body, first.body_at, first.pieces) = (Body::from(text), 0, None);
}

/// Returns the system message for a conversation without one.
fn system_text(options: &RenderOptions) -> Result<String> {
    let date = options.date.as_deref();
    let help = "set `RenderOptions::date` or `--date`, or begin with a system message";
    let date =
        date.ok_or_else(|| unsaid(None, "the template requires the current date").help(help))?;
    Ok(format!(
        "You are Apertus, a helpful assistant created by the SwissAI initiative.\n\
         Knowledge cutoff: 2024-04\nCurrent date: {date}"
    ))
}

#[cfg(test)]
mod tests {
    use crate::{Code, Conversation, Message, RenderOptions, Role, render};

    #[test]
    fn a_reply_stands_in_the_turn_of_the_assistant() {
        let said = [Role::System, Role::User, Role::Tool].map(|role| Message::new(role, "4"));
        let document = Conversation::from_messages(said).into();
        let format = "apertus".parse().unwrap();
        let refused = render(&document, format, &RenderOptions::default()).unwrap_err();
        assert_eq!((refused.code, refused.message), (Code::RenderUnsupported, Some(2)));
    }
}
