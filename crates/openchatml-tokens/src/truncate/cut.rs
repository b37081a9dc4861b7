//! Messages that are too long by themselves.

use openchatml::{Body, Conversation, Message, RenderError, RenderOptions, Role, Segment};

use super::Cut;
use crate::encoding::{Encoding, Token};
use crate::tokenizer::Tokenizer;

/// Cuts the text of messages whose bodies have more than `most` ids.
pub(super) fn cut<E: Encoding>(
    tokenizer: &Tokenizer<E>,
    conversation: &mut Conversation<'_>,
    options: &RenderOptions,
    most: Option<usize>,
) -> Result<Vec<Cut>, RenderError> {
    let Some(most) = most else { return Ok(Vec::new()) };
    let counted = tokenizer.count(&conversation.clone().into(), options)?;
    let mut cuts = Vec::new();
    for span in counted.spans {
        let ids = span.body.len();
        let Some(message) = conversation.messages.get_mut(span.message) else { continue };
        if ids > most && may_be_cut(message) {
            cut_body(tokenizer.encoding(), message, most);
            // How many are left shows when it is written.
            cuts.push(Cut { message: span.message, ids, left: 0 });
        }
    }
    Ok(cuts)
}

/// What must be of a form is no longer of that form when it is cut.
fn may_be_cut(message: &Message<'_>) -> bool {
    let is_json = message.content_type.as_deref().is_some_and(|of| of.contains("json"));
    let is_told_by_system = matches!(message.role, Role::System | Role::Developer);
    let declares_tools = is_told_by_system && message.body.text().lines().any(|it| it == "# Tools");
    !message.is_call() && !message.constrained && !is_json && !declares_tools
}

/// Keeps what of the body fits into so many ids.
fn cut_body(encoding: &impl Encoding, message: &mut Message<'_>, most: usize) {
    let text = message.body.text();
    let mut ids = Vec::new();
    encoding.encode(&text, &mut ids);
    // What stands behind may change how the last ids are written, so that a cut text can have more.
    let mut kept = most.min(ids.len());
    loop {
        let bytes: usize = ids[..kept].iter().map(|id| length(encoding, *id)).sum();
        let end = text.floor_char_boundary(bytes);
        if kept == 0 || encoding.count(&text[..end]) <= most {
            message.body = first(&message.body, end);
            return;
        }
        kept -= 1;
    }
}

fn length(encoding: &impl Encoding, id: u32) -> usize {
    match encoding.token(id) {
        Some(Token::Text(text) | Token::Control(text)) => text.len(),
        Some(Token::Bytes(bytes)) => bytes.len(),
        None => 0,
    }
}

/// The first bytes of a body.
fn first(body: &Body<'_>, bytes: usize) -> Body<'static> {
    let mut left = bytes;
    let mut cut = |text: &str| {
        let text = &text[..text.floor_char_boundary(left)];
        left -= text.len();
        text.to_owned()
    };
    let segments = body.segments().map(|segment| match segment {
        Segment::Text(text) => Segment::Text(cut(&text).into()),
        Segment::Literal(text) => Segment::Literal(cut(&text).into()),
        Segment::Marker(marker) => Segment::Marker(marker),
    });
    Body::from_segments(segments.collect::<Vec<_>>())
}
