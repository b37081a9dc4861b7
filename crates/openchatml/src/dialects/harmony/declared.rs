//! Declarations in the JSON of the reference library, and the text that they stand for.

use std::borrow::Cow;

use super::content::{DeveloperContent, Effort, FUNCTIONS, Namespace, SystemContent};
use crate::declare::Style;
use crate::model::{Body, Conversation, Message, Tool, Value};

/// The types of content.
pub(super) const KINDS: &[&str] = &["text", "system_content", "developer_content"];

/// Gives messages the text that their declarations stand for, and the conversation the functions
/// that they declare.
pub(super) fn declare(conversation: &mut Conversation<'_>) {
    let has_functions = has_functions(conversation);
    for message in &mut conversation.messages {
        let layout = message.layout.take();
        if let Some(content) = layout.as_deref().and_then(|layout| layout.content.as_ref()) {
            message.body = Body::from(text(content, has_functions, Style::Documented));
            message.body_at = 0;
        }
        message.layout = layout;
    }
    conversation.tools = functions(conversation).into_iter().map(Tool::into_owned).collect();
}

/// The functions that the developer declares.
fn functions<'c>(conversation: &'c Conversation<'_>) -> Vec<Tool<'c>> {
    let layouts = conversation.messages.iter().filter_map(|message| message.layout.as_deref());
    let contents = layouts.filter_map(|layout| layout.content.as_ref());
    let parts = contents.flat_map(|content| content.as_list().unwrap_or_default());
    let namespaces = parts.flat_map(namespaces).filter(|it| it.name == FUNCTIONS);
    namespaces.flat_map(|it| it.tools).collect()
}

/// Whether the tools of a conversation are those that its developer declares, and still does.
pub(crate) fn declares_tools(conversation: &Conversation<'_>) -> bool {
    let is_declared = |message: &Message<'_>| {
        let layout = message.layout.as_deref();
        layout.is_none_or(|layout| layout.content.is_none())
            || unchanged(message, conversation).is_some()
    };
    functions(conversation) == conversation.tools && conversation.messages.iter().all(is_declared)
}

/// The content that a message was declared by, if that is still what it says.
pub(super) fn unchanged<'m, 'a>(
    message: &'m Message<'a>,
    conversation: &Conversation<'_>,
) -> Option<&'m Value<'a>> {
    let layout = message.layout.as_deref()?;
    let content = layout.content.as_ref().filter(|_| layout.dialect == super::RULES.dialect)?;
    let said = text(content, has_functions(conversation), Style::Documented);
    (message.body.text() == said).then_some(content)
}

/// What the developer declares in a message, if that is all of it and the message still says that.
pub(super) fn developer_of<'m>(
    message: &'m Message<'_>,
    conversation: &Conversation<'_>,
) -> Option<DeveloperContent<'m>> {
    let [part] = unchanged(message, conversation)?.as_list()? else { return None };
    let kind = part.get("type").and_then(Value::as_str);
    (kind == Some("developer_content")).then(|| developer(part))
}

/// The texts that the content of a message stands for in this style, if it still says that.
pub(super) fn texts_of(
    message: &Message<'_>,
    conversation: &Conversation<'_>,
    style: Style,
) -> Option<Vec<String>> {
    let content = unchanged(message, conversation)?;
    Some(texts(content, has_functions(conversation), style).collect())
}

/// Whether a developer declares functions anywhere.
fn has_functions(conversation: &Conversation<'_>) -> bool {
    let layouts = conversation.messages.iter().filter_map(|message| message.layout.as_deref());
    let contents = layouts.filter_map(|layout| layout.content.as_ref());
    contents.flat_map(|content| content.as_list().unwrap_or_default()).any(|part| {
        part.get("type").and_then(Value::as_str) == Some("developer_content")
            && developer(part).has_functions()
    })
}

/// The text that content stands for.
fn text(content: &Value<'_>, has_functions: bool, style: Style) -> String {
    texts(content, has_functions, style).collect()
}

/// The text that each part of content stands for.
fn texts(content: &Value<'_>, has_functions: bool, style: Style) -> impl Iterator<Item = String> {
    let parts = content.as_list().unwrap_or_default().iter();
    parts.map(move |part| match part.get("type").and_then(Value::as_str) {
        Some("system_content") => system(part).text(has_functions, style),
        Some("developer_content") => developer(part).text(style),
        _ => part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
    })
}

fn word<'v>(value: &'v Value<'_>, key: &str) -> Option<Cow<'v, str>> {
    value.get(key).and_then(Value::as_spelling).map(Cow::Borrowed)
}

/// What is not said is as usual (as the reference library's Python package reads it, where its Rust
/// package has nothing); what is `null` is left out.
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

/// The namespaces of tools, by name.
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
