//! Conversations as ids of the smallest encoding that there is: an id for each byte, which is its
//! value, and one for each of some control tokens, from 256 on.

use openchatml::{Conversation, Document, Format, Parsed, ReadOptions, RenderError, RenderOptions};
use openchatml_tokens::{ByteEncoding, Tokenizer, Truncation};

/// The tokenizer of a text format whose control tokens with an id of their own are these.
fn tokenizer(format: Format, controls: &[String]) -> Tokenizer<ByteEncoding> {
    Tokenizer::new(format, ByteEncoding::new(controls)).expect("a text format")
}

/// A document as ids.
///
/// # Errors
///
/// What the format cannot say.
pub fn ids(
    document: &Document<'_>,
    format: Format,
    controls: &[String],
) -> Result<Vec<u32>, RenderError> {
    let rendered = tokenizer(format, controls).render(document, &RenderOptions::default())?;
    Ok(rendered.ids)
}

/// What ids say.
pub fn read(
    ids: &[u32],
    format: Format,
    controls: &[String],
    options: &ReadOptions,
) -> Parsed<'static> {
    tokenizer(format, controls).parse(ids, options).into_parsed()
}

/// What is left of a conversation that has to fit into so many ids, with so many for a message at
/// most. `None` if it cannot.
pub fn truncated<'a>(
    conversation: &Conversation<'a>,
    format: Format,
    controls: &[String],
    (budget, message): (usize, Option<usize>),
) -> Option<Conversation<'a>> {
    let mut truncation = Truncation::new(budget);
    truncation.message = message.or(truncation.message);
    let tokenizer = tokenizer(format, controls);
    let options = RenderOptions::default();
    Some(truncation.truncate(&tokenizer, conversation, &options).ok()?.conversation)
}
