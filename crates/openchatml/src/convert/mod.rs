//! From one format to another, with what is lost on the way.
//!
//! Conversion never makes hidden text visible and never gives a message more authority than it
//! had, with one named exception: where there is no `developer`, it becomes `system`.

mod adapt;
mod beyond;
mod carries;
mod complete;
mod compose;
mod loss;
mod sidecar;

pub(crate) use self::beyond::{field as lost_field, losses as losses_beyond};
pub use self::carries::{Carries, Channels, Intents, Markers};
pub use self::loss::{Loss, Lost};
pub use self::sidecar::{OtherConversation, Sidecar};

use std::borrow::Cow;

use self::complete::Step;
pub(crate) use self::complete::said_in_part;
pub(crate) use self::compose::{Composed, Composer, Join};
use crate::Span;
use crate::dialects::{Carrier, Format};
use crate::model::{Conversation, Document, Message, Tool};
use crate::read::{ReadOptions, parse};
use crate::render::{Place, RenderError, RenderOptions, render_adapted};

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
///     ["message 0: developer merged into system", "message 2: analysis dropped"],
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    document: &Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Conversion, RenderError> {
    let Prepared { document, losses, origins, .. } = prepare(document, target, options)?;
    match render_adapted(&document, target, options) {
        Ok(output) => Ok(Conversion { output, losses }),
        Err(error) => Err(origins.place(error)),
    }
}

/// The same, with what the target format cannot carry kept in a [`Sidecar`] as far as that can hold
/// it: what is still a loss is named.
///
/// # Errors
///
/// As for [`convert`].
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
    let written = render_adapted(&prepared.document, target, options);
    let output = written.map_err(|error| origins.place(error))?;
    let mut conversion = Conversion { output, losses: prepared.losses };
    let nothing = Conversation::default();
    let original = document.as_conversation().unwrap_or(&nothing);
    let read = ReadOptions { open_prompt: true, ..ReadOptions::default() };
    let carried = parse(&conversion.output, target, &read).into_conversation();
    let written = prepared.document.as_conversation().unwrap_or(&nothing);
    let origins = origins.read_again(&written.messages, &carried.messages);
    let sidecar = Sidecar::between(original, &carried, &origins);
    conversion.losses.retain(|loss| !sidecar.holds(loss));
    Ok((conversion, sidecar))
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
/// let prepared = prepare(&document, "chatml".parse()?, &Default::default())?;
/// assert_eq!(prepared.document.as_conversation().unwrap().messages[0].name, None);
/// assert_eq!(prepared.losses[0].to_string(), "message 0: name dropped");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prepared<'d> {
    /// The document.
    pub document: Cow<'d, Document<'d>>,
    /// What of the original is not in it.
    pub losses: Vec<Loss>,
    /// Where its messages stand in the original.
    pub origins: Origins,
}

/// A prepared conversation with how much its messages count in training, and which of them the reader
/// had to guess at; see [`Prepared::weighed`].
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role, Weight};
///
/// let answers = [("5.", Weight::ZERO), ("4.", Weight::ONE)].map(|(text, weight)| {
///     let mut answer = Message::answer(text);
///     answer.weight = Some(weight);
///     answer
/// });
/// let said = [(Role::System, "Be brief."), (Role::User, "2 + 2?")];
/// let said = said.map(|(role, text)| Message::new(role, text));
/// let document = Conversation::from_messages(said.into_iter().chain(answers)).into();
/// // Apertus has one text where the assistant answers twice.
/// let prepared = prepare(&document, "apertus".parse()?, &Default::default())?;
/// let weighed = prepared.weighed(&document).unwrap();
/// assert_eq!(weighed.joined, [2, 3]);
/// assert_eq!(weighed.conversation.messages.last().unwrap().weight, Some(Weight::ZERO));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Weighed {
    /// The conversation.
    pub conversation: Conversation<'static>,
    /// Which messages of the original became part of one with messages of another weight, by their
    /// places there.
    pub joined: Vec<usize>,
}

impl Prepared<'_> {
    /// The prepared conversation with the weights that its messages have in the `original`, and with
    /// what marks them as recovered or foreign, for a mask: ids and most texts say nothing of that. A
    /// message that was made of several counts as much as the least of them, so that what must not be
    /// trained is not. `None` where no message of the original has any of it.
    ///
    /// ```
    /// use openchatml::convert::prepare;
    /// use openchatml::{Conversation, Message, RenderOptions, Weight};
    ///
    /// let mut bad = Message::answer("5.");
    /// bad.weight = Some(Weight::ZERO);
    /// let document = Conversation::from_messages([bad]).into();
    /// let prepared = prepare(&document, "harmony".parse()?, &RenderOptions::default())?;
    /// assert_eq!(prepared.document.as_conversation().unwrap().messages[0].weight, None);
    /// let weighed = prepared.weighed(&document).unwrap();
    /// assert_eq!(weighed.conversation.messages[0].weight, Some(Weight::ZERO));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weighed(&self, original: &Document<'_>) -> Option<Weighed> {
        let original = &original.as_conversation()?.messages;
        let is_plain = |it: &Message<'_>| it.weight.is_none() && !it.recovered && !it.foreign;
        if original.iter().all(is_plain) {
            return None;
        }
        let mut conversation = self.document.as_conversation()?.clone().into_owned();
        let mut joined = Vec::new();
        for (index, message) in conversation.messages.iter_mut().enumerate() {
            let parts: Vec<_> =
                self.origins.parts(index).filter(|at| *at < original.len()).collect();
            let weights: Vec<_> = parts.iter().map(|at| original[*at].weight).collect();
            let least = weights.iter().map(|it| it.unwrap_or_default()).min();
            let is_one = weights.iter().all(|it| *it == weights[0]);
            message.weight = if is_one { weights.first().copied().flatten() } else { least };
            message.recovered |= parts.iter().any(|at| original[*at].recovered);
            message.foreign |= parts.iter().any(|at| original[*at].foreign);
            joined.extend(parts.into_iter().filter(|_| !is_one));
        }
        Some(Weighed { conversation, joined })
    }
}

/// Where the messages of a document stand in another one that it was made of.
///
/// ```
/// use openchatml::convert::prepare;
/// use openchatml::{Conversation, Message, Role};
///
/// let messages = [Message::reasoning("Hm."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let options = Default::default();
/// let origins = prepare(&document, "im".parse()?, &options)?.origins; // It has no reasoning.
/// assert_eq!((origins.of(0), origins.of(1)), (Some(1), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// `None` if all of them stand where they stood.
    places: Option<Vec<Option<usize>>>,
    /// The messages that are part of others now.
    joins: Vec<Join>,
}

impl Origins {
    /// Where the message at this place stood, if it did.
    pub fn of(&self, message: usize) -> Option<usize> {
        match &self.places {
            None => Some(message),
            Some(places) => places.get(message).copied().flatten(),
        }
    }

    /// The places of all messages that the one at this place was made of.
    ///
    /// ```
    /// use openchatml::convert::prepare;
    /// use openchatml::{Conversation, Message, Role};
    ///
    /// let said = [(Role::System, "S"), (Role::User, "u")].map(|(role, text)| Message::new(role, text));
    /// let answers = ["One. ", "Two."].map(Message::answer);
    /// let document = Conversation::from_messages(said.into_iter().chain(answers)).into();
    /// let prepared = prepare(&document, "apertus".parse()?, &Default::default())?;
    /// // It has one text where the assistant answers twice; before it stands what the template adds.
    /// assert_eq!(prepared.origins.parts(3).collect::<Vec<_>>(), [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts(&self, message: usize) -> impl Iterator<Item = usize> {
        let joins = self.joins.iter().filter(move |join| join.message == message);
        self.of(message).into_iter().chain(joins.map(|join| join.place))
    }

    /// The same error, at the place where its message stood.
    #[must_use]
    pub fn place(&self, mut error: RenderError) -> RenderError {
        let is_before =
            |join: &&Join| error.message == Some(join.message) && join.at <= error.span.start;
        let join = self.joins.iter().filter(is_before).max_by_key(|join| join.at);
        match join.filter(|_| error.place == Place::Body) {
            Some(Join { at, place, from, .. }) => {
                error.message = Some(*place);
                let place = |byte: usize| byte - at + from;
                error.span = Span::new(place(error.span.start), place(error.span.end));
            }
            None => error.message = error.message.and_then(|message| self.of(message)),
        }
        error
    }

    /// Gives losses the places where their messages stood.
    fn place_all(&self, losses: &mut [Loss]) {
        for loss in losses {
            loss.message = loss.message.and_then(|message| self.of(message));
        }
    }

    /// Notes that one of now `count` messages was put in.
    fn insert(&mut self, at: usize, count: usize) {
        let places = self.places.take();
        let mut places = places.unwrap_or_else(|| (0..count.saturating_sub(1)).map(Some).collect());
        places.insert(at, None);
        self.places = Some(places);
    }

    /// Where the messages stood that were `carried`: what was `written`, read again. A format may
    /// read messages of something else, such as a key that says how tools are declared, and none of
    /// a message that says nothing.
    fn read_again(&self, written: &[Message<'_>], carried: &[Message<'_>]) -> Self {
        let same =
            |one: &Message<'_>, two: &Message<'_>| one.role == two.role && one.body == two.body;
        let mut pairs = written.iter().zip(carried);
        if written.len() == carried.len() && pairs.all(|(one, two)| same(one, two)) {
            return self.clone();
        }
        let mut next = 0;
        let place = |message: &Message<'_>| {
            let left = written.get(next..)?.iter().take(Self::LOOK_AHEAD);
            next += left.into_iter().position(|it| same(it, message))? + 1;
            self.of(next - 1)
        };
        Self { places: Some(carried.iter().map(place).collect()), joins: Vec::new() }
    }

    /// How many messages may be missing in a row when what was written is read again.
    const LOOK_AHEAD: usize = 16;

    /// Where the messages stood of which these are left.
    fn behind(&self, kept: &[usize]) -> Self {
        Self { places: Some(kept.iter().map(|at| self.of(*at)).collect()), joins: Vec::new() }
    }
}

/// The document as `target` carries it, with what `target` requires and `options` ask for filled in,
/// and what is lost.
///
/// # Errors
///
/// Something that the template of [`Profile::HfTemplate`](crate::render::Profile) has no words for.
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
/// assert_eq!(message.channel, Some(openchatml::Channel::Final)); // It must be on one.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Prepared<'d>, RenderError> {
    if let Some(prepared) = by_template(document, target, options) {
        return prepared.map(|(mut prepared, mut remarks)| {
            prepared.losses.append(&mut remarks);
            beyond(document, Some(target), &mut prepared.losses);
            let Prepared { document, losses, origins } = &mut prepared;
            changed_in_writing(document, origins, target, options, losses);
            prepared
        });
    }
    let steps: &[Step] =
        &[complete::name_replies, complete::open, complete::declare_tools, complete::ask];
    let (filled, mut origins) = fill(document, target, options, steps);
    let from = filled.as_ref().unwrap_or(document);
    let mut losses = complete::declared_in_part(document, target, options);
    let adapted = adapt::document(from, target.carries(), &mut losses);
    origins.place_all(&mut losses);
    losses.extend(complete::version_replaced(from, target));
    let said = losses.len();
    beyond(document, Some(target), &mut losses);
    let says_beyond = losses.len() > said;
    let changed = match adapted {
        Some((adapted, kept)) => {
            if let Some(kept) = kept {
                origins = origins.behind(&kept);
            }
            Some(adapted)
        }
        None => filled,
    };
    let completed = complete::complete(changed.as_ref().unwrap_or(document), target);
    let mut prepared = completed.or(changed).map_or(Cow::Borrowed(document), Cow::Owned);
    if says_beyond {
        forget_beyond(prepared.to_mut(), target);
    }
    changed_in_writing(&prepared, &origins, target, options, &mut losses);
    if loses_comments(document, &prepared, target) {
        losses.insert(0, Loss::new(None, Span::default(), Lost::Comments));
    }
    Ok(Prepared { document: prepared, losses, origins })
}

/// Adds what the writer of a prepared document leaves out or changes.
fn changed_in_writing(
    prepared: &Document<'_>,
    origins: &Origins,
    target: Format,
    options: &RenderOptions,
    losses: &mut Vec<Loss>,
) {
    let mut more = complete::changed_in_writing(prepared, target, options);
    if !more.is_empty() {
        origins.place_all(&mut more);
        losses.append(&mut more);
        losses.sort_by_key(|loss| loss.message);
    }
}

/// Whether a header is written without the comments that it had.
fn loses_comments(before: &Document<'_>, after: &Document<'_>, target: Format) -> bool {
    let header = |document: &Document<'_>| match document {
        Document::Conversation(it) => it.header.as_ref().map(crate::Header::has_comments),
        _ => None,
    };
    let is_json = target.carrier() == Carrier::Json;
    header(before) == Some(true) && header(after).is_some_and(|has| !has || is_json)
}

/// What of a document is lost on the way to a writer that can say what `carries` says, and is none
/// of the formats here.
///
/// ```
/// use openchatml::convert::losses;
/// use openchatml::{Conversation, Format, Message};
///
/// let messages = [Message::reasoning("Hm."), Message::answer("4.")];
/// let document = Conversation::from_messages(messages).into();
/// let format: Format = "im".parse()?;
/// assert_eq!(losses(&document, format.carries())[0].to_string(), "message 0: analysis dropped");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn losses(document: &Document<'_>, carries: &Carries) -> Vec<Loss> {
    let mut losses = Vec::new();
    adapt::document(document, carries, &mut losses);
    beyond(document, None, &mut losses);
    losses
}

/// Drops what was said in other JSON than that of `target`, whose loss is named by now.
fn forget_beyond(document: &mut Document<'_>, target: Format) {
    let Document::Conversation(conversation) = document else { return };
    let is_json = target.carrier() == Carrier::Json;
    let is_other = |dialect: &str| dialect != target.dialect.id;
    if let Some(layout) = conversation.layout.as_deref_mut()
        && (is_other(layout.dialect) || !is_json)
    {
        layout.beyond = None;
    }
    for layout in conversation.messages.iter_mut().filter_map(|it| it.layout.as_deref_mut()) {
        if is_other(layout.dialect) || !is_json {
            layout.beyond = None;
        }
        if is_other(layout.dialect) {
            layout.content = None;
        }
    }
}

/// Adds what the document says beyond the model, in the order of its messages.
fn beyond(document: &Document<'_>, target: Option<Format>, losses: &mut Vec<Loss>) {
    let Document::Conversation(conversation) = document else { return };
    let more = losses_beyond(conversation, target);
    if !more.is_empty() {
        losses.extend(more);
        losses.sort_by_key(|loss| loss.message);
    }
}

/// The document with what `options` ask for, and nothing else; and whether a chat template made it,
/// so that it is one that the target can carry.
pub(crate) fn open<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<(Prepared<'d>, bool), RenderError> {
    if let Some(prepared) = by_template(document, target, options) {
        return prepared.map(|(prepared, _)| (prepared, true));
    }
    let (opened, origins) = fill(document, target, options, &[complete::open, complete::ask]);
    let document = opened.map_or(Cow::Borrowed(document), Cow::Owned);
    Ok((Prepared { document, losses: Vec::new(), origins }, false))
}

/// Takes steps, one after the other. `None` if none of them has anything to fill in.
fn fill<'a>(
    document: &Document<'a>,
    target: Format,
    options: &RenderOptions,
    steps: &[Step],
) -> (Option<Document<'a>>, Origins) {
    let mut filled = None;
    let mut origins = Origins::default();
    for step in steps {
        let from = filled.as_ref().unwrap_or(document);
        let Some((document, inserted)) = step(from, target, options) else { continue };
        if let Some(at) = inserted {
            origins.insert(at, document.as_conversation().map_or(0, |it| it.messages.len()));
        }
        filled = Some(document);
    }
    (filled, origins)
}

/// What a chat template makes of the document, where there is one to write the target and the
/// document has not been there yet. What only a conversion tells is apart.
fn by_template<'d>(
    document: &'d Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Option<Result<(Prepared<'d>, Vec<Loss>), RenderError>> {
    let conversation = document.as_conversation()?;
    let composer = match target.carrier {
        Carrier::Json => target.dialect.json.as_ref()?.composer?,
        Carrier::Text => target.dialect.text?.composer?,
    };
    let composer = composer(conversation, options)?;
    let (named, _) = fill(document, target, options, &[complete::name_replies]);
    // What is made of messages that borrow does not copy what they say.
    let tools: &[Tool<'d>] = &conversation.tools;
    let mut conversation: Conversation<'d> = match named {
        Some(named) => Conversation { tools: Vec::new(), ..named.into_conversation() },
        None => conversation.borrowed(),
    };
    let mut losses = Vec::new();
    let mut origins = Origins::default();
    if let Some((adapted, kept)) = adapt::conversation(&conversation, composer.carries, &mut losses)
    {
        origins = origins.behind(&kept);
        conversation = adapted;
    }
    Some(match (composer.compose)(conversation, tools, options) {
        Err(error) => Err(origins.place(error)),
        Ok(mut composed) => {
            origins.place_all(&mut composed.losses);
            origins.place_all(&mut composed.remarks);
            losses.append(&mut composed.losses);
            let places = composed.places.into_iter().map(|place| origins.of(place?)).collect();
            let joins = composed
                .joins
                .into_iter()
                .filter_map(|join| Some(Join { place: origins.of(join.place)?, ..join }));
            let joins = joins.collect();
            let document = Cow::Owned(Document::Conversation(composed.conversation));
            let origins = Origins { places: Some(places), joins };
            let prepared = Prepared { document, losses, origins };
            Ok((prepared, composed.remarks))
        }
    })
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
    let adapted = adapt::document(document, target.carries(), &mut losses);
    beyond(document, Some(target), &mut losses);
    (adapted.map(|(adapted, _)| adapted), losses)
}
