//! Adds to a conversation what options request, or what its format declares as text.

use crate::Carrier;
use crate::declare::ToolPlace;
use crate::dialect::Format;
use crate::grammar::frame::needs_sanitizing;
use crate::model::{Conversation, Document, Message, Role};
use crate::options::{RenderOptions, Values};
use crate::rules::{Loss, Lost, declare_as_text};
use crate::signs::Framing;

/// A step that adds something. Returns `None` if nothing is missing.
pub(super) type Step = for<'a> fn(&Conversation<'a>, Format, &RenderOptions) -> Option<Filled<'a>>;

/// A conversation with an addition.
pub(super) struct Filled<'a> {
    pub(super) conversation: Conversation<'a>,
    /// The position of the added message, if any.
    pub(super) inserted: Option<usize>,
    /// The losses of this step.
    pub(super) losses: Vec<Loss>,
}

/// Adds the system message that the options describe, if prompts of the target begin with one and
/// the conversation has none.
pub(super) fn open<'a>(
    conversation: &Conversation<'a>,
    target: Format,
    options: &RenderOptions,
) -> Option<Filled<'a>> {
    let opening = target.dialect.opening.filter(|_| target.carries().declared_tools)?;
    let conversation = (opening.system)(conversation, options)?;
    Some(Filled { conversation, inserted: Some(0), losses: Vec::new() })
}

/// Adds the response formats of the options, if the target supports them and the developer message
/// has none.
pub(super) fn ask<'a>(
    conversation: &Conversation<'a>,
    target: Format,
    options: &RenderOptions,
) -> Option<Filled<'a>> {
    let opening = target.dialect.opening.filter(|_| target.carries().declared_tools)?;
    let (conversation, inserted) = (opening.formats)(conversation, options)?;
    Some(Filled { conversation, inserted, losses: Vec::new() })
}

/// Adds the tools to the developer message, if the target declares tools there.
pub(super) fn declare<'a>(
    conversation: &Conversation<'a>,
    target: Format,
    options: &RenderOptions,
) -> Option<Filled<'a>> {
    let carries = target.carries();
    if !carries.declared_tools || conversation.tools.is_empty() {
        return None;
    }
    let is_declared = (carries.declares)(conversation);
    if is_declared && carries.declarations {
        return None;
    }
    let mut conversation = conversation.clone();
    let place =
        if is_declared { ToolPlace::Conversation } else { ToolPlace::Types(Role::Developer) };
    let style = options.profile.style();
    let (inserted, losses) = declare_as_text(&mut conversation, place, style);
    Some(Filled { conversation, inserted, losses })
}

/// Returns the changes that the writer makes to a prepared document because of `options`: a profile
/// drops something, or a header value must be sanitized. The messages are those of the prepared
/// document.
pub(super) fn changed_in_writing(
    document: &Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Vec<Loss> {
    let form = target.dialect.text.filter(|_| target.carrier() == Carrier::Text);
    let (Some(form), Some(conversation)) = (form, document.as_conversation()) else {
        return Vec::new();
    };
    let opening = target.dialect.opening.filter(|_| target.carries().declared_tools);
    let mut losses =
        opening.map_or_else(Vec::new, |it| (it.left_out)(options.profile, conversation));
    // In formats with sections, the name of a tool is a JSON string, which can be any text.
    if options.values == Values::Sanitize && form.signs.framing != Framing::Pairs {
        let messages = conversation.messages.iter().enumerate();
        let messages = messages.filter(|(_, it)| needs_sanitizing(it, form.controls));
        let lost = |(at, it): (usize, &Message<'_>)| Loss::new(Some(at), it.span, Lost::Sanitized);
        losses.extend(messages.map(lost));
    }
    losses
}
