//! Writing canonical JSON.

use std::fmt::Write as _;

use crate::document::{write_header, write_message, write_string_field, write_tool};
use crate::json::write_string;
use crate::model::{
    Content, Conversation, Document, End, Infill, InfillOrder, Message, Pair, Part, Shape,
};
use crate::options::RenderOptions;
use crate::writing::RenderError;

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let mut out = String::new();
    match document {
        Document::Conversation(conversation) => {
            out.reserve(conversation.messages.iter().map(|m| m.body.len() + 96).sum());
            write_conversation(&mut out, conversation, options);
        }
        Document::Infill(infill) => write_infill(&mut out, infill),
        Document::Files(parts) => {
            out.push_str(r#"{"files":["#);
            for (index, part) in parts.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_part(&mut out, part, options);
            }
            out.push_str("]}");
        }
        Document::Pair(pair) => out = write_pair(pair, options),
    }
    Ok(out)
}

pub(super) fn write_pair(pair: &Pair<'_>, options: &RenderOptions) -> String {
    let mut out = String::from(r#"{"chosen":"#);
    write_conversation(&mut out, &pair.chosen, options);
    out.push_str(r#","rejected":"#);
    write_conversation(&mut out, &pair.rejected, options);
    out.push('}');
    out
}

fn write_part(out: &mut String, part: &Part<'_>, options: &RenderOptions) {
    match &part.content {
        Content::Text(text) => write_string(out, text),
        Content::Infill(infill) => write_infill(out, infill),
        Content::Conversation(conversation) => write_conversation(out, conversation, options),
    }
}

fn write_infill(out: &mut String, infill: &Infill<'_>) {
    out.push_str(r#"{"infill":{"prefix":"#);
    write_string(out, &infill.prefix);
    write_string_field(out, "suffix", Some(&infill.suffix));
    write_string_field(out, "middle", infill.middle.as_deref());
    let order = Some(infill.order).filter(|order| *order != InfillOrder::default());
    write_string_field(out, "order", order.map(InfillOrder::as_str));
    out.push_str("}}");
}

fn write_conversation(out: &mut String, conversation: &Conversation<'_>, options: &RenderOptions) {
    let is_bare = conversation.header.is_none()
        && conversation.tools.is_empty()
        && options.generation_prompt.is_none()
        && !options.continue_final;
    if let [message] = conversation.messages.as_slice()
        && is_bare
        && conversation.shape(super::FORM) == Shape::Message
    {
        return whole_message(out, message, options);
    }
    out.push('{');
    if let Some(header) = &conversation.header {
        write_header(out, header);
        out.push(',');
    }
    if !conversation.tools.is_empty() {
        out.push_str(r#""tools":["#);
        for (index, tool) in conversation.tools.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            write_tool(out, tool);
        }
        out.push_str("],");
    }
    out.push_str(r#""messages":["#);
    let prompt = options.generation_prompt.map(|role| {
        let mut prompt = Message::new(role, "");
        prompt.end = End::Prompt;
        prompt
    });
    let last = conversation.messages.len();
    for (index, one) in conversation.messages.iter().chain(&prompt).enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        if options.continue_final && index + 1 == last && prompt.is_none() {
            let mut open = one.clone();
            open.end = End::Open;
            whole_message(out, &open, options);
        } else {
            whole_message(out, one, options);
        }
    }
    out.push_str("]}");
}

fn whole_message(out: &mut String, message: &Message<'_>, options: &RenderOptions) {
    write_message(out, message);
    let Some(ids) = message.ids().filter(|_| options.ids) else { return };
    out.pop();
    out.push_str(",\"ids\":[");
    for (index, id) in ids.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        let _ = write!(out, "{id}");
    }
    out.push_str("]}");
}
