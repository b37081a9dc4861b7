//! What a format can say.

use crate::model::{
    Channel, Content, Conversation, Document, End, Header, Intent, Message, Role, Tool, Visibility,
};

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

    /// Whether the format can carry this message as it is, the last one or not.
    pub(crate) fn fits(&self, message: &Message<'_>, last: bool) -> bool {
        let is_open = matches!(message.end, End::Open | End::Prompt);
        (last || self.open_inside || !is_open)
            && self.roles.contains(&message.role)
            && (message.name.is_none() || (self.names)(message))
            && (message.recipient.is_none() || self.recipients)
            && (message.call_id.is_none() || self.call_ids)
            && (!self.makes_calls || message.is_call() == (message.end == End::Call))
            && self.fits_intent(message)
            && match message.content_type {
                Some(_) => (self.content_types)(message),
                None => !self.json_calls || !message.is_call(),
            }
            && (!(message.recovered || message.foreign || message.unread.is_some())
                || self.recovered)
            && (message.weight.is_none() || self.weights)
            && (message.end == End::End || self.ends.contains(&message.end))
            && self.fits_markers(message)
            && self.fits_channel(message)
            && (self.channels != Channels::Sections || ends_section(message, last, self.open_roles))
    }

    pub(crate) fn fits_intent(&self, message: &Message<'_>) -> bool {
        match self.intents {
            Intents::All => true,
            Intents::None => message.intent.is_none(),
            Intents::Implied | Intents::BeforeCalls if message.is_commentary() => {
                message.intent == Some(Intent::Preamble)
            }
            Intents::Implied | Intents::BeforeCalls => message.intent.is_none(),
        }
    }

    /// Whether the message has no chain-of-thought marker, or may have one.
    #[inline]
    pub(crate) fn fits_markers(&self, message: &Message<'_>) -> bool {
        !message.body.has_markers()
            || match self.markers {
                Markers::None => false,
                Markers::Analysis => {
                    message.role == Role::Assistant
                        && message.effective_channel() == Channel::Analysis
                }
                Markers::Hidden => message.visibility() == Visibility::Hidden,
            }
    }

    /// Whether what a tool declares beyond a function is its own to declare.
    fn fits_keys(&self, tool: &Tool<'_>) -> bool {
        tool.extra.iter().all(|(key, _)| !self.tool_keys.contains(&key.as_ref()))
    }

    /// Leaves out what a tool cannot declare. Whether there was any.
    pub(crate) fn drop_keys(&self, tool: &mut Tool<'_>) -> bool {
        let fits = self.fits_keys(tool);
        tool.extra.retain(|(key, _)| !self.tool_keys.contains(&key.as_ref()));
        !fits
    }

    pub(crate) fn fits_tools(&self, conversation: &Conversation<'_>) -> bool {
        self.tools || conversation.tools.is_empty() || (self.declares)(conversation)
    }

    /// Whether the message may stand before the next one: a preamble may have to stand before a call.
    pub(crate) fn fits_preamble(&self, message: &Message<'_>, next: Option<&Message<'_>>) -> bool {
        self.intents != Intents::BeforeCalls
            || !message.is_commentary()
            || !message.body.is_empty()
                && next.is_some_and(|next| next.is_call() && next.name == message.name)
    }

    fn fits_preambles(&self, messages: &[Message<'_>]) -> bool {
        if self.intents != Intents::BeforeCalls {
            return true;
        }
        let next = messages.iter().skip(1).map(Some).chain([None]);
        messages.iter().zip(next).all(|(message, next)| self.fits_preamble(message, next))
    }

    fn fits_channel(&self, message: &Message<'_>) -> bool {
        match self.channels {
            Channels::All => true,
            Channels::None => message.channel.is_none(),
            Channels::Sections => fits_section(message),
            Channels::Calls if message.is_reasoning() => false,
            Channels::Turns | Channels::Calls if message.is_commentary() => {
                self.intents != Intents::None
                    && message.end == End::End
                    && message.call_id.is_none()
            }
            Channels::Turns | Channels::Calls => fits_turn(message),
        }
    }

    /// Whether this header is what the format puts in where there is none.
    pub(crate) fn implies_header(&self, header: &Header<'_>) -> bool {
        header.fields().len() == 1 && self.version.is_some() && header.version() == self.version
    }

    /// The keys of a header that would be lost. In headers of versions that do not know them they
    /// say nothing, and are kept like any other.
    pub(crate) fn lost_keys(
        &self,
        header: &Header<'_>,
    ) -> impl Iterator<Item = &'static str> + use<> {
        let keys = if header.version() == Some("2.2") { self.header_keys } else { &[] };
        keys.iter().copied()
    }

    /// Whether the format can carry the conversations of the document as they are.
    pub(crate) fn fits_document(&self, document: &Document<'_>) -> bool {
        match document {
            Document::Conversation(conversation) => self.fits_all(conversation),
            Document::Files(parts) => parts.iter().all(|part| match &part.content {
                Content::Conversation(conversation) => self.fits_all(conversation),
                Content::Text(_) | Content::Infill(_) => true,
            }),
            Document::Infill(_) => true,
        }
    }

    /// Whether the format can carry the conversation as it is.
    pub(crate) fn fits_all(&self, conversation: &Conversation<'_>) -> bool {
        let header = match &conversation.header {
            None => true,
            Some(header) => {
                self.header && self.lost_keys(header).all(|key| header.get(key).is_none())
            }
        };
        header
            && self.fits_tools(conversation)
            && conversation.tools.iter().all(|tool| self.fits_keys(tool))
            && self.fits_preambles(&conversation.messages)
            && match conversation.messages.split_last() {
                None => true,
                Some((last, rest)) => {
                    rest.iter().all(|message| self.fits(message, false)) && self.fits(last, true)
                }
            }
    }
}

/// Whether a message is a call whose arguments are JSON, with no constraint on them.
pub(crate) fn is_json_call(message: &Message<'_>) -> bool {
    let is_json = message.content_type.as_deref() == Some("json");
    message.is_call() && is_json && !message.constrained
}

/// Whether a message is in the channel that sections tell.
fn fits_section(message: &Message<'_>) -> bool {
    let Message { role, channel, recipient, call_id, .. } = message;
    match role {
        Role::Assistant if message.end == End::Prompt => channel.is_none() && recipient.is_none(),
        Role::Assistant if recipient.is_some() => *channel == Some(Channel::Commentary),
        Role::Assistant => {
            matches!(channel, Some(Channel::Analysis | Channel::Final)) && call_id.is_none()
        }
        Role::Tool => {
            *channel == Some(Channel::Commentary) && recipient.as_deref() == Some("assistant")
        }
        _ => channel.is_none() && recipient.is_none() && call_id.is_none(),
    }
}

/// Whether a message, which may be the `last`, ends as its section can. A text of the assistant's
/// that the input ends in is no different from one that is complete.
pub(crate) fn ends_section(message: &Message<'_>, last: bool, open_roles: &[Role]) -> bool {
    let is_call = message.is_call();
    match message.end {
        End::End => !is_call,
        End::Call => is_call,
        // An answer that is empty leaves nothing that could have an end.
        End::Return => last && message.is_answer() && !message.body.is_empty(),
        End::Open => last && (is_call || open_roles.contains(&message.role)),
        End::Prompt => {
            last && message.role == Role::Assistant && !is_call && message.body.is_empty()
        }
    }
}

/// Whether a message is one of those that a turn in JSON is made of.
fn fits_turn(message: &Message<'_>) -> bool {
    match (message.role, &message.recipient) {
        (Role::Assistant, Some(_)) => {
            message.channel == Some(Channel::Commentary) && message.end == End::Call
        }
        (Role::Assistant, None) => {
            let thinks = message.channel == Some(Channel::Analysis);
            message.end == End::End
                && (thinks || message.channel == Some(Channel::Final))
                && message.call_id.is_none()
        }
        (Role::Tool, recipient) => {
            message.channel == Some(Channel::Commentary)
                && recipient.as_deref() == Some("assistant")
                && message.end == End::End
        }
        (_, recipient) => {
            message.channel.is_none()
                && recipient.is_none()
                && message.call_id.is_none()
                && message.end == End::End
        }
    }
}
