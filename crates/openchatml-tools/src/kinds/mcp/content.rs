//! The contents of a server's responses.

use openchatml::{Code, Limits, Value};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::exact_numbers::ExactNumbers;
use crate::{Failure, Outcome, Output};

/// Converts a result: its structured content, or its texts. Other content such as images, sounds
/// and files is only named in the text, so that the model knows about it.
pub(super) fn outcome(result: CallToolResult, exact_numbers: &ExactNumbers) -> Outcome {
    let is_text = |block: &ContentBlock| matches!(block, ContentBlock::Text(_));
    let is_all_text = result.content.iter().all(is_text);
    let structured =
        result.structured_content.map(|it| exact_numbers.restore(&it.to_string()).into_owned());
    let mut texts: Vec<String> = result.content.into_iter().map(text).collect();
    if result.is_error == Some(true) {
        texts.extend(structured.filter(|_| texts.is_empty()));
        return Err(Failure::new(texts.join("\n")));
    }
    match structured {
        None => Ok(Output::text(texts.join("\n"))),
        // Servers repeat structured content as text for older clients.
        Some(json) if is_all_text => {
            let value = Value::from_json(&json, &Limits::default());
            let value = value.map_err(|it| Failure::with_code(Code::ToolOutput, it.message))?;
            Ok(Output::json(value.into_owned()))
        }
        Some(json) => {
            texts.push(json);
            Ok(Output::text(texts.join("\n")))
        }
    }
}

fn text(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => named("image", &image.mime_type, "", image.data.len()),
        ContentBlock::Audio(audio) => named("audio", &audio.mime_type, "", audio.data.len()),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                named("resource", mime_type.as_deref().unwrap_or("data"), &uri, blob.len())
            }
            _ => "[resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let kind = link.mime_type.map(|kind| format!(", {kind}")).unwrap_or_default();
            format!("[link to {}: {}{kind}]", link.name, link.uri)
        }
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Returns the placeholder for binary data with this many Base64 characters.
fn named(what: &str, kind: &str, of: &str, letters: usize) -> String {
    let space = if of.is_empty() { "" } else { " " };
    format!("[{what}{space}{of}: {kind}, {} bytes omitted]", letters / 4 * 3)
}
