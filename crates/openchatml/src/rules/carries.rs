//! What a format can express.

use crate::model::{Conversation, End, FormId, Message, Role};

/// What a format can express, as data. A conversion drops everything else and reports it by name.
///
/// ```
/// use openchatml::{Format, Role};
///
/// let im: Format = "chatml".parse()?;
/// assert!(!im.carries().recipients && !im.carries().roles.contains(&Role::Developer));
/// // What a dialect says in text it need not be able to say in JSON.
/// let text: Format = "openchatml-2.0".parse()?;
/// let json: Format = "openchatml-2.0:json".parse()?;
/// assert!(text.carries().header && !json.carries().header);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Carries {
    /// Whether it has a header.
    pub header: bool,
    /// Top-level keys of the header that only version 2.2 has.
    pub header_keys: &'static [&'static str],
    /// The version in its header, or `None` for any version.
    pub version: Option<&'static str>,
    /// Whether calls and replies require a `call_id`.
    pub needs_call_ids: bool,
    /// Whether no two calls can share a `call_id`, even if the first one has its reply.
    pub unique_call_ids: bool,
    /// Whether each message of the assistant requires a channel.
    pub needs_channels: bool,
    /// Whether a tool reply requires the name of the tool.
    pub needs_names: bool,
    /// Whether it has declarations of tools.
    pub tools: bool,
    /// The keys next to the declaration of a tool, which a tool cannot use for its own fields.
    pub tool_keys: &'static [&'static str],
    /// Whether a function without the key `strict` is strict.
    pub strict_tools: bool,
    /// Whether it carries tools as text of the developer message, if the conversation has them
    /// there.
    pub declared_tools: bool,
    /// Whether the developer message of a conversation declares tools as text.
    pub(crate) declares: fn(&Conversation<'_>) -> bool,
    /// Whether it carries the declarations of the system and the developer as data, not only as
    /// text.
    pub declarations: bool,
    /// The supported roles.
    pub roles: &'static [Role],
    /// Whether it can carry the name of a message.
    pub names: fn(&Message<'_>) -> bool,
    /// Whether it has reasoning, in formats with sections.
    pub reasoning: bool,
    /// The supported channels.
    pub channels: Channels,
    /// Whether it has recipients, and so calls.
    pub recipients: bool,
    /// Whether a tool reply requires a recipient.
    pub reply_recipients: bool,
    /// Whether it has `call_id`.
    pub call_ids: bool,
    /// The supported intents.
    pub intents: Intents,
    /// Whether it can carry the content type of a message.
    pub content_types: fn(&Message<'_>) -> bool,
    /// Whether the arguments of each call are JSON without a content type.
    pub json_calls: bool,
    /// Whether calls without a content type are read as JSON.
    pub reads_json_calls: bool,
    /// Whether it has weights for training.
    pub weights: bool,
    /// The messages that can have chain-of-thought markers.
    pub markers: Markers,
    /// The supported ends of messages.
    pub ends: &'static [End],
    /// The form whose data about a document can say that its last message is incomplete.
    pub(crate) stops: Option<FormId>,
    /// Whether each message with a recipient is a call to run, and no other message is.
    pub makes_calls: bool,
    /// The roles whose last message can be open, in addition to calls, in formats with sections.
    pub open_roles: &'static [Role],
    /// Whether the last call can be open, in formats with sections.
    pub open_calls: bool,
    /// Whether a message other than the last can be open.
    pub open_inside: bool,
    /// Whether it has the mark of recovered messages.
    pub recovered: bool,
    /// Whether it has fill-in-the-middle tasks.
    pub infill: bool,
    /// Whether it has multi-file sequences.
    pub files: bool,
}

/// The channels of a format.
///
/// ```
/// use openchatml::{Format, convert::Channels};
///
/// let channels = |name: &str| name.parse().map(|format: Format| format.carries().channels);
/// assert_eq!(channels("openchatml-2.2")?, Channels::All);
/// assert_eq!(channels("openchatml-2.0:json")?, Channels::Turns);
/// assert_eq!(channels("chatml")?, Channels::None);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Every message can declare one.
    All,
    /// None: everything is `final`, so hidden messages cannot be carried.
    None,
    /// The kind of a message determines its channel: reasoning, content, tool calls and replies of
    /// a turn.
    Turns,
    /// The sections of the assistant's turn determine the channel: reasoning, calls, answers. Text
    /// for the user before a call is part of the answer.
    Sections,
    /// Like `Turns`, but without reasoning.
    Calls,
}

/// The intents of a format.
///
/// ```
/// use openchatml::{Format, convert::Intents};
///
/// let intents = |name: &str| name.parse().map(|format: Format| format.carries().intents);
/// assert_eq!(intents("openchatml-2.2")?, Intents::All);
/// assert_eq!(intents("harmony")?, Intents::Implied);
/// assert_eq!(intents("openchatml-2.0")?, Intents::None);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intents {
    /// Every message can declare one.
    All,
    /// None can be declared, and all commentary that is not a call is a preamble (HIP-1 §6).
    Implied,
    /// None can be declared, and text of the assistant before a call in the same turn is a
    /// preamble.
    BeforeCalls,
    /// None.
    None,
}

/// The messages of a format that can have chain-of-thought markers (OpenChatML 2.2 §7).
///
/// Visible messages have no markers in any format, because the text after a marker is hidden.
///
/// ```
/// use openchatml::{Format, convert::Markers};
///
/// let markers = |name: &str| name.parse().map(|format: Format| format.carries().markers);
/// assert_eq!(markers("openchatml-2.2")?, Markers::Analysis);
/// assert_eq!(markers("harmony")?, Markers::None);
/// assert_eq!(markers("json")?, Markers::Hidden);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    /// None: the format has no markers.
    None,
    /// Messages of the assistant on `analysis`.
    Analysis,
    /// All hidden messages, of any role.
    Hidden,
}

impl Channels {
    /// Whether the kind of a message determines its channel.
    pub(crate) fn are_fixed(self) -> bool {
        matches!(self, Self::Turns | Self::Calls | Self::Sections)
    }
}

impl Carries {
    pub(crate) const NOTHING: Self = Self {
        header: false,
        header_keys: &[],
        version: None,
        needs_call_ids: false,
        unique_call_ids: false,
        needs_channels: false,
        needs_names: false,
        tools: false,
        tool_keys: &[],
        strict_tools: false,
        declared_tools: false,
        declares: |_| false,
        declarations: false,
        roles: &[],
        names: |_| false,
        reasoning: true,
        channels: Channels::None,
        recipients: false,
        reply_recipients: false,
        call_ids: false,
        intents: Intents::None,
        content_types: |_| false,
        json_calls: false,
        reads_json_calls: false,
        weights: false,
        markers: Markers::None,
        ends: &[],
        stops: None,
        makes_calls: false,
        open_roles: &[],
        open_calls: false,
        open_inside: false,
        recovered: false,
        infill: false,
        files: false,
    };

    /// What formats with sections can express, whose calls have JSON arguments.
    pub(crate) const SECTIONS: Self = Self {
        names: |message| message.role == Role::Tool,
        channels: Channels::Sections,
        recipients: true,
        reply_recipients: true,
        content_types: is_json_call,
        json_calls: true,
        reads_json_calls: true,
        open_roles: &[Role::System, Role::Developer, Role::User],
        open_calls: true,
        ..Self::NOTHING
    };

    pub(crate) const EVERYTHING: Self = Self {
        header: true,
        tools: true,
        roles: Role::ALL,
        names: |_| true,
        channels: Channels::All,
        recipients: true,
        call_ids: true,
        intents: Intents::All,
        content_types: |_| true,
        weights: true,
        markers: Markers::Hidden,
        ends: End::ALL,
        open_inside: true,
        recovered: true,
        infill: true,
        files: true,
        ..Self::NOTHING
    };
}

/// Whether a message is a call with JSON arguments and without a constraint.
pub(crate) fn is_json_call(message: &Message<'_>) -> bool {
    let is_json = message.content_type.as_deref() == Some("json");
    message.is_call() && is_json && !message.constrained
}
