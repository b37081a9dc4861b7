//! What a format can say.

use crate::model::{Conversation, End, Message, Role};

/// What a format can say, as data: what it cannot is lost in a conversion, by name.
///
/// ```
/// use openchatml::{Format, Role};
///
/// let im: Format = "im".parse()?;
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
    /// The header.
    pub header: bool,
    /// Top-level keys of the header that only version 2.2 knows.
    pub header_keys: &'static [&'static str],
    /// The version that its header names; any if `None`.
    pub version: Option<&'static str>,
    /// Whether calls and replies must have a `call_id`.
    pub needs_call_ids: bool,
    /// Whether each message of the assistant must be on a channel.
    pub needs_channels: bool,
    /// Whether a tool's reply must have the name of the tool.
    pub needs_names: bool,
    /// Declarations of tools.
    pub tools: bool,
    /// The keys of a tool that stand beside what it declares, so that it can declare no others of that
    /// name.
    pub tool_keys: &'static [&'static str],
    /// Whether tools are carried as what the developer says, where the developer says them.
    pub declared_tools: bool,
    /// Whether the developer of a conversation declares tools in words.
    pub(crate) declares: fn(&Conversation<'_>) -> bool,
    /// What the system and the developer declare, as data and not as the text that it stands for.
    pub declarations: bool,
    /// Its roles.
    pub roles: &'static [Role],
    /// Whether it can carry the name of a message.
    pub names: fn(&Message<'_>) -> bool,
    /// Its channels.
    pub channels: Channels,
    /// Recipients, and so calls.
    pub recipients: bool,
    /// Whether a tool's reply must say whom it is for.
    pub reply_recipients: bool,
    /// `call_id`.
    pub call_ids: bool,
    /// `intent`.
    pub intents: Intents,
    /// Whether it can carry the content type of a message.
    pub content_types: fn(&Message<'_>) -> bool,
    /// Whether the arguments of each call are JSON, without a word about it.
    pub json_calls: bool,
    /// Whether calls are read as JSON, without a word about it.
    pub reads_json_calls: bool,
    /// How much a message counts in training.
    pub weights: bool,
    /// The messages that may have chain-of-thought markers.
    pub markers: Markers,
    /// How its messages may end.
    pub ends: &'static [End],
    /// Whether each message with a recipient is a call that is made, and no other message.
    pub makes_calls: bool,
    /// Whose last message may be open, besides calls, where sections tell the channels.
    pub open_roles: &'static [Role],
    /// Whether a message that is not the last may be open.
    pub open_inside: bool,
    /// The mark of messages that a reader had to guess at.
    pub recovered: bool,
    /// Fill-in-the-middle tasks.
    pub infill: bool,
    /// Multi-file sequences.
    pub files: bool,
}

/// The channels that a format has.
///
/// ```
/// use openchatml::{Format, convert::Channels};
///
/// let channels = |name: &str| name.parse().map(|format: Format| format.carries().channels);
/// assert_eq!(channels("openchatml-2.2")?, Channels::All);
/// assert_eq!(channels("openchatml-2.0:json")?, Channels::Turns);
/// assert_eq!(channels("im")?, Channels::None);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Every message may declare one.
    All,
    /// None: everything is `final`, so what is hidden cannot be carried.
    None,
    /// Fixed by the kind of message: thinking, content, tool calls and replies of a turn.
    Turns,
    /// Sections of the assistant's turn tell what its messages are: reasoning, calls, answers. What
    /// it says to the user on its way to calls is part of the answer.
    Sections,
    /// The same without thinking.
    Calls,
}

/// The intents that a format can carry.
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
    /// Every message may declare one.
    All,
    /// None can be declared, and all commentary that is no call is a preamble (HIP-1 §6).
    Implied,
    /// None can be declared, and what the assistant says before a call, in one turn with it, is a
    /// preamble.
    BeforeCalls,
    /// No message declares one.
    None,
}

/// The messages of a format that may have chain-of-thought markers (OpenChatML 2.2 §7).
///
/// A message that the user sees has none in any format: what follows a marker is hidden.
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
    /// All hidden messages, whoever speaks.
    Hidden,
}

impl Channels {
    /// Whether the kind of a message says on which channel it is.
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
        needs_channels: false,
        needs_names: false,
        tools: false,
        tool_keys: &[],
        declared_tools: false,
        declares: |_| false,
        declarations: false,
        roles: &[],
        names: |_| false,
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
        makes_calls: false,
        open_roles: &[],
        open_inside: false,
        recovered: false,
        infill: false,
        files: false,
    };

    /// What formats carry in which sections tell the channels, and calls have JSON for arguments.
    pub(crate) const SECTIONS: Self = Self {
        names: |message| message.role == Role::Tool,
        channels: Channels::Sections,
        recipients: true,
        reply_recipients: true,
        content_types: is_json_call,
        json_calls: true,
        reads_json_calls: true,
        open_roles: &[Role::System, Role::Developer, Role::User],
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

/// Whether a message is a call whose arguments are JSON, with no constraint on them.
pub(crate) fn is_json_call(message: &Message<'_>) -> bool {
    let is_json = message.content_type.as_deref() == Some("json");
    message.is_call() && is_json && !message.constrained
}
