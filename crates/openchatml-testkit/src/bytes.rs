//! Conversations as ids of the smallest encoding: the ids of bytes are their values, and some
//! control tokens have ids from 256 on.

use openchatml::convert::{Weighed, prepare};
use openchatml::{Conversation, Document, Format, Parsed, ReadOptions, RenderError, RenderOptions};
use openchatml_tokens::{ByteEncoding, MaskPolicy, Tokenizer, Truncation};

/// Creates a tokenizer for a text format in which only these control tokens have ids.
fn tokenizer(format: Format, controls: &[String]) -> Tokenizer<ByteEncoding> {
    Tokenizer::new(format.text().expect("a text form"), ByteEncoding::new(controls))
}

/// Writes a document as ids.
///
/// # Errors
///
/// The format cannot represent the document.
pub fn ids(
    document: &Document<'_>,
    format: Format,
    controls: &[String],
) -> Result<Vec<u32>, RenderError> {
    let rendered = tokenizer(format, controls).render(document, &RenderOptions::default())?;
    Ok(rendered.ids)
}

/// Reads ids.
pub fn read(
    ids: &[u32],
    format: Format,
    controls: &[String],
    options: &ReadOptions,
) -> Parsed<'static> {
    tokenizer(format, controls).parse(ids, options).into_parsed()
}

/// Truncates a conversation to this number of ids, with a maximum for each message. `None` if this
/// is impossible.
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

/// A run of trained ids: their text, and their weight.
pub type Run = (String, f64);

/// Returns the trained runs of a sample in a text format, and the names of its losses.
///
/// # Errors
///
/// The format cannot represent the document.
pub fn sample(
    document: &Document<'_>,
    to: Format,
    controls: &[String],
    policy: &MaskPolicy,
) -> Result<(Vec<Run>, Vec<String>), RenderError> {
    let options = RenderOptions::default();
    let prepared = prepare(document, to, &options)?;
    let rendered = tokenizer(to, controls).render_prepared(&prepared, &options)?;
    let weighed = prepared.weighed(document);
    let nothing = Conversation::default();
    let conversation = match &weighed {
        Some(Weighed { conversation, .. }) => conversation,
        None => prepared.document.as_conversation().unwrap_or(&nothing),
    };
    let mask = policy.mask(conversation, &rendered);
    let weights = policy.weights(conversation, &rendered);
    let mut runs: Vec<(Vec<u8>, f64)> = Vec::new();
    let mut before = None;
    for ((id, trained), weight) in rendered.ids.iter().zip(mask).zip(weights) {
        let this = trained.then_some(weight);
        if this.is_some() && this != before {
            runs.push((Vec::new(), weight));
        }
        before = this;
        let Some((text, _)) = runs.last_mut().filter(|_| trained) else { continue };
        let control = usize::try_from(*id).ok().and_then(|id| controls.get(id.checked_sub(256)?));
        match (u8::try_from(*id), control) {
            (Ok(byte), _) => text.push(byte),
            (_, Some(control)) => text.extend_from_slice(control.as_bytes()),
            _ => unreachable!("no other id"),
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let runs = runs.into_iter().map(|(bytes, weight)| (text(bytes), weight)).collect();
    Ok((runs, prepared.losses.iter().map(ToString::to_string).collect()))
}
