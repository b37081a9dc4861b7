//! From one format to another, with what is lost on the way.
//!
//! Conversion never makes hidden text visible and never gives a message more authority than it
//! had, with one named exception: where there is no `developer`, it becomes `system`.

mod adapt;
mod carries;
mod complete;
mod loss;

pub use self::carries::{Carries, Channels, Intents};
pub use self::loss::{Loss, Lost};

use std::borrow::Cow;

use crate::dialects::Format;
use crate::model::Document;
use crate::render::{RenderError, RenderOptions, render_adapted};

/// What a conversion gives.
///
/// ```
/// use openchatml::convert::{self, Conversion};
/// use openchatml::{Conversation, Message, RenderOptions};
///
/// let messages = [Message::reasoning("Easy."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let options = RenderOptions::default();
/// let Conversion { output, losses } = convert::convert(&document, "im".parse()?, &options)?;
/// assert_eq!(output, "<|im_start|>assistant\n4.<|im_end|>\n");
/// assert_eq!(losses.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The document in the target format.
    pub output: String,
    /// What the target format could not carry, in the order of the document.
    pub losses: Vec<Loss>,
}

/// Writes `document` in `target`, leaving out what that format cannot carry and naming it.
///
/// # Errors
///
/// What no leaving out can help: content that spells a control token where there is no escape,
/// values that a header cannot hold, a kind of document that the format does not have.
///
/// ```
/// use openchatml::{RenderOptions, convert, parse};
///
/// let text = "version: 2.2\n\n\
///     <|start|>developer<|message|>Be brief.<|end|>\n\
///     <|start|>user<|message|>What is 2 + 2?<|end|>\n\
///     <|start|>assistant<|channel|>analysis<|message|>Easy.<|end|>\n\
///     <|start|>assistant<|channel|>final<|message|>4.<|end|>\n";
/// let document = parse(text, "openchatml-2.2".parse()?, &Default::default()).document;
/// let converted = convert::convert(&document, "im".parse()?, &RenderOptions::default())?;
/// assert_eq!(
///     converted.output,
///     "<|im_start|>system\nBe brief.<|im_end|>\n\
///      <|im_start|>user\nWhat is 2 + 2?<|im_end|>\n\
///      <|im_start|>assistant\n4.<|im_end|>\n",
/// );
/// let losses: Vec<_> = converted.losses.iter().map(ToString::to_string).collect();
/// assert_eq!(
///     losses,
///     ["header dropped", "message 0: developer merged into system", "message 2: analysis dropped"],
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    document: &Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Conversion, RenderError> {
    let (whole, losses) = prepare(document, target);
    Ok(Conversion { output: render_adapted(&whole, target, options)?, losses })
}

/// The document as `target` carries it, with what `target` requires filled in, and what is lost.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let conversation = Conversation::from_messages([Message::new(Role::Assistant, "4.")]);
/// let document = conversation.into();
/// let (prepared, losses) = prepare(&document, "harmony".parse()?);
/// assert!(losses.is_empty());
/// let message = &prepared.as_conversation().unwrap().messages[0];
/// assert_eq!(message.channel, Some(openchatml::Channel::Final)); // It must be on one.
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn prepare<'d, 'a>(
    document: &'d Document<'a>,
    target: Format,
) -> (Cow<'d, Document<'a>>, Vec<Loss>) {
    let named = complete::name_replies(document, target);
    let (adapted, losses) = adapt(named.as_ref().unwrap_or(document), target);
    let changed = adapted.or(named);
    let completed = complete::complete(changed.as_ref().unwrap_or(document), target);
    (completed.or(changed).map_or(Cow::Borrowed(document), Cow::Owned), losses)
}

/// What of `document` the target can carry, and what it cannot. `None` if it can carry all.
///
/// ```
/// use openchatml::{Conversation, Message, Role, convert};
///
/// let mut message = Message::new(Role::User, "Hi.");
/// message.name = Some("Eric".into());
/// let document = Conversation::from_messages([message]).into();
/// let (adapted, losses) = convert::adapt(&document, "chatml".parse()?);
/// assert_eq!(losses[0].lost.as_str(), "name dropped");
/// assert_eq!(adapted.unwrap().into_conversation().messages[0].name, None);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn adapt<'a>(document: &Document<'a>, target: Format) -> (Option<Document<'a>>, Vec<Loss>) {
    let mut losses = Vec::new();
    let Document::Conversation(conversation) = document else { return (None, losses) };
    let adapted = adapt::conversation(conversation, target.carries(), &mut losses);
    (adapted.map(Document::Conversation), losses)
}
