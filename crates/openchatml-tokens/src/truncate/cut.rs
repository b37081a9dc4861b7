//! Cuts single messages that are too long.

use openchatml::{Body, Conversation, Message, Role, Segment};

use super::{Cut, Sizes};
use crate::encoding::{Encoding, Token};

/// Cuts the text of messages whose bodies have more than `most` ids.
pub(super) fn cut(
    encoding: &impl Encoding,
    conversation: &mut Conversation<'_>,
    sizes: &Sizes,
    most: Option<usize>,
) -> Vec<Cut> {
    let Some(most) = most else { return Vec::new() };
    let mut cuts = Vec::new();
    for (at, (message, ids)) in conversation.messages.iter_mut().zip(&sizes.bodies).enumerate() {
        if *ids > most && may_be_cut(message) {
            cut_body(encoding, message, most);
            // The remaining number is set after the next rendering.
            cuts.push(Cut { message: at, ids: *ids, left: 0 });
        }
    }
    cuts
}

/// Whether the text of a message may be cut. Structured content such as JSON would become invalid.
fn may_be_cut(message: &Message<'_>) -> bool {
    let is_json = message.content_type.as_deref().is_some_and(|of| of.contains("json"));
    let is_told_by_system = matches!(message.role, Role::System | Role::Developer);
    let declares_tools = is_told_by_system && message.body.text().lines().any(|it| it == "# Tools");
    !message.is_call() && !message.constrained && !is_json && !declares_tools
}

/// Cuts the body to at most this many ids.
fn cut_body(encoding: &impl Encoding, message: &mut Message<'_>, most: usize) {
    let text = message.body.text();
    let mut ids = Vec::new();
    encoding.encode(&text, &mut ids);
    // The end of a text can be encoded differently after a cut, so the cut text can have more ids.
    let mut kept = most.min(ids.len());
    loop {
        let bytes: usize = ids[..kept].iter().map(|id| length(encoding, *id)).sum();
        let end = text.floor_char_boundary(bytes);
        let excess = encoding.count(&text[..end]).saturating_sub(most);
        if kept == 0 || excess == 0 {
            message.body = first(&message.body, end);
            return;
        }
        kept = kept.saturating_sub(excess);
    }
}

fn length(encoding: &impl Encoding, id: u32) -> usize {
    match encoding.token(id) {
        Some(Token::Text(text) | Token::Control(text)) => text.len(),
        Some(Token::Bytes(bytes)) => bytes.len(),
        None => 0,
    }
}

/// Returns the first bytes of a body.
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
