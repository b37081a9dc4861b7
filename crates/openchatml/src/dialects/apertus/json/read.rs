//! Reads messages JSON.

use super::super::{RULES, declare};
use super::ORIGIN;
use super::template::TemplateState;
use crate::Code;
use crate::document::{DocumentReader, Root};
use crate::json::{Json, JsonError};
use crate::model::{Conversation, DocumentLayout, Message, Role, Tool};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::Declared;

type Result<T> = std::result::Result<T, JsonError>;

pub(crate) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut conversation = Conversation { origin: ORIGIN, ..Conversation::default() };
    let mut template = TemplateState::new();
    let mut thinking = None;
    let messages = &mut conversation.messages;
    let tools = &mut conversation.tools;
    let root = Root::of(&mut json, &["role"], &["messages"]);
    let read = match root {
        Root::List => reader.messages(&mut json, messages, |reader, json, messages| {
            template.message(reader, json, messages)
        }),
        Root::Message => reader.message(&mut json, messages, |reader, json, messages| {
            template.message(reader, json, messages)
        }),
        Root::Object => {
            let start = json.offset();
            let mut has_messages = false;
            let keys = ["messages", "tools", "enable_thinking"];
            let read = reader.object(&mut json, &keys, |reader, json, key| match key {
                "messages" => {
                    has_messages = true;
                    reader.messages(json, messages, |reader, json, messages| {
                        template.message(reader, json, messages)
                    })
                }
                "tools" => self::tools(reader, json, tools),
                _ => {
                    thinking = Some(reader.boolean(json)?);
                    Ok(())
                }
            });
            if read.is_ok() && !has_messages {
                reader.lacks("the object has no `messages`", start);
            }
            read.map(|_| ())
        }
        Root::Other => reader.no_conversation(&mut json),
    };
    if let Some(tail) = template.finish(messages) {
        let around = DocumentLayout::around(RULES.form, None, Some(tail));
        conversation.layout = around;
    }
    conversation.set_shape(RULES.form, root.shape());
    if let Some(thinking) = thinking {
        deliberate(&mut conversation, thinking);
    }
    reader.finish(json, read, conversation.into(), |_| Some(&super::super::TEXT.checks))
}

/// Adds the developer message that says whether the model deliberates, at its position in the text
/// form.
fn deliberate(conversation: &mut Conversation<'_>, thinking: bool) {
    let engine = declare::Engine::Documented;
    let tools = &conversation.tools;
    let section = declare::section(thinking, tools, engine, &mut Vec::new());
    let Ok(text) = section else { return };
    let is_system = |message: &&Message<'_>| message.role == Role::System;
    let at = conversation.messages.iter().take_while(is_system).count();
    conversation.messages.insert(at, Message::new(Role::Developer, text));
}

/// Reads tools, each as a function or in the form of OpenAI.
fn tools<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    tools: &mut Vec<Tool<'a>>,
) -> Result<()> {
    if json.peek() == Some(b'"') {
        return reader.wrong(json, "an array");
    }
    let mut declared = Declared::default();
    declared.read(reader, json)?;
    tools.append(&mut declared.functions);
    for tool in declared.hosted {
        let found = Code::ParseJson.at(tool.span, "a tool must be a function");
        reader.drop_item(found.help("this format has no other tools; it will be dropped"));
    }
    Ok(())
}
