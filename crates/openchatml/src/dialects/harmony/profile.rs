//! The peculiarities of the reference renderer, and what it drops.

use crate::declare::Style;
use crate::grammar::frame;
use crate::harmony::Contents;
use crate::model::{Body, Channel, Conversation, Document, End, Message, Role, Visibility};
use crate::options::{LayoutChoice, Profile, RenderOptions};
use crate::rules::{History, Loss, Lost, kept_by_reference};
use crate::writing::{Place, RenderError, Sink};
use crate::{Code, Control, Span};

/// Writes a document like the renderer of this profile.
pub(super) fn write(
    profile: Profile,
    document: &Document<'_>,
    options: &RenderOptions,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    shows_no_more(document)?;
    // The differences from the canonical layout are stored as layout.
    let mut options = options.clone();
    options.layout = LayoutChoice::Keep;
    let mut document = reference(document);
    if let (Profile::OssHarmony, Document::Conversation(conversation)) = (profile, &mut document) {
        conversation.messages.iter_mut().for_each(after_channel);
    }
    frame::write(&super::RULES, &document, &options, sink)
}

/// Makes the content type of a message a constraint, and moves the recipient after the channel.
fn after_channel(message: &mut Message<'_>) {
    if message.recipient.is_none() && message.content_type.is_none() {
        return;
    }
    message.constrained = message.content_type.is_some();
    let constraint = super::RULES.controls.spelling(Control::Constrain).unwrap_or_default();
    // The space before the original content type.
    let kept = message.layout.as_ref().and_then(|layout| layout.header.as_ref());
    let kept =
        kept.and_then(|raw| Some(raw.as_str()[raw.end_of_last(Control::Constrain)?..].to_owned()));
    let moves = message.channel == Some(Channel::Commentary);
    let mut front = message.clone();
    (front.content_type, front.constrained) = (None, false);
    front.recipient = message.recipient.clone().filter(|_| !moves);
    (super::RULES.settle)(&mut front);
    let Some(mut header) = frame::raw_header(&front, &super::RULES) else { return };
    if let Some(recipient) = message.recipient.as_deref().filter(|_| moves) {
        header.push_text(" to=");
        header.push_text(recipient);
    }
    if let Some(content_type) = &message.content_type {
        header.push_text(" ");
        header.push_control(Control::Constrain, constraint);
        header.push_text(kept.as_deref().unwrap_or(content_type));
    }
    let layout = message.layout.get_or_insert_default();
    layout.form = super::RULES.form;
    layout.header = Some(header);
}

/// Returns the document as the reference renderer writes it.
fn reference<'a>(document: &Document<'a>) -> Document<'a> {
    let Document::Conversation(conversation) = document else { return document.clone() };
    let mut changed = conversation.clone();
    let last = changed.messages.len().saturating_sub(1);
    let contents = Contents::of(conversation);
    for (index, message) in changed.messages.iter_mut().enumerate() {
        message.end = ended(message, index == last);
        if message.recipient.as_deref() == Some(ALL) {
            everybody(message);
        }
        if let Some(texts) = contents.texts_of(message, Style::Reference) {
            message.body = Body::of_parts(texts);
        }
    }
    Document::Conversation(changed)
}

/// Refuses a message that only its recipient hides, if the profile drops the recipient (SPEC 2.2
/// §11).
fn shows_no_more(document: &Document<'_>) -> Result<(), RenderError> {
    let messages = document.as_conversation().map_or(&[][..], |it| &it.messages);
    let is_shown = |message: &Message<'_>| message.visibility() == Visibility::User;
    let at = messages.iter().position(|message| {
        let is_for_all = message.recipient.as_deref() == Some(ALL) && !is_shown(message);
        is_for_all && {
            let mut copy = message.clone();
            everybody(&mut copy);
            is_shown(&copy)
        }
    });
    let Some(at) = at else { return Ok(()) };
    let text = "this profile omits the recipient, so a user would see the message";
    let error = RenderError::new(Code::PermVisibility, Some(at), text);
    let help = "drop the message, or use the default profile";
    Err(error.at(Place::Recipient, Span::default()).help(help))
}

/// The recipient that the profile omits.
const ALL: &str = "all";

/// Removes this recipient.
fn everybody(message: &mut Message<'_>) {
    message.recipient = None;
    (super::RULES.settle)(message);
    if let Some(layout) = &mut message.layout {
        layout.header = layout.header.take().map(|it| it.without(&format!(" to={ALL}")));
    }
}

/// Returns the losses of the renderer of this profile.
pub(crate) fn left_out(profile: Profile, conversation: &Conversation<'_>) -> Vec<Loss> {
    let mut losses = Vec::new();
    if !matches!(profile, Profile::Reference | Profile::OssHarmony) {
        return losses;
    }
    let last = conversation.messages.len().saturating_sub(1);
    for (index, message) in conversation.messages.iter().enumerate() {
        let mut lose = |lost| losses.push(Loss::new(Some(index), message.span, lost));
        if message.recipient.as_deref() == Some(ALL) {
            lose(Lost::Recipient);
        }
        match message.end {
            it if it == ended(message, index == last) => {}
            End::Call => lose(Lost::CallEnd),
            End::Return => lose(Lost::Return),
            End::Open | End::Prompt => lose(Lost::Open),
            End::End => {}
        }
    }
    losses
}

/// Returns how this renderer ends a message.
fn ended(message: &Message<'_>, is_last: bool) -> End {
    match message.end {
        open @ (End::Open | End::Prompt) if is_last => open,
        End::Return if is_last && message.role == Role::Assistant => End::Return,
        _ if message.role == Role::Assistant && message.recipient.is_some() => End::Call,
        _ => End::End,
    }
}

/// Returns which messages a prompt contains.
pub(super) fn history(profile: Profile) -> History {
    match profile {
        Profile::Documented => History::Answered,
        Profile::Reference | Profile::OssHarmony => History::Kept(kept_by_reference),
        Profile::HfTemplate | Profile::HfTemplateStrings => History::Template,
    }
}
