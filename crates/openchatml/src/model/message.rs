//! One message.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Body, Channel, End, Intent, Layout, Role, Weight};
use crate::Span;

/// One message of a conversation, with one role and at most one channel.
///
/// A tool call is a message of the assistant with a `recipient`; a tool's reply is a message of
/// role [`Role::Tool`] with the tool's `name`.
///
/// Messages compare by what they say. Where they stood and how they were laid out does not count.
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
    /// Who speaks.
    pub role: Role,
    /// The channel, if one was declared; see [`effective_channel`](Self::effective_channel).
    pub channel: Option<Channel>,
    /// What it is for, beyond its channel.
    pub intent: Option<Intent>,
    /// How it ends.
    pub end: End,
    /// Whether the content type is a constraint that the body must satisfy (`<|constrain|>`).
    pub constrained: bool,
    /// Whether the reader had to guess at it. Such a message is never dispatched as a call.
    pub recovered: bool,
    /// Whether a completion said it in the name of somebody else, or after its stop token. Such a
    /// message is no part of the conversation: it is hidden, and dropped from the next prompt.
    pub foreign: bool,
    /// The speaker's name; for role `tool`, the name of the tool.
    pub name: Option<Cow<'a, str>>,
    /// Whom it is for: the tool of a call, `assistant` for a reply (`to=`).
    pub recipient: Option<Cow<'a, str>>,
    /// What ties a call to its reply.
    pub call_id: Option<Cow<'a, str>>,
    /// The type of the body: `json`, `text`, `markdown`, …
    pub content_type: Option<Cow<'a, str>>,
    /// How much it counts in training, where that is said.
    pub weight: Option<Weight>,
    /// The words of its header that the reader could not understand, with a space between them.
    /// A message that has some is [`recovered`](Self::recovered).
    pub unread: Option<Box<str>>,
    /// What it says.
    pub body: Body<'a>,
    /// Where it stood in the input, from its first control token to its last.
    pub span: Span,
    /// Where the body begins in the input; 0 where that is not known.
    pub(crate) body_at: usize,
    /// Where the pieces of the body stand, if it is not one piece there, as with escapes: where each
    /// begins in the body, and in the input.
    pub(crate) pieces: Option<Box<Pieces>>,
    /// Whether it was read from JSON: then its header is all of it.
    pub(crate) in_json: bool,
    pub(crate) layout: Option<Box<Layout<'a>>>,
}

/// Where the pieces of a body stand. Few messages have any, and the others should be small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces(pub(crate) Vec<(usize, usize)>);

/// Who may see a message (OpenChatML 2.2 §4, §5, §11).
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
    /// The end user may see it.
    User,
    /// Only who opted into debugging may see it.
    Hidden,
}

impl<'a> Message<'a> {
    /// A message of `role` that says `body`, with nothing else declared.
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

    /// The token ids that this message was sampled or read as, if they are known.
    ///
    /// They are layout: a writer of ids uses them as far as they still say what the message says,
    /// and they do not count when messages are compared.
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

    /// Says as which token ids the message was sampled or read: see [`ids`](Self::ids).
    pub fn set_ids(&mut self, ids: impl Into<Arc<[u32]>>) {
        self.layout.get_or_insert_default().ids = Some(ids.into());
    }

    /// The channel that counts: a message without one is `final` (OpenChatML 2.2 §5).
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

    /// Whether it asks a tool for something: the assistant speaks, and to somebody.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// let mut message = Message::new(Role::Assistant, "{}");
    /// message.recipient = Some("functions.weather".into());
    /// assert!(message.is_call());
    /// message.role = Role::Tool; // A reply that says whom it is for.
    /// assert!(!message.is_call());
    /// ```
    pub fn is_call(&self) -> bool {
        self.role == Role::Assistant && self.recipient.is_some()
    }

    /// Whether it is the assistant's private reasoning.
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

    /// Whether it is one of the assistant on `commentary`, and no call.
    pub(crate) fn is_commentary(&self) -> bool {
        self.role == Role::Assistant
            && self.recipient.is_none()
            && self.channel == Some(Channel::Commentary)
    }

    /// Whether it is an answer of the assistant to the user.
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

    /// Who may see it. Everything that is not listed here is hidden: what the user said; what the
    /// assistant says to nobody in particular on `final`, or on `commentary` as a preamble.
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

    /// Whether reasoning follows a marker in a message that the user sees.
    pub(crate) fn has_visible_reasoning(&self) -> bool {
        self.body.has_markers() && self.visibility() == Visibility::User
    }

    /// What a user may see of the message, and the reasoning that stands in it, each as a message
    /// of its own. `None` for a message that is hidden, or has no chain-of-thought marker.
    ///
    /// Markers belong into `analysis` (OpenChatML 2.2 §7). What follows one in another message is
    /// hidden all the same, and stays so in every format that the message is written in.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Message, Segment, Visibility};
    ///
    /// let answer = Message::answer(Body::from_segments([
    ///     Segment::Text("4.".into()),
    ///     Segment::Marker(Marker::Reason),
    ///     Segment::Text("2 and 2.".into()),
    /// ]));
    /// let (said, reasoning) = answer.split_reasoning().unwrap();
    /// assert_eq!((said.body.text().as_ref(), said.visibility()), ("4.", Visibility::User));
    /// assert!(reasoning.is_reasoning() && reasoning.body.text() == "2 and 2.");
    /// ```
    pub fn split_reasoning(&self) -> Option<(Self, Self)> {
        if !self.has_visible_reasoning() {
            return None;
        }
        let (said, reasoning) = self.body.split_at_marker()?;
        let mut hidden = Self::new(self.role, reasoning);
        hidden.channel = Some(Channel::Analysis);
        hidden.name.clone_from(&self.name);
        (hidden.recovered, hidden.span, hidden.in_json) = (self.recovered, self.span, self.in_json);
        let mut shown = self.clone();
        shown.body = said;
        match self.end {
            End::Open | End::Prompt => (shown.end, hidden.end) = (End::End, End::Open),
            End::End | End::Call | End::Return => {}
        }
        if let Some(layout) = &mut shown.layout {
            // How it was written says all of it.
            let (form, beyond) = (layout.form, layout.beyond.take());
            **layout = Layout { form, beyond, ..Layout::default() };
        }
        Some((shown, hidden))
    }

    /// The same message, owning its text.
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

    /// The same message, borrowing its text; without what only the JSON of its dialect says.
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
    /// Whether the headers of two messages say the same.
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

/// Everything but what it says: a body may be hidden, and debugging output ends up in logs.
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
