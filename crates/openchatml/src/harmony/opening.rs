//! What a prompt for gpt-oss begins with, where a conversation does not say it: the system message,
//! instructions under their heading, response formats.

use super::content::{INSTRUCTIONS, SystemContent};
use super::declared::Contents;
use super::options::PromptOptions;
use super::response::{ResponseFormat, Sections};
use crate::Limits;
use crate::declare::Style;
use crate::declare::{FUNCTIONS, Namespace};
use crate::model::{Body, Conversation, Layout, Message, Role};
use crate::options::RenderOptions;

/// The conversation with the system message that options ask for before all others. What a system or developer
/// message says without a heading becomes the developer's instructions: that is where Harmony has
/// what is commonly called the system prompt. `None` if there is a system message of Harmony's.
pub(crate) fn open<'a>(
    conversation: &Conversation<'a>,
    options: &RenderOptions,
) -> Option<Conversation<'a>> {
    let system = PromptOptions::system(options)?;
    if conversation.messages.iter().any(|message| is_system(message, conversation)) {
        return None;
    }
    let mut opened = conversation.clone();
    for message in &mut opened.messages {
        if matches!(message.role, Role::System | Role::Developer) {
            instruct(message);
        }
    }
    let text = system.text(has_functions(&opened), options.profile.style());
    let mut message = Message::new(Role::System, text);
    message.layout = Some(Box::new(Layout { form: super::FORM, ..Layout::default() }));
    opened.messages.insert(0, message);
    Some(opened)
}

/// Whether a message is Harmony's system message, and not somebody's system prompt.
pub(crate) fn is_system(message: &Message<'_>, conversation: &Conversation<'_>) -> bool {
    let form = super::FORM;
    let is_own = conversation.origin == form
        || message.layout.as_ref().is_some_and(|layout| layout.form == form);
    let says_channels =
        || message.body.text().lines().any(|line| line.starts_with("# Valid channels:"));
    message.role == Role::System && (is_own || says_channels())
}

/// Makes what a message says the developer's instructions.
fn instruct(message: &mut Message<'_>) {
    message.role = Role::Developer;
    let text = message.body.text();
    let Sections { tools, response_formats, .. } = Sections::read(&text, &Limits::default());
    let has_headings =
        text.starts_with(INSTRUCTIONS) || tools.is_some() || !response_formats.is_empty();
    if !has_headings && !text.is_empty() {
        message.body = Body::from(format!("{INSTRUCTIONS}\n\n{text}"));
        (message.body_at, message.pieces) = (0, None);
    }
}

/// Whether functions are declared, or are about to be.
fn has_functions(conversation: &Conversation<'_>) -> bool {
    let declaration = format!("\nnamespace {FUNCTIONS} {{\n");
    let declares = |message: &Message<'_>| {
        message.role == Role::Developer && message.body.text().contains(&declaration)
    };
    !conversation.tools.is_empty() || conversation.messages.iter().any(declares)
}

/// The conversation with response formats behind all else that the developer says, and the place of
/// a message that was put in for that. `None` if there are none, or the developer names some.
pub(crate) fn ask<'a>(
    conversation: &Conversation<'a>,
    options: &RenderOptions,
) -> Option<(Conversation<'a>, Option<usize>)> {
    let section = ResponseFormat::section(PromptOptions::response_formats(options))?;
    let limits = Limits::default();
    let names_some = |message: &Message<'_>| {
        let text = message.body.text();
        message.role == Role::Developer
            && !Sections::read(&text, &limits).response_formats.is_empty()
    };
    if conversation.messages.iter().any(names_some) {
        return None;
    }
    let mut asked = conversation.clone();
    let Some(at) = asked.messages.iter().position(|it| it.role == Role::Developer) else {
        return Some(add(asked, section));
    };
    // Tools that are declared are text from here on.
    let declared =
        Contents::of(conversation).texts_of(&asked.messages[at], options.profile.style());
    let text = match declared {
        Some(texts) => {
            asked.tools.clear();
            texts.concat()
        }
        None => asked.messages[at].body.text().into_owned(),
    };
    let developer = &mut asked.messages[at];
    let between = if text.is_empty() { "" } else { "\n\n" };
    developer.body = Body::from([&text, between, &section].concat());
    (developer.body_at, developer.pieces) = (0, None);
    if let Some(layout) = &mut developer.layout {
        layout.content = None;
    }
    Some((asked, None))
}

/// The conversation with a message of the developer's behind the first of the system's, and the
/// place of that message.
fn add<'a>(mut conversation: Conversation<'a>, text: String) -> (Conversation<'a>, Option<usize>) {
    let is_system = |message: &&Message<'_>| message.role == Role::System;
    let at = conversation.messages.iter().take_while(is_system).count();
    conversation.messages.insert(at, Message::new(Role::Developer, text));
    (conversation, Some(at))
}

impl SystemContent<'_> {
    /// Reads the text of a system message back. `None` if it says more than its content could.
    pub(crate) fn read(text: &str) -> Option<SystemContent<'_>> {
        let line = |mark: &str| text.lines().find_map(|line| line.strip_prefix(mark));
        let names = |heading: &str| text.lines().any(|line| line == heading);
        let first = text.lines().next()?;
        let builtin = [
            names("## browser").then(Namespace::browser),
            names("## python").then(Namespace::python),
        ];
        let system = SystemContent {
            model_identity: (!first.contains(": ")).then_some(first.into()),
            knowledge_cutoff: line("Knowledge cutoff: ").map(Into::into),
            current_date: line("Current date: ").map(Into::into),
            reasoning_effort: line("Reasoning: ").and_then(super::Effort::from_word),
            tools: builtin.into_iter().flatten().collect(),
            ..SystemContent::default()
        };
        let says = |has_functions| system.text(has_functions, Style::Documented) == text;
        (says(true) || says(false)).then_some(system)
    }
}
