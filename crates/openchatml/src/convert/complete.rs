//! What a format requires and a conversation from another one lacks: it is filled in, and nothing
//! is lost by that.

use std::collections::HashSet;

use crate::declare::Namespace;
use crate::dialect::{Carrier, Format};
use crate::grammar::frame::needs_sanitizing;
use crate::json::{Data, Value};
use crate::model::{Body, Channel, Conversation, Document, Message, Role};
use crate::options::{RenderOptions, Values};
use crate::pairing::{Paired, Pairs};
use crate::rules::{Loss, Lost, said_in_part};
use crate::signs::Framing;
use crate::{Header, Span, dialects};

/// Fills in something that a target requires or that options ask for: the document with it, and the
/// place of a message that was put in. `None` if nothing is missing.
pub(super) type Step =
    for<'a> fn(&Document<'a>, Format, &RenderOptions) -> Option<(Document<'a>, Option<usize>)>;

/// The document with what `target` requires. `None` if nothing is missing, or if the document was
/// read in this very form: then it stays as it is.
pub(super) fn complete<'a>(document: &Document<'a>, target: Format) -> Option<Document<'a>> {
    let conversation = document.as_conversation()?;
    if target.dialect.text.is_some_and(|form| conversation.is_of(form.id)) {
        return None;
    }
    let carries = target.carries();
    let version = carries.version.filter(|_| target.carrier == Carrier::Text);
    let has_version = conversation.header.as_ref().and_then(Header::version) == version;
    let lacks_ids = carries.needs_call_ids && conversation.messages.iter().any(lacks_id);
    let lacks_recipient = |message: &Message<'_>| {
        carries.reply_recipients && message.role == Role::Tool && message.recipient.is_none()
    };
    let lacks_recipients = conversation.messages.iter().any(lacks_recipient);
    let lacks_channel = |message: &Message<'_>| {
        let speaks = matches!(message.role, Role::Assistant | Role::Tool);
        carries.needs_channels && speaks && message.channel.is_none()
    };
    let lacks_channels = conversation.messages.iter().any(lacks_channel);
    let is_complete = !lacks_ids && !lacks_recipients && !lacks_channels;
    if (has_version || version.is_none()) && is_complete {
        return None;
    }
    let mut completed = conversation.clone();
    if let Some(version) = version {
        let value = Value::from(Data::Number(version.into()));
        match &mut completed.header {
            Some(header) => header.insert("version", value),
            None => completed.header = Some(Header::new(version)),
        }
    }
    if lacks_ids {
        invent_ids(&mut completed);
    }
    for message in completed.messages.iter_mut().filter(|message| lacks_recipient(message)) {
        message.recipient = Some("assistant".into());
    }
    for message in completed.messages.iter_mut().filter(|message| lacks_channel(message)) {
        // A call without a channel is one on `final`, which is not made: it stays so.
        let is_reply = message.role == Role::Tool;
        message.channel = Some(if is_reply { Channel::Commentary } else { Channel::Final });
    }
    Some(Document::Conversation(completed))
}

/// That the version of the header is replaced, where it does not come back on the way back: the
/// version of the format that the conversation was read in does.
pub(super) fn version_replaced(document: &Document<'_>, target: Format) -> Option<Loss> {
    let conversation = document.as_conversation()?;
    let own = target.carries().version.filter(|_| target.carrier == Carrier::Text)?;
    let header = conversation.header.as_ref().filter(|_| target.carries().header)?;
    let version = match header.version() {
        Some(version) => version,
        // Something else than a version stands there.
        None => header.get("version").map(|_| "")?,
    };
    let comes_back = dialects::text_form(conversation.origin).is_some_and(|form| {
        form.id == target.dialect.form() || form.book.versions.first() == Some(&version)
    });
    (version != own && !comes_back).then(|| {
        let span = conversation.header.as_ref().and_then(|it| it.get("version")).map(|it| it.span);
        Loss::new(None, span.unwrap_or_default(), Lost::Version)
    })
}

/// The document with the name of its tool for each reply that lacks one, where `target` requires it:
/// the call that it answers knows it. `None` if none is missing.
pub(super) fn name_replies<'a>(
    document: &Document<'a>,
    target: Format,
    _: &RenderOptions,
) -> Option<(Document<'a>, Option<usize>)> {
    let conversation = document.as_conversation()?;
    let is_own = target.dialect.text.is_some_and(|form| conversation.is_of(form.id));
    let lacks_name = |message: &Message<'_>| message.role == Role::Tool && message.name.is_none();
    if is_own || !target.carries().needs_names || !conversation.messages.iter().any(lacks_name) {
        return None;
    }
    let mut named = conversation.clone();
    let mut pairs = Pairs::default();
    for message in &mut named.messages {
        let id = message.call_id.as_deref();
        if message.is_call() {
            pairs.call(id, message.recipient.as_deref().unwrap_or_default());
        } else if message.role == Role::Tool {
            let paired = pairs.reply(id, message.name.as_deref());
            if let (Paired::Answer(call) | Paired::Again(call), None) = (paired, &message.name) {
                message.name = Some(pairs.tool(call).to_owned().into());
            }
        }
    }
    Some((Document::Conversation(named), None))
}

/// The document with the system message that the options ask for, where prompts of the target begin
/// with one and the document has none. `None` if that is not so.
pub(super) fn open<'a>(
    document: &Document<'a>,
    target: Format,
    options: &RenderOptions,
) -> Option<(Document<'a>, Option<usize>)> {
    let opening = target.dialect.opening.filter(|_| target.carries().declared_tools)?;
    let opened = (opening.system)(document.as_conversation()?, options)?;
    Some((Document::Conversation(opened), Some(0)))
}

/// The document with the response formats that the options ask for, where the target has
/// them and the developer names none. `None` if that is not so.
pub(super) fn ask<'a>(
    document: &Document<'a>,
    target: Format,
    options: &RenderOptions,
) -> Option<(Document<'a>, Option<usize>)> {
    let opening = target.dialect.opening.filter(|_| target.carries().declared_tools)?;
    let (asked, inserted) = (opening.formats)(document.as_conversation()?, options)?;
    Some((Document::Conversation(asked), inserted))
}

/// The document with its tools in what the developer says, where `target` carries them so and the
/// developer does not say them yet, and the place of a message that was put in for that. `None` if
/// that is not so.
pub(super) fn declare_tools<'a>(
    document: &Document<'a>,
    target: Format,
    options: &RenderOptions,
) -> Option<(Document<'a>, Option<usize>)> {
    let conversation = document.as_conversation()?;
    let carries = target.carries();
    if !carries.declared_tools || carries.fits_tools(conversation) {
        return None;
    }
    let mut declared = conversation.clone();
    let functions = Namespace::functions(std::mem::take(&mut declared.tools));
    let section = functions.section(options.profile.style());
    let mut inserted = None;
    let says = |message: &&mut Message<'_>| message.role == Role::Developer;
    let says_it = |message: &Message<'_>| message.body.text().contains(&section);
    if declared.messages.iter().any(|it| it.role == Role::Developer && says_it(it)) {
        return Some((Document::Conversation(declared), None));
    }
    match declared.messages.iter_mut().find(says) {
        Some(developer) if developer.body.is_empty() => developer.body = Body::from(section),
        Some(developer) => {
            let text = format!("{}\n\n{section}", developer.body.text());
            developer.body = Body::from(text);
        }
        None => {
            let is_system = |message: &Message<'_>| message.role == Role::System;
            let at = declared.messages.iter().take_while(|message| is_system(message)).count();
            declared.messages.insert(at, Message::new(Role::Developer, section));
            inserted = Some(at);
        }
    }
    Some((Document::Conversation(declared), inserted))
}

/// What is lost of tools that are declared in a text, by [`declare_tools`] or where they were read.
pub(super) fn declared_in_part(
    document: &Document<'_>,
    target: Format,
    options: &RenderOptions,
) -> Vec<Loss> {
    let carries = target.carries();
    let Some(conversation) = document.as_conversation().filter(|_| carries.declared_tools) else {
        return Vec::new();
    };
    let are_data = carries.declarations && carries.fits_tools(conversation);
    if conversation.tools.is_empty() || are_data {
        return Vec::new();
    }
    let mut losses = said_in_part(&conversation.tools, options.profile.style());
    losses.insert(0, Loss::new(None, Span::default(), Lost::ToolsAsText));
    losses
}

/// What the writer changes of a prepared document because `options` say so: the profile of a renderer
/// leaves something out, or a header cannot hold a value. At the messages of that document.
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
    // The names of tools in pairs are strings of JSON, which hold any value.
    if options.values == Values::Sanitize && form.signs.framing != Framing::Pairs {
        let messages = conversation.messages.iter().enumerate();
        let messages = messages.filter(|(_, it)| needs_sanitizing(it, form.controls));
        let lost = |(at, it): (usize, &Message<'_>)| Loss::new(Some(at), it.span, Lost::Sanitized);
        losses.extend(messages.map(lost));
    }
    losses
}

fn lacks_id(message: &Message<'_>) -> bool {
    message.call_id.is_none() && (message.is_call() || message.role == Role::Tool)
}

/// Gives calls without an id the ids `call_1`, `call_2`, … and replies without one that of the call
/// that they answer.
fn invent_ids(conversation: &mut Conversation<'_>) {
    let used = conversation.messages.iter().filter_map(|message| message.call_id.as_deref());
    let used: HashSet<String> = used.map(str::to_owned).collect();
    let mut unused = (1..).map(|number| format!("call_{number}")).filter(|id| !used.contains(id));
    let mut pairs = Pairs::default();
    let mut ids = Vec::new();
    for message in &mut conversation.messages {
        if message.is_call() {
            let id = message.call_id.as_deref().map(str::to_owned).or_else(|| unused.next());
            let tool = message.recipient.as_deref().unwrap_or_default();
            if pairs.call(id.as_deref(), tool).is_some() {
                ids.push(id.clone());
            }
            if message.call_id.is_none() {
                message.call_id = id.map(Into::into);
            }
        } else if message.role == Role::Tool {
            let paired = pairs.reply(message.call_id.as_deref(), message.name.as_deref());
            if let (Paired::Answer(call), None) = (paired, &message.call_id) {
                message.call_id = ids[call].clone().map(Into::into);
            }
        }
    }
}
