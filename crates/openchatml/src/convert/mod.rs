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
    let Prepared { document, losses, origins } = prepare(document, target);
    match render_adapted(&document, target, options) {
        Ok(output) => Ok(Conversion { output, losses }),
        Err(error) => Err(origins.place(error)),
    }
}

/// A document as a format carries it.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let mut question = Message::new(Role::User, "2 + 2?");
/// question.name = Some("Eric".into());
/// let document = Conversation::from_messages([question]).into();
/// let prepared = prepare(&document, "chatml".parse()?);
/// assert_eq!(prepared.document.as_conversation().unwrap().messages[0].name, None);
/// assert_eq!(prepared.losses[0].to_string(), "message 0: name dropped");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prepared<'d, 'a> {
    /// The document.
    pub document: Cow<'d, Document<'a>>,
    /// What of the original is not in it.
    pub losses: Vec<Loss>,
    /// Where its messages stand in the original.
    pub origins: Origins,
}

/// Where the messages of a document stand in another one that it was made of.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let messages = [Message::reasoning("Hm."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let origins = prepare(&document, "im".parse()?).origins; // It has no reasoning.
/// assert_eq!((origins.of(0), origins.of(1)), (Some(1), None));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// `None` if all of them stand where they stood.
    places: Option<Vec<Option<usize>>>,
}

impl Origins {
    /// Where the message at this place stood, if it did.
    pub fn of(&self, message: usize) -> Option<usize> {
        match &self.places {
            None => Some(message),
            Some(places) => places.get(message).copied().flatten(),
        }
    }

    /// The same error, at the place where its message stood.
    #[must_use]
    pub fn place(&self, mut error: RenderError) -> RenderError {
        error.message = error.message.and_then(|message| self.of(message));
        error
    }
}

/// The document as `target` carries it, with what `target` requires filled in, and what is lost.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let conversation = Conversation::from_messages([Message::new(Role::Assistant, "4.")]);
/// let document = conversation.into();
/// let prepared = prepare(&document, "harmony".parse()?);
/// assert!(prepared.losses.is_empty());
/// let message = &prepared.document.as_conversation().unwrap().messages[0];
/// assert_eq!(message.channel, Some(openchatml::Channel::Final)); // It must be on one.
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn prepare<'d, 'a>(document: &'d Document<'a>, target: Format) -> Prepared<'d, 'a> {
    let named = complete::name_replies(document, target);
    let declared = complete::declare_tools(named.as_ref().unwrap_or(document), target);
    let (declared, inserted) = declared.map_or((None, None), |(it, at)| (Some(it), at));
    let filled = declared.or(named);
    let from = filled.as_ref().unwrap_or(document);
    // A message that was put in has no place, and those behind it stood one before.
    let origin = |at: usize| match inserted {
        Some(new) if at == new => None,
        Some(new) if at > new => Some(at - 1),
        _ => Some(at),
    };
    let mut losses = Vec::new();
    let adapted = match from {
        Document::Conversation(it) => adapt::conversation(it, target.carries(), &mut losses),
        _ => None,
    };
    for loss in &mut losses {
        loss.message = loss.message.and_then(origin);
    }
    let count = from.as_conversation().map_or(0, |it| it.messages.len());
    let places = match &adapted {
        Some((_, kept)) => Some(kept.iter().map(|at| origin(*at)).collect()),
        None => inserted.map(|_| (0..count).map(origin).collect()),
    };
    let changed = adapted.map(|(it, _)| Document::Conversation(it)).or(filled);
    let completed = complete::complete(changed.as_ref().unwrap_or(document), target);
    let document = completed.or(changed).map_or(Cow::Borrowed(document), Cow::Owned);
    Prepared { document, losses, origins: Origins { places } }
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
    (adapted.map(|(adapted, _)| Document::Conversation(adapted)), losses)
}
