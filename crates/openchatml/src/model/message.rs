//! Messages.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Body, Channel, End, Intent, Layout, Role, Weight};
use crate::Span;

/// A message of a conversation. It has one role and at most one channel.
///
/// A tool call is a message of the assistant with a `recipient`. A tool reply is a message of role
/// [`Role::Tool`] with the tool's `name`.
///
/// Comparisons use the meaning of messages. Spans and layout do not count.
///
/// ```
/// use openchatml::{Channel, End, Message, Role};
///
/// let mut call = Message::new(Role::Assistant, r#"{"location":"Tokyo"}"#);
/// call.recipient = Some("functions.get_current_weather".into());
/// call.call_id = Some("wx1".into());
/// call.channel = Some(Channel::Commentary);
/// call.content_type = Some("json".into());
/// call.constrained = true;
/// call.end = End::Call;
/// assert!(call.is_call());
/// ```
#[derive(Clone)]
pub struct Message<'a> {
    /// The role: who speaks.
    pub role: Role,
    /// The declared channel, if any; see [`effective_channel`](Self::effective_channel).
    pub channel: Option<Channel>,
    /// The purpose, in addition to the channel.
    pub intent: Option<Intent>,
    /// How the message ends.
    pub end: End,
    /// Whether the content type is a constraint on the body (`<|constrain|>`).
    pub constrained: bool,
    /// Whether the reader guessed a part of the message. Such a message is never run as a call.
    pub recovered: bool,
    /// Whether a completion wrote the message for another role, or after its stop token. Such a
    /// message is not part of the conversation: it is hidden, and the next prompt does not contain
    /// it.
    pub foreign: bool,
    /// The name of the speaker; for role `tool`, the name of the tool.
    pub name: Option<Cow<'a, str>>,
    /// The recipient: the tool of a call, or `assistant` for a reply (`to=`).
    pub recipient: Option<Cow<'a, str>>,
    /// The id that pairs a call with its reply.
    pub call_id: Option<Cow<'a, str>>,
    /// The type of the body: `json`, `text`, `markdown`, …
    pub content_type: Option<Cow<'a, str>>,
    /// The weight of the message in training, if given.
    pub weight: Option<Weight>,
    /// The words of the header that the reader does not know, separated by spaces. A message with
    /// such words is [`recovered`](Self::recovered).
    pub unread: Option<Box<str>>,
    /// The content.
    pub body: Body<'a>,
    /// The place in the input, from the first control token to the last.
    pub span: Span,
    /// The start of the body in the input, or 0 if unknown.
    pub(crate) body_at: usize,
    /// The places of the pieces of the body, if the body is not one piece of the input (because of
    /// escapes).
    pub(crate) pieces: Option<Box<Pieces>>,
    /// Whether the message was read from JSON. The whole message is then its header.
    pub(crate) in_json: bool,
    pub(crate) layout: Option<Box<Layout<'a>>>,
}

/// The places of the pieces of a body. Few messages have them, so they are boxed to keep the others
/// small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces(pub(crate) Vec<PiecePlace>);

/// The place of a piece of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiecePlace {
    /// The start of the piece in the body.
    pub(crate) body: usize,
    /// The start of the piece in the input.
    pub(crate) input: usize,
    /// Whether the input is different text, so that all of the piece has one place.
    pub(crate) is_inserted: bool,
}

/// Who can see a message (OpenChatML 2.2 §4, §5, §11).
///
/// ```
/// use openchatml::{Message, Visibility};
///
/// let messages = [Message::reasoning("Easy."), Message::answer("4.")];
/// let seen = messages.map(|message| message.visibility());
/// assert_eq!(seen, [Visibility::Hidden, Visibility::User]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// The end user can see it.
    User,
    /// Only people who have opted into debugging can see it.
    Hidden,
}

impl<'a> Message<'a> {
    /// Creates a message with this role and body, and with defaults for everything else.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// let mut message = Message::new(Role::User, "Hello there, AI.");
    /// message.name = Some("Eric".into());
    /// assert_eq!((message.channel, message.recipient), (None, None));
    /// ```
    #[inline]
    pub fn new(role: Role, body: impl Into<Body<'a>>) -> Self {
        Self {
            role,
            channel: None,
            intent: None,
            end: End::End,
            constrained: false,
            recovered: false,
            foreign: false,
            name: None,
            recipient: None,
            call_id: None,
            content_type: None,
            weight: None,
            unread: None,
            body: body.into(),
            span: Span::default(),
            body_at: 0,
            pieces: None,
            in_json: false,
            layout: None,
        }
    }

    /// Returns the token ids that this message was sampled or read as, if known.
    ///
    /// The ids are layout: a writer of ids uses them if they still match the message, and
    /// comparisons ignore them.
    ///
    /// ```
    /// use openchatml::Message;
    ///
    /// let mut answer = Message::answer("4.");
    /// answer.set_ids([200005, 17196, 200008, 19, 13, 200002].as_slice());
    /// assert_eq!(answer.ids().map(<[u32]>::len), Some(6));
    /// assert_eq!(answer, Message::answer("4."));
    /// ```
    pub fn ids(&self) -> Option<&[u32]> {
        self.layout.as_ref()?.ids.as_deref()
    }

    /// Sets the token ids that the message was sampled or read as: see [`ids`](Self::ids).
    pub fn set_ids(&mut self, ids: impl Into<Arc<[u32]>>) {
        self.layout.get_or_insert_default().ids = Some(ids.into());
    }

    /// Returns the channel. A message without one is on `final` (OpenChatML 2.2 §5).
    ///
    /// ```
    /// use openchatml::{Channel, Message, Role};
    ///
    /// let message = Message::new(Role::Assistant, "4.");
    /// assert_eq!(message.channel, None);
    /// assert_eq!(message.effective_channel(), Channel::Final);
    /// ```
    pub fn effective_channel(&self) -> Channel {
        self.channel.unwrap_or(Channel::Final)
    }

    /// Whether the message is a call: the assistant speaks, and the message has a recipient.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// let mut message = Message::new(Role::Assistant, "{}");
    /// message.recipient = Some("functions.weather".into());
    /// assert!(message.is_call());
    /// message.role = Role::Tool; // A reply with a recipient.
    /// assert!(!message.is_call());
    /// ```
    pub fn is_call(&self) -> bool {
        self.role == Role::Assistant && self.recipient.is_some()
    }

    /// Whether the message is private reasoning of the assistant.
    ///
    /// ```
    /// use openchatml::{Channel, Message};
    ///
    /// let mut message = Message::reasoning("I search.");
    /// assert!(message.is_reasoning());
    /// message.recipient = Some("browser.search".into()); // A call, on the same channel.
    /// assert!(!message.is_reasoning() && message.channel == Some(Channel::Analysis));
    /// ```
    pub fn is_reasoning(&self) -> bool {
        self.role == Role::Assistant
            && self.recipient.is_none()
            && self.effective_channel() == Channel::Analysis
    }

    /// Whether the message is commentary of the assistant and not a call.
    pub(crate) fn is_commentary(&self) -> bool {
        self.role == Role::Assistant
            && self.recipient.is_none()
            && self.channel == Some(Channel::Commentary)
    }

    /// Whether the message is an answer of the assistant to the user.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// assert!(Message::new(Role::Assistant, "4.").is_answer());
    /// assert!(!Message::new(Role::User, "4.").is_answer());
    /// assert!(!Message::reasoning("4.").is_answer());
    /// ```
    pub fn is_answer(&self) -> bool {
        self.role == Role::Assistant
            && self.recipient.is_none()
            && self.effective_channel() == Channel::Final
    }

    /// Returns who can see the message. Visible are messages of the user, and messages of the
    /// assistant without a recipient that are on `final`, or that are preambles on `commentary`.
    /// All other messages are hidden.
    ///
    /// ```
    /// use openchatml::{Channel, Intent, Message, Role, Visibility};
    ///
    /// let mut note = Message::new(Role::Assistant, "Half done.");
    /// note.channel = Some(Channel::Commentary);
    /// note.intent = Some(Intent::Status);
    /// assert_eq!(note.visibility(), Visibility::Hidden);
    /// note.intent = Some(Intent::Preamble);
    /// assert_eq!(note.visibility(), Visibility::User);
    /// ```
    pub fn visibility(&self) -> Visibility {
        if self.foreign {
            return Visibility::Hidden;
        }
        let shown = match (self.role, self.effective_channel(), self.intent) {
            (Role::User, Channel::Final | Channel::Commentary, _) => true,
            (Role::Assistant, Channel::Final, _)
            | (Role::Assistant, Channel::Commentary, Some(Intent::Preamble)) => {
                self.recipient.is_none()
            }
            _ => false,
        };
        if shown { Visibility::User } else { Visibility::Hidden }
    }

    /// Whether the message is visible to the user and contains reasoning after a marker.
    pub(crate) fn has_visible_reasoning(&self) -> bool {
        self.body.has_markers() && self.visibility() == Visibility::User
    }

    /// Splits the message into the part that a user can see and the reasoning in it, each as a
    /// message. Returns `None` for a hidden message, and for one without a chain-of-thought marker.
    ///
    /// Markers are allowed only on `analysis` (OpenChatML 2.2 §7). The text after a marker in
    /// another message is hidden anyway, and stays hidden in every output format.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Message, Segment, Visibility};
    ///
    /// let answer = Message::answer(Body::from_segments([
    ///     Segment::Text("4.".into()),
    ///     Segment::Marker(Marker::Reason),
    ///     Segment::Text("2 and 2.".into()),
    /// ]));
    /// let (visible, reasoning) = answer.split_reasoning().unwrap();
    /// assert_eq!((visible.body.text().as_ref(), visible.visibility()), ("4.", Visibility::User));
    /// assert!(reasoning.is_reasoning() && reasoning.body.text() == "2 and 2.");
    /// ```
    pub fn split_reasoning(&self) -> Option<(Self, Self)> {
        if !self.has_visible_reasoning() {
            return None;
        }
        let (visible, reasoning) = self.body.split_at_marker()?;
        let mut hidden = Self::new(self.role, reasoning);
        hidden.channel = Some(Channel::Analysis);
        hidden.name.clone_from(&self.name);
        (hidden.recovered, hidden.span, hidden.in_json) = (self.recovered, self.span, self.in_json);
        let mut shown = self.clone();
        shown.body = visible;
        match self.end {
            End::Open | End::Prompt => (shown.end, hidden.end) = (End::End, End::Open),
            End::End | End::Call | End::Return => {}
        }
        if let Some(layout) = &mut shown.layout {
            // The original JSON contains both parts.
            let (form, beyond) = (layout.form, layout.beyond.take());
            **layout = Layout { form, beyond, ..Layout::default() };
        }
        Some((shown, hidden))
    }

    /// Returns the message with owned text.
    ///
    /// ```
    /// use openchatml::Message;
    ///
    /// let line = String::from("4.\n");
    /// let message = Message::answer(line.trim_end()).into_owned();
    /// drop(line);
    /// assert_eq!(message, Message::answer("4."));
    /// ```
    pub fn into_owned(self) -> Message<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Message {
            role: self.role,
            channel: self.channel,
            intent: self.intent,
            end: self.end,
            constrained: self.constrained,
            recovered: self.recovered,
            foreign: self.foreign,
            name: self.name.map(own),
            recipient: self.recipient.map(own),
            call_id: self.call_id.map(own),
            content_type: self.content_type.map(own),
            weight: self.weight,
            unread: self.unread,
            body: self.body.into_owned(),
            span: self.span,
            body_at: self.body_at,
            pieces: self.pieces,
            in_json: self.in_json,
            layout: self.layout.map(|layout| Box::new(layout.into_owned())),
        }
    }

    /// Returns the message with borrowed text, without data that only the dialect's JSON can
    /// express.
    pub(crate) fn borrowed(&self) -> Message<'_> {
        fn borrow<'m>(text: &'m Option<Cow<'_, str>>) -> Option<Cow<'m, str>> {
            text.as_deref().map(Cow::Borrowed)
        }
        Message {
            role: self.role,
            channel: self.channel,
            intent: self.intent,
            end: self.end,
            constrained: self.constrained,
            recovered: self.recovered,
            foreign: self.foreign,
            name: borrow(&self.name),
            recipient: borrow(&self.recipient),
            call_id: borrow(&self.call_id),
            content_type: borrow(&self.content_type),
            weight: self.weight,
            unread: self.unread.clone(),
            body: self.body.borrowed(),
            span: self.span,
            body_at: self.body_at,
            pieces: self.pieces.clone(),
            in_json: self.in_json,
            layout: self.layout.as_ref().map(|layout| Box::new(layout.borrowed())),
        }
    }
}

impl Message<'_> {
    /// Whether the headers of two messages have the same meaning.
    pub(crate) fn has_header_of(&self, other: &Message<'_>) -> bool {
        self.role == other.role
            && self.channel == other.channel
            && self.intent == other.intent
            && self.constrained == other.constrained
            && self.name == other.name
            && self.recipient == other.recipient
            && self.call_id == other.call_id
            && self.content_type == other.content_type
    }
}

impl PartialEq for Message<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.has_header_of(other)
            && self.end == other.end
            && self.recovered == other.recovered
            && self.foreign == other.foreign
            && self.weight == other.weight
            && self.unread == other.unread
            && self.body == other.body
    }
}

impl Eq for Message<'_> {}

/// Prints everything except the body, which can be hidden: debug output goes to logs.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Message");
        out.field("role", &self.role);
        let words = [
            ("name", &self.name),
            ("recipient", &self.recipient),
            ("call_id", &self.call_id),
            ("content_type", &self.content_type),
        ];
        for (field, value) in words {
            if let Some(value) = value {
                out.field(field, value);
            }
        }
        if let Some(channel) = self.channel {
            out.field("channel", &channel);
        }
        if let Some(intent) = self.intent {
            out.field("intent", &intent);
        }
        if self.constrained {
            out.field("constrained", &true);
        }
        if self.recovered {
            out.field("recovered", &true);
        }
        if self.foreign {
            out.field("foreign", &true);
        }
        if let Some(weight) = self.weight {
            out.field("weight", &weight);
        }
        if let Some(unread) = &self.unread {
            out.field("unread", unread);
        }
        out.field("body", &self.body).field("end", &self.end).field("span", &self.span).finish()
    }
}
