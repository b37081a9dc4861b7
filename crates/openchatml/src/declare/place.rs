//! Where a format declares tools.

use super::Style;
use super::namespace::{FUNCTIONS, Namespace, tools_section};
use crate::json::{Data, Value, python};
use crate::model::{Body, Conversation, Message, Role, Tool};

/// The place of declarations in conversations of a format.
///
/// ```
/// use openchatml::declare::{Namespace, ToolPlace};
/// use openchatml::{Conversation, Role, Tool, dialects};
///
/// assert_eq!(dialects::CHATML.tools, ToolPlace::Json(Role::System));
/// let mut conversation = Conversation::default();
/// let tool = Tool::new("now");
/// dialects::CHATML.tools.declare(&mut conversation, vec![Namespace::functions(vec![tool])]);
/// let text = conversation.messages[0].body.text();
/// assert_eq!(text, "# Tools\n\n[{\"type\":\"function\",\"function\":{\"name\":\"now\"}}]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolPlace {
    /// In the [`tools`](Conversation::tools) of the conversation, which the format writes in its
    /// own way.
    Conversation,
    /// In the message of this role, as TypeScript types.
    Types(Role),
    /// In the message of this role, as JSON.
    Json(Role),
}

impl ToolPlace {
    /// Declares tools in a conversation. Repeated declarations change nothing. The tools of a
    /// conversation can only have the namespace `functions`; other namespaces are dropped there.
    /// Returns the position of a message that was added.
    pub fn declare(
        self,
        conversation: &mut Conversation<'_>,
        tools: Vec<Namespace<'static>>,
    ) -> Option<usize> {
        match self {
            Self::Conversation => {
                let own = tools.into_iter().filter(|it| it.name == FUNCTIONS);
                let own: Vec<_> = own.flat_map(|it| it.tools).collect();
                conversation.tools.retain(|it| own.iter().all(|tool| tool.name != it.name));
                conversation.tools.extend(own);
                None
            }
            _ => self.say(conversation, tools, Style::Documented),
        }
    }

    /// Declares tools as text, in a style. Repeated declarations change nothing. Returns the
    /// position of a message that was added.
    pub(crate) fn say(
        self,
        conversation: &mut Conversation<'_>,
        tools: Vec<Namespace<'_>>,
        style: Style,
    ) -> Option<usize> {
        let (role, section) = match self {
            Self::Conversation => return None,
            Self::Types(role) => (role, tools_section(&tools, style).unwrap_or_default()),
            Self::Json(role) => (role, json(tools)),
        };
        let messages = &mut conversation.messages;
        let says = |it: &Message<'_>| it.role == role && it.body.text().contains(&section);
        if section.is_empty() || messages.iter().any(says) {
            return None;
        }
        match messages.iter_mut().find(|message| message.role == role) {
            Some(message) if message.body.is_empty() => message.body = Body::from(section),
            Some(message) => {
                let text = format!("{}\n\n{section}", message.body.text());
                message.body = Body::from(text);
            }
            None => {
                let is_system = |message: &&Message<'_>| message.role == Role::System;
                let at = messages.iter().take_while(is_system).count();
                messages.insert(at, Message::new(role, section));
                return Some(at);
            }
        }
        None
    }
}

/// Writes tools as JSON, under a heading.
fn json<'a>(namespaces: Vec<Namespace<'a>>) -> String {
    let all = namespaces.into_iter().flat_map(|Namespace { name, tools, .. }| {
        let named = move |tool: Tool<'a>| match name == FUNCTIONS {
            true => tool,
            false => Tool { name: format!("{name}.{}", tool.name).into(), ..tool },
        };
        tools.into_iter().map(named)
    });
    let all: Vec<_> = all.map(function).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("# Tools\n\n{}", Value::from(Data::List(all)).to_json()),
    }
}

/// Returns a declaration in the form of Chat Completions functions, with all fields.
pub(crate) fn whole_function(tool: &Tool<'_>) -> Value<'static> {
    let mut value = function(tool.clone().into_owned());
    if let Data::Map(entries) = &mut value.data
        && let Some((_, Value { data: Data::Map(function), .. })) = entries.last_mut()
    {
        let extra = tool.extra.iter();
        function.extend(
            extra.map(|(key, it)| (key.clone().into_owned().into(), it.clone().into_owned())),
        );
    }
    value
}

/// Returns a list of declarations as Python writes it. Each has a description and parameters, even if
/// the tool has none, and no additional fields.
pub(crate) fn full_functions(tools: &[Tool<'_>]) -> String {
    let full = |tool: &Tool<'_>| {
        let mut tool = tool.clone().into_owned();
        tool.description.get_or_insert_default();
        tool.parameters.get_or_insert_with(|| Data::Map(Vec::new()).into());
        function(tool)
    };
    let mut text = String::new();
    python::to_json(&mut text, &Data::List(tools.iter().map(full).collect()).into());
    text
}

/// Returns a declaration in the form of Chat Completions functions.
fn function(tool: Tool<'_>) -> Value<'_> {
    let mut function = vec![("name".into(), Value::from(tool.name.into_owned()))];
    let description = tool.description.map(|it| Value::from(it.into_owned()));
    function.extend(description.map(|it| ("description".into(), it)));
    function.extend(tool.parameters.map(|it| ("parameters".into(), it)));
    let fields =
        [("type".into(), "function".into()), ("function".into(), Data::Map(function).into())];
    Data::Map(fields.into()).into()
}
