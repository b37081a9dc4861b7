//! Converts between formats, and reports what is lost.
//!
//! A conversion never makes hidden text visible and never gives a message more authority than it
//! had, with one exception that is reported by name: in a format without `developer`, such a
//! message becomes `system`.

mod adapt;
mod beyond;
mod context;
mod fill;
mod pair;
mod replies;
mod sidecar;

pub(crate) use self::beyond::losses as losses_beyond;
pub(crate) use self::context::lose as lose_context;
pub use self::pair::join_losses;
pub(crate) use self::pair::sides_of;
pub use self::sidecar::{OtherConversation, Sidecar};
use crate::rules::{self, ConversationRule, Join};
pub use crate::rules::{
    Carries, Channels, Intents, Loss, Lost, Markers, Origins, Prepared, Weighed,
};

use std::borrow::Cow;
use std::collections::HashSet;

use self::fill::{Filled, Step};
use crate::dialect::{Carrier, Format};
use crate::dialects;
use crate::model::{Conversation, Document, Message, Tool};
use crate::options::{ReadOptions, RenderOptions};
use crate::parse::parse;
use crate::writing::RenderError;

/// The result of a conversion.
///
/// ```
/// use openchatml::convert::{self, Conversion};
/// use openchatml::{Conversation, Message, RenderOptions};
///
/// let messages = [Message::reasoning("Easy."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let options = RenderOptions::default();
/// let Conversion { output, losses, .. } = convert::convert(&document, "chatml".parse()?, &options)?;
/// assert_eq!(output, "<|im_start|>assistant\n4.<|im_end|>\n");
/// assert_eq!(losses.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversion {
    /// The document in the target format.
    pub output: String,
    /// What the target format cannot express, in the order of the document.
    pub losses: Vec<Loss>,
}

/// Writes `document` in the format `target`. It drops what the format cannot express, and reports
/// each loss.
///
/// # Errors
///
/// The conversion fails if dropping does not help: content contains a control token that cannot be
/// escaped, a header value contains characters that are not allowed, or the format does not support
/// this kind of document.
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
/// let converted = convert::convert(&document, "chatml".parse()?, &RenderOptions::default())?;
/// assert_eq!(
///     converted.output,
///     "<|im_start|>system\nBe brief.<|im_end|>\n\
///      <|im_start|>user\nWhat is 2 + 2?<|im_end|>\n\
///      <|im_start|>assistant\n4.<|im_end|>\n",
/// );
/// let losses: Vec<_> = converted.losses.iter().map(ToString::to_string).collect();
/// assert_eq!(
///     losses,
///     ["message 0: developer merged into system", "message 2: analysis dropped"],
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    document: &Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Conversion, RenderError> {
    let Prepared { document: prepared, mut losses, origins } = prepare(document, target, options)?;
    let written = target.write(&prepared, options);
    let output = written.map_err(|error| origins.place(error))?;
    if losses.iter().any(is_of_marks) {
        let (again, origins) = read_again(&prepared, &output, target, &origins);
        forget_kept_marks(document, &again, &origins, &mut losses);
    }
    Ok(Conversion { output, losses })
}

/// Returns the output as it is read again, and the original positions of its messages.
fn read_again<'o>(
    prepared: &Document<'_>,
    output: &'o str,
    target: Format,
    origins: &Origins,
) -> (Conversation<'o>, Origins) {
    let read = ReadOptions { open_prompt: true, ..ReadOptions::default() };
    let again = parse(output, target, &read).into_conversation();
    let written = prepared.as_conversation().map_or(&[][..], |it| &it.messages);
    let origins = origins.read_again(written, &again.messages);
    (again, origins)
}

/// Whether the loss is that of a mark which the reader set on a malformed message.
fn is_of_marks(loss: &Loss) -> bool {
    matches!(loss.lost, Lost::Unread | Lost::Recovered)
}

/// Removes the losses of marks that the output still has when it is read again, because a malformed
/// header was written unchanged.
fn forget_kept_marks(
    document: &Document<'_>,
    again: &Conversation<'_>,
    origins: &Origins,
    losses: &mut Vec<Loss>,
) {
    let original = document.as_conversation().map_or(&[][..], |it| &it.messages);
    let marks = |message: &Message<'_>| (message.recovered, message.unread.clone());
    let is_kept = |(at, message): (usize, &Message<'_>)| {
        let from = origins.of(at)?;
        (marks(original.get(from)?) == marks(message)).then_some(from)
    };
    let kept: HashSet<_> = again.messages.iter().enumerate().filter_map(is_kept).collect();
    losses.retain(|loss| !(is_of_marks(loss) && loss.message.is_some_and(|at| kept.contains(&at))));
}

/// Like [`convert`], but keeps what the target format cannot express in a [`Sidecar`]. The result
/// reports only losses that the sidecar cannot hold.
///
/// To find what the output expresses, this reads the output again. It takes the time and memory of
/// a conversion and of a [`parse`] of its output.
///
/// # Errors
///
/// The same as [`convert`].
///
/// ```
/// use openchatml::convert::convert_with_sidecar;
/// use openchatml::{Conversation, Message, Role, parse};
///
/// let mut status = Message::reasoning("Looking it up.");
/// status.intent = Some(openchatml::Intent::Status);
/// let original = Conversation::from_messages([status]);
/// let harmony = "harmony".parse()?;
/// let (converted, sidecar) =
///     convert_with_sidecar(&original.clone().into(), harmony, &Default::default())?;
/// assert_eq!(converted.losses, []);
/// let mut read = parse(&converted.output, harmony, &Default::default()).into_conversation();
/// assert_eq!(read.messages[0].intent, None);
/// sidecar.restore(&mut read)?;
/// assert_eq!(read.messages, original.messages);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_with_sidecar(
    document: &Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<(Conversion, Sidecar), RenderError> {
    let prepared = prepare(document, target, options)?;
    let origins = prepared.origins;
    let written = target.write(&prepared.document, options);
    let output = written.map_err(|error| origins.place(error))?;
    let mut conversion = Conversion { output, losses: prepared.losses };
    let nothing = Conversation::default();
    let original = document.as_conversation().unwrap_or(&nothing);
    let (carried, origins) = read_again(&prepared.document, &conversion.output, target, &origins);
    let sidecar = Sidecar::between(original, &carried, &origins);
    conversion.losses.retain(|loss| !sidecar.holds(loss));
    forget_kept_marks(document, &carried, &origins, &mut conversion.losses);
    Ok((conversion, sidecar))
}

/// Prepares the document for `target`: adapts it to what the format can express, and adds what the
/// format requires and what `options` request. Also returns the losses.
///
/// # Errors
///
/// The template of [`Profile::HfTemplate`](crate::options::Profile) cannot write the document.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let conversation = Conversation::from_messages([Message::new(Role::Assistant, "4.")]);
/// let document = conversation.into();
/// let prepared = prepare(&document, "harmony".parse()?, &Default::default())?;
/// assert!(prepared.losses.is_empty());
/// let message = &prepared.document.as_conversation().unwrap().messages[0];
/// assert_eq!(message.channel, Some(openchatml::Channel::Final)); // Harmony requires a channel.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Prepared<'d>, RenderError> {
    if let Document::Pair(pair) = document {
        return pair::of_pair(pair, target, options);
    }
    let mut prepared = prepare_side(document, target, options)?;
    let context = context::lose(&mut prepared.document, target);
    prepared.origins.add_placed(context, &mut prepared.losses);
    Ok(prepared)
}

/// Prepares a document that is one conversation, or a side of a pair.
fn prepare_side<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Prepared<'d>, RenderError> {
    if let Some(prepared) = by_template(document, target, options) {
        return prepared.map(|(mut prepared, mut remarks)| {
            prepared.losses.append(&mut remarks);
            beyond::lose(document, Some(target), &mut prepared.losses);
            let Prepared { document, losses, origins } = &mut prepared;
            changed_in_writing(document, origins, target, options, losses);
            prepared
        });
    }
    if let Some(conversation) = document.as_conversation()
        && target.carries().declared_tools
    {
        RenderError::of_tools(&conversation.tools).map_or(Ok(()), Err)?;
    }
    let mut draft = Draft::of(document, target);
    draft.require(rules::NAMES);
    draft.order_replies();
    draft.fill(options, &[fill::open, fill::declare, fill::ask]);
    draft.adapt();
    draft.require(rules::REQUIRED);
    let Draft { document: mut prepared, mut losses, origins, .. } = draft;
    if beyond::lose(document, Some(target), &mut losses) {
        beyond::forget(prepared.to_mut(), target);
    }
    changed_in_writing(&prepared, &origins, target, options, &mut losses);
    if let Some(conversation) = prepared.as_conversation() {
        origins.add_placed(beyond::unaccepted(conversation, target), &mut losses);
    }
    if loses_comments(document, &prepared, target) {
        losses.insert(0, Loss::of_document(Lost::Comments));
    }
    Ok(Prepared { document: prepared, losses, origins })
}

/// Adds the changes that the writer makes to a prepared document.
fn changed_in_writing(
    prepared: &Document<'_>,
    origins: &Origins,
    target: Format,
    options: &RenderOptions,
    losses: &mut Vec<Loss>,
) {
    origins.add_placed(fill::changed_in_writing(prepared, target, options), losses);
}

/// Whether the header loses its comments.
fn loses_comments(before: &Document<'_>, after: &Document<'_>, target: Format) -> bool {
    let header = |document: &Document<'_>| match document {
        Document::Conversation(it) => it.header.as_ref().map(crate::Header::has_comments),
        _ => None,
    };
    let is_json = target.carrier() == Carrier::Json;
    header(before) == Some(true) && header(after).is_some_and(|has| !has || is_json)
}

/// Returns the losses of a document in a writer that can express `carries` but is not a format of
/// this library.
///
/// ```
/// use openchatml::convert::losses;
/// use openchatml::{Conversation, Format, Message};
///
/// let messages = [Message::reasoning("Hm."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let format: Format = "chatml".parse()?;
/// assert_eq!(losses(&document, format.carries())[0].to_string(), "message 0: analysis dropped");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn losses(document: &Document<'_>, carries: &Carries) -> Vec<Loss> {
    let mut losses = Vec::new();
    adapt::document(document, carries, &mut losses);
    beyond::lose(document, None, &mut losses);
    losses
}

/// Adds what `options` request and nothing else. Also returns whether a chat template composed the
/// document, so that the target can express it.
pub(crate) fn open<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<(Prepared<'d>, bool), RenderError> {
    if let Some(prepared) = by_template(document, target, options) {
        return prepared.map(|(prepared, _)| (prepared, true));
    }
    let mut draft = Draft::of(document, target);
    draft.fill(options, &[fill::open, fill::ask]);
    let Draft { document, losses, origins, .. } = draft;
    Ok((Prepared { document, losses, origins }, false))
}

/// A document on its way to a format.
struct Draft<'d> {
    document: Cow<'d, Document<'d>>,
    target: Format,
    losses: Vec<Loss>,
    origins: Origins,
}

impl<'d> Draft<'d> {
    fn of(document: &'d Document<'_>, target: Format) -> Self {
        let document = Cow::Borrowed(document);
        Self { document, target, losses: Vec::new(), origins: Origins::default() }
    }

    /// Applies steps in order.
    fn fill(&mut self, options: &RenderOptions, steps: &[Step]) {
        for step in steps {
            let conversation = self.document.as_conversation();
            let filled = conversation.and_then(|it| step(it, self.target, options));
            let Some(Filled { conversation, inserted, mut losses }) = filled else { continue };
            self.losses.append(&mut losses);
            if let Some(at) = inserted {
                self.origins.insert(at, conversation.messages.len());
            }
            self.document = Cow::Owned(conversation.into());
        }
    }

    /// Adds what the format requires. A document that was read in this form stays unchanged.
    fn require(&mut self, rules: &[ConversationRule]) {
        let carries = self.target.carries();
        if self.document.as_conversation().is_none_or(|it| self.is_own(it)) {
            return;
        }
        for rule in rules {
            let Some(conversation) = self.document.as_conversation() else { return };
            if !rule.fits(conversation, carries)
                && let Document::Conversation(conversation) = self.document.to_mut()
            {
                let home = dialects::carried_by(conversation.origin);
                self.losses.append(&mut rule.apply(conversation, carries, home));
            }
        }
    }

    /// Puts replies in the order of their calls, if only the order says which call they answer. A
    /// document that was read in this form stays unchanged.
    fn order_replies(&mut self) {
        let Some(conversation) = self.document.as_conversation().filter(|it| !self.is_own(it))
        else {
            return;
        };
        let Some(mut found) = replies::reordered(conversation, self.target.carries()) else {
            return;
        };
        let Document::Conversation(conversation) = self.document.to_mut() else { return };
        let mut messages: Vec<_> =
            std::mem::take(&mut conversation.messages).into_iter().map(Some).collect();
        let ordered = found.places.iter().filter_map(|place| messages[*place].take());
        conversation.messages = ordered.collect();
        self.losses.append(&mut found.losses);
        self.origins = self.origins.of_kept(&found.places);
    }

    /// Whether a conversation was read in the form of the target.
    fn is_own(&self, conversation: &Conversation<'_>) -> bool {
        self.target.dialect.text.is_some_and(|form| conversation.is_of(form.id))
    }

    /// Adapts the document to what the format can express.
    fn adapt(&mut self) {
        let mut losses = Vec::new();
        let adapted = adapt::document(&self.document, self.target.carries(), &mut losses);
        self.origins.place_all(&mut losses);
        self.losses.append(&mut losses);
        let Some((adapted, kept)) = adapted else { return };
        self.document = Cow::Owned(adapted);
        if let Some(kept) = kept {
            self.origins = self.origins.of_kept(&kept);
        }
    }
}

/// Composes the document with the chat template of the target, if there is one and it has not been
/// applied yet. Losses that only a conversion reports are separate.
fn by_template<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Option<Result<(Prepared<'d>, Vec<Loss>), RenderError>> {
    let conversation = document.as_conversation()?;
    let (composing, form) = match target.carrier {
        Carrier::Json => target.dialect.json.as_ref().map(|form| (form.composer, form.id))?,
        Carrier::Text => target.dialect.text.map(|form| (form.composer, form.id))?,
    };
    let composer = composing.of(conversation, form, options)?;
    let mut draft = Draft::of(document, target);
    draft.require(rules::NAMES);
    draft.order_replies();
    let Draft { mut losses, mut origins, .. } = draft;
    let mut remarks: Vec<_> = losses.extract_if(.., |loss| loss.lost == Lost::Order).collect();
    // Messages with borrowed text are composed without a copy.
    let tools: &[Tool<'d>] = &conversation.tools;
    let mut conversation: Conversation<'d> = match draft.document {
        Cow::Owned(named) => Conversation { tools: Vec::new(), ..named.into_conversation() },
        Cow::Borrowed(_) => conversation.borrowed(),
    };
    let mut unfit = Vec::new();
    let adapted = adapt::conversation(&conversation, composer.carries, &mut unfit);
    origins.place_all(&mut unfit);
    losses.append(&mut unfit);
    if let Some((adapted, kept)) = adapted {
        origins = origins.of_kept(&kept);
        conversation = adapted;
    }
    Some(match (composer.compose)(conversation, tools, options) {
        Err(error) => Err(origins.place(error)),
        Ok(mut composed) => {
            origins.place_all(&mut composed.losses);
            origins.place_all(&mut composed.remarks);
            losses.append(&mut composed.losses);
            remarks.append(&mut composed.remarks);
            let places = composed.places.into_iter().map(|place| origins.of(place?)).collect();
            let joins = composed
                .joins
                .into_iter()
                .filter_map(|join| Some(Join { place: origins.of(join.place)?, ..join }));
            let joins = joins.collect();
            let document = Cow::Owned(Document::Conversation(composed.conversation));
            let origins = Origins { places: Some(places), joins };
            let prepared = Prepared { document, losses, origins };
            Ok((prepared, remarks))
        }
    })
}

/// Adapts `document` to what the target can express, and returns the losses. The document is `None`
/// if it needs no change.
///
/// ```
/// use openchatml::{Conversation, Message, Role, convert};
///
/// let mut message = Message::new(Role::User, "Hi.");
/// message.name = Some("Eric".into());
/// let document = Conversation::from_messages([message]).into();
/// let (adapted, losses) = convert::adapt(&document, "chatml-wire:text".parse()?);
/// assert_eq!(losses[0].lost.as_str(), "name dropped");
/// assert_eq!(adapted.unwrap().into_conversation().messages[0].name, None);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn adapt<'a>(document: &Document<'a>, target: Format) -> (Option<Document<'a>>, Vec<Loss>) {
    let mut losses = Vec::new();
    let (adapted, kept) = adapt::document(document, target.carries(), &mut losses).unzip();
    let mut adapted = adapted.map_or(Cow::Borrowed(document), Cow::Owned);
    if beyond::lose(document, Some(target), &mut losses) {
        beyond::forget(adapted.to_mut(), target);
    }
    let origins = Origins::default();
    let origins = kept.flatten().map_or(origins.clone(), |kept| origins.of_kept(&kept));
    origins.add_placed(context::lose(&mut adapted, target), &mut losses);
    let adapted = match adapted {
        Cow::Owned(adapted) => Some(adapted),
        Cow::Borrowed(_) => None,
    };
    (adapted, losses)
}

/// Adapts the document to what `target` can express, except for data that only its own JSON can
/// express. Returns `None` if it needs no change.
pub(crate) fn carried<'a>(
    document: &Document<'a>,
    target: Format,
    losses: &mut Vec<Loss>,
) -> Option<Document<'a>> {
    adapt::document(document, target.carries(), losses).map(|(adapted, _)| adapted)
}
