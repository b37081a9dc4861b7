//! The beginning of a prompt for gpt-oss, if the conversation does not have it: the system message,
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

/// Adds the system message of the options. The text of a system or developer message without
/// headings becomes the developer's instructions, because Harmony has the usual system prompt
/// there. Returns `None` if there is already a system message of Harmony.
pub(crate) fn open<'a>(
    conversation: &Conversation<'a>,
    options: &RenderOptions,
) -> Option<Conversation<'a>> {
    let system = PromptOptions::system(options, conversation)?;
    if super::has_system_message(conversation) {
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

/// Whether a message is a system message of Harmony, not a usual system prompt.
pub(crate) fn is_system(message: &Message<'_>, conversation: &Conversation<'_>) -> bool {
    let form = super::FORM;
    let is_own = conversation.origin == form
        || message.layout.as_ref().is_some_and(|layout| layout.form == form);
    let says_channels =
        || message.body.text().lines().any(|line| line.starts_with("# Valid channels:"));
    message.role == Role::System && (is_own || says_channels())
}

/// Makes the text of a message the developer's instructions.
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

/// Whether functions are declared, or will be.
fn has_functions(conversation: &Conversation<'_>) -> bool {
    let declaration = format!("\nnamespace {FUNCTIONS} {{\n");
    let declares = |message: &Message<'_>| {
        message.role == Role::Developer && message.body.text().contains(&declaration)
    };
    !conversation.tools.is_empty() || conversation.messages.iter().any(declares)
}

/// Adds response formats at the end of the developer message. Also returns the position of a
/// message that was added. Returns `None` if there are none, or if the developer message already
/// has some.
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
    // Declared tools are text from here on.
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

/// Adds a developer message after the first system message, and returns its position.
fn add<'a>(mut conversation: Conversation<'a>, text: String) -> (Conversation<'a>, Option<usize>) {
    let is_system = |message: &&Message<'_>| message.role == Role::System;
    let at = conversation.messages.iter().take_while(is_system).count();
    conversation.messages.insert(at, Message::new(Role::Developer, text));
    (conversation, Some(at))
}

impl SystemContent<'_> {
    /// Parses the text of a system message. Returns `None` if the text contains more than its
    /// content can express.
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
