//! Reading messages JSON.

use super::super::{RULES, declare};
use super::ORIGIN;
use super::scene::Scene;
use crate::dialects::function_of;
use crate::json::{Json, JsonError, Sheet};
use crate::model::{Conversation, DocumentLayout, Message, Role, Tool};
use crate::read::{Parsed, ReadOptions};

type Result<T> = std::result::Result<T, JsonError>;

pub(crate) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut sheet = Sheet::new(options);
    let mut json = sheet.json(text);
    let mut conversation = Conversation { origin: ORIGIN, ..Conversation::default() };
    let mut scene = Scene::new();
    let mut thinking = None;
    let messages = &mut conversation.messages;
    let tools = &mut conversation.tools;
    let read = match json.peek() {
        Some(b'{') => {
            let keys = ["messages", "tools", "enable_thinking"];
            let read = sheet.object(&mut json, &keys, |sheet, json, key| match key {
                "messages" => sheet.messages(json, messages, |sheet, json, messages| {
                    scene.message(sheet, json, messages)
                }),
                "tools" => self::tools(sheet, json, tools),
                _ => {
                    thinking = Some(sheet.boolean(json)?);
                    Ok(())
                }
            });
            read.map(|_| ())
        }
        _ => sheet.messages(&mut json, messages, |sheet, json, messages| {
            scene.message(sheet, json, messages)
        }),
    };
    if let Some(tail) = scene.finish(messages) {
        let around = DocumentLayout::around(RULES.dialect, None, Some(tail.into()));
        conversation.layout = around;
    }
    if let Some(thinking) = thinking {
        deliberate(&mut conversation, thinking);
    }
    sheet.finish(json, read, conversation.into(), |_| Some(&super::super::BOOK))
}

/// Says whether the model deliberates where the text form says it.
fn deliberate(conversation: &mut Conversation<'_>, thinking: bool) {
    let engine = declare::Engine::Reference;
    let tools = &conversation.tools;
    let section = declare::section(thinking, tools, engine, &mut Vec::new());
    let Ok(text) = section else { return };
    let is_system = |message: &&Message<'_>| message.role == Role::System;
    let at = conversation.messages.iter().take_while(is_system).count();
    conversation.messages.insert(at, Message::new(Role::Developer, text));
}

/// Reads tools, each as a function or in the shape of OpenAI's.
fn tools<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>, tools: &mut Vec<Tool<'a>>) -> Result<()> {
    sheet.array(json, |sheet, json| {
        if json.peek() != Some(b'{') {
            return sheet.wrong(json, "an object");
        }
        let value = json.value()?;
        let inner = value.get("function").filter(|it| it.as_map().is_some()).cloned();
        tools.extend(function_of(sheet, inner.unwrap_or(value)));
        Ok(())
    })
}
