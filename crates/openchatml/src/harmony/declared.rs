//! Declarations in the JSON of the reference library, and their text.

use std::borrow::Cow;

use super::content::{DeveloperContent, Effort, SystemContent};
use super::parts;
use crate::declare::Style;
use crate::declare::{FUNCTIONS, Namespace};
use crate::json::Value;
use crate::model::{Body, Conversation, Layout, Message, Tool};
use crate::rules::{Loss, Lost};

/// Sets the text of messages from their declarations, and the tools of the conversation from the
/// declared functions.
pub(crate) fn declare(conversation: &mut Conversation<'_>) {
    let contents = Contents::of(conversation);
    for message in &mut conversation.messages {
        let layout = message.layout.take();
        if let Some(content) = layout.as_deref().and_then(content_of) {
            message.body = Body::from(contents.text(content));
            message.body_at = 0;
        }
        message.layout = layout;
    }
    conversation.tools = functions(conversation).into_iter().map(Tool::into_owned).collect();
}

/// Returns the original content of a message in the JSON of the reference library.
fn content_of<'l, 'a>(layout: &'l Layout<'a>) -> Option<&'l Value<'a>> {
    layout.content.as_ref().filter(|_| layout.form == super::FORM)
}

/// Returns the parts of all messages of a conversation.
fn parts_of<'c, 'a>(conversation: &'c Conversation<'a>) -> impl Iterator<Item = &'c Value<'a>> {
    let layouts = conversation.messages.iter().filter_map(|message| message.layout.as_deref());
    layouts.filter_map(content_of).flat_map(|content| content.as_list().unwrap_or_default())
}

/// Returns the functions that the developer declares.
fn functions<'c>(conversation: &'c Conversation<'_>) -> Vec<Tool<'c>> {
    let namespaces = parts_of(conversation).flat_map(namespaces).filter(|it| it.name == FUNCTIONS);
    namespaces.flat_map(|it| it.tools).collect()
}

/// Whether the tools of a conversation equal those that its developer declares.
pub(crate) fn declares_tools(conversation: &Conversation<'_>) -> bool {
    let contents = Contents::of(conversation);
    let is_declared = |message: &Message<'_>| {
        message.layout.as_deref().is_none_or(|layout| layout.content.is_none())
            || contents.unchanged(message).is_some()
    };
    functions(conversation) == conversation.tools && conversation.messages.iter().all(is_declared)
}

/// Adds the losses if this content becomes text.
pub(crate) fn lost(content: &Value<'_>, losses: &mut Vec<Loss>) {
    let parts = content.as_list().unwrap_or_default().iter();
    let declared = parts.filter(|part| parts::kind(part) != Some(parts::TEXT));
    losses.extend(declared.map(|part| Loss::new(None, part.span, Lost::DeclaredAsText)));
}

/// Whether the original content of the messages at these positions still matches them.
pub(crate) fn still_say(conversation: &Conversation<'_>, places: &[usize]) -> Vec<bool> {
    let contents = Contents::of(conversation);
    let messages = &conversation.messages;
    places.iter().map(|at| contents.unchanged(&messages[*at]).is_some()).collect()
}

/// The texts of the contents in a conversation. The text of the system depends on whether a
/// developer declares functions.
pub(crate) struct Contents {
    has_functions: bool,
}

impl Contents {
    pub(crate) fn of(conversation: &Conversation<'_>) -> Self {
        let has_functions = parts_of(conversation).any(|part| {
            parts::kind(part) == Some(parts::DEVELOPER) && developer(part).has_functions()
        });
        Self { has_functions }
    }

    /// Returns the original content of a message, if the message still matches it.
    pub(crate) fn unchanged<'m, 'a>(&self, message: &'m Message<'a>) -> Option<&'m Value<'a>> {
        let content = message.layout.as_deref().and_then(content_of)?;
        (message.body.text() == self.text(content)).then_some(content)
    }

    /// Returns the texts of a message's content in this style, if the message still matches it.
    pub(crate) fn texts_of(&self, message: &Message<'_>, style: Style) -> Option<Vec<String>> {
        Some(self.texts(self.unchanged(message)?, style).collect())
    }

    /// Returns the developer content of a message, if it is the whole content and the message still
    /// matches it.
    pub(crate) fn developer_of<'m>(
        &self,
        message: &'m Message<'_>,
    ) -> Option<DeveloperContent<'m>> {
        let [part] = self.unchanged(message)?.as_list()? else { return None };
        (parts::kind(part) == Some(parts::DEVELOPER)).then(|| developer(part))
    }

    /// Returns the text of content.
    fn text(&self, content: &Value<'_>) -> String {
        self.texts(content, Style::Documented).collect()
    }

    /// Returns the text of each content part.
    fn texts(&self, content: &Value<'_>, style: Style) -> impl Iterator<Item = String> {
        let parts = content.as_list().unwrap_or_default().iter();
        parts.map(move |part| match parts::kind(part) {
            Some(parts::SYSTEM) => system(part).text(self.has_functions, style),
            Some(parts::DEVELOPER) => developer(part).text(style),
            _ => part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        })
    }
}

fn word<'v>(value: &'v Value<'_>, key: &str) -> Option<Cow<'v, str>> {
    value.get(key).and_then(Value::as_spelling).map(Cow::Borrowed)
}

/// Reads system content. Missing fields have defaults, like in the Python package of the reference
/// library (its Rust package leaves them empty). Fields that are `null` are empty.
fn system<'v>(value: &'v Value<'_>) -> SystemContent<'v> {
    let usual = SystemContent::default();
    let word_or = |key, usual| if value.get(key).is_some() { word(value, key) } else { usual };
    let effort = word_or("reasoning_effort", usual.reasoning_effort.map(|it| it.as_str().into()));
    let (valid_channels, channel_required) = match value.get("channel_config") {
        None => (usual.valid_channels, usual.channel_required),
        Some(config) => {
            let valid = config.get("valid_channels").and_then(Value::as_list).unwrap_or_default();
            let valid = valid.iter().filter_map(|channel| channel.as_str().map(Cow::Borrowed));
            let required = config.get("channel_required").and_then(Value::as_bool);
            (valid.collect(), required.unwrap_or(false))
        }
    };
    SystemContent {
        model_identity: word_or("model_identity", usual.model_identity),
        knowledge_cutoff: word_or("knowledge_cutoff", usual.knowledge_cutoff),
        current_date: word(value, "conversation_start_date"),
        reasoning_effort: effort.and_then(|word| Effort::from_word(&word.to_ascii_lowercase())),
        valid_channels,
        channel_required,
        tools: namespaces(value),
    }
}

fn developer<'v>(value: &'v Value<'_>) -> DeveloperContent<'v> {
    let instructions = word(value, "instructions");
    DeveloperContent { instructions, tools: namespaces(value), response_formats: Vec::new() }
}

/// Reads the namespaces of tools, by name.
fn namespaces<'v>(value: &'v Value<'_>) -> Vec<Namespace<'v>> {
    let tools = value.get("tools").and_then(Value::as_map).unwrap_or_default();
    let mut namespaces: Vec<_> = tools
        .iter()
        .map(|(key, namespace)| Namespace {
            name: word(namespace, "name").unwrap_or(Cow::Borrowed(key)),
            description: word(namespace, "description"),
            tools: namespace
                .get("tools")
                .and_then(Value::as_list)
                .unwrap_or_default()
                .iter()
                .map(tool)
                .collect(),
        })
        .collect();
    namespaces.sort_by(|one, two| one.name.cmp(&two.name));
    namespaces
}

fn tool<'v>(value: &'v Value<'_>) -> Tool<'v> {
    let parameters = value.get("parameters").filter(|it| it.data != crate::Data::Null);
    Tool {
        name: word(value, "name").unwrap_or_default(),
        description: word(value, "description"),
        parameters: parameters.cloned(),
        ..Tool::default()
    }
}
