//! The part of a conversation that a user can see (OpenChatML 2.2 §4, §5, §7, §11).

use std::borrow::Cow;

use crate::model::{Channel, Conversation, Message, Role, Visibility};
use crate::{Code, Diagnostic};

/// Decides what a user can see. This is an allow-list: everything else is hidden.
///
/// ```
/// use openchatml::{Channel, Conversation, Intent, Message, Policy, Preambles, Role};
///
/// let mut plan = Message::new(Role::Assistant, "First I search, then I answer.");
/// plan.channel = Some(Channel::Commentary);
/// plan.intent = Some(Intent::Preamble);
/// let conversation = Conversation::from_messages([plan, Message::reasoning("Hm.")]);
///
/// assert_eq!(Policy::default().view(&conversation).messages().count(), 1);
/// let strict = Policy::new(Preambles::Hide);
/// assert_eq!(strict.view(&conversation).messages().count(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Policy {
    /// Whether preambles are shown.
    pub preambles: Preambles,
}

/// Whether to show preambles, which are commentary for the user.
///
/// ```
/// use openchatml::{Channel, Intent, Message, Policy, Preambles, Role, Visibility};
///
/// let mut plan = Message::new(Role::Assistant, "First I search.");
/// plan.channel = Some(Channel::Commentary);
/// plan.intent = Some(Intent::Preamble);
/// let [show, hide] = [Preambles::Show, Preambles::Hide].map(Policy::new);
/// assert_eq!(show.visibility(&plan), Visibility::User);
/// assert_eq!(hide.visibility(&plan), Visibility::Hidden);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preambles {
    /// Preambles are shown.
    #[default]
    Show,
    /// Preambles are hidden.
    Hide,
}

impl Policy {
    /// Creates the default policy, with preambles shown or hidden.
    ///
    /// ```
    /// use openchatml::{Policy, Preambles};
    ///
    /// assert_eq!(Policy::new(Preambles::Show), Policy::default());
    /// ```
    pub const fn new(preambles: Preambles) -> Self {
        Self { preambles }
    }

    /// Returns who can see a message.
    ///
    /// ```
    /// use openchatml::{Message, Policy, Role, Visibility};
    ///
    /// let policy = Policy::default();
    /// let mut message = Message::new(Role::Assistant, r#"{"location":"Tokyo"}"#);
    /// assert_eq!(policy.visibility(&message), Visibility::User);
    /// message.recipient = Some("functions.weather".into());
    /// assert_eq!(policy.visibility(&message), Visibility::Hidden);
    /// ```
    pub fn visibility(self, message: &Message<'_>) -> Visibility {
        let is_preamble = message.effective_channel() == Channel::Commentary;
        match message.visibility() {
            Visibility::User
                if message.role == Role::Assistant
                    && is_preamble
                    && self.preambles == Preambles::Hide =>
            {
                Visibility::Hidden
            }
            visibility => visibility,
        }
    }

    /// Returns the part of a conversation that a user can see.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Policy, Role};
    ///
    /// let conversation = Conversation::from_messages([
    ///     Message::new(Role::System, "Be brief."),
    ///     Message::new(Role::User, "What is 2 + 2?"),
    ///     Message::answer("4."),
    /// ]);
    /// let view = Policy::default().view(&conversation);
    /// let seen: Vec<_> = view.messages().map(|message| message.text()).collect();
    /// assert_eq!(seen, ["What is 2 + 2?", "4."]);
    /// ```
    pub fn view<'c>(self, conversation: &'c Conversation<'_>) -> UserView<'c> {
        let view = |message| match self.visibility(message) {
            Visibility::User => Some(UserMessage {
                role: message.role,
                is_preamble: message.effective_channel() == Channel::Commentary
                    && message.role == Role::Assistant,
                text: match message.body.split_at_marker() {
                    None => message.body.text(),
                    // The text after a marker is reasoning.
                    Some((visible, _)) => Cow::Owned(visible.text().into_owned()),
                },
            }),
            Visibility::Hidden => None,
        };
        UserView { messages: conversation.messages.iter().map(view).collect() }
    }

    /// Returns all messages of a conversation, including hidden ones, which are marked. Use it only
    /// for people who have opted in.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Policy, Visibility};
    ///
    /// let conversation = Conversation::from_messages([Message::reasoning("Hm.")]);
    /// let debug: Vec<_> = Policy::default().debug_view(&conversation).collect();
    /// assert_eq!(debug[0].visibility, Visibility::Hidden);
    /// ```
    pub fn debug_view<'c, 'a>(
        self,
        conversation: &'c Conversation<'a>,
    ) -> impl Iterator<Item = DebugMessage<'c, 'a>> {
        conversation
            .messages
            .iter()
            .map(move |message| DebugMessage { visibility: self.visibility(message), message })
    }
}

/// The part of a conversation that a user can see. Only [`Policy::view`] creates one.
///
/// ```
/// use openchatml::{Conversation, Message, Policy};
///
/// let conversation = Conversation::from_messages([
///     Message::reasoning("The user wants a greeting."),
///     Message::answer("Hello!"),
/// ]);
/// let view = Policy::default().view(&conversation);
/// assert_eq!(view.message(1).unwrap().text(), "Hello!");
/// let refused = view.message(0).unwrap_err();
/// assert_eq!(refused.code.as_str(), "E-PERM-VISIBILITY");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserView<'c> {
    messages: Vec<Option<UserMessage<'c>>>,
}

/// A message that a user can see.
///
/// ```
/// use openchatml::{Conversation, Message, Policy, Role};
///
/// let conversation = Conversation::from_messages([Message::answer("4.")]);
/// let view = Policy::default().view(&conversation);
/// let message = view.message(0)?;
/// assert_eq!((message.role(), message.text()), (Role::Assistant, "4."));
/// assert!(!message.is_preamble());
/// # Ok::<(), Box<openchatml::Diagnostic>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessage<'c> {
    role: Role,
    is_preamble: bool,
    text: Cow<'c, str>,
}

impl<'c> UserView<'c> {
    /// Returns the visible messages, in order.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Policy};
    ///
    /// let messages = [Message::reasoning("Easy."), Message::answer("4.")];
    /// let conversation = Conversation::from_messages(messages);
    /// let view = Policy::default().view(&conversation);
    /// assert_eq!(view.messages().count(), 1);
    /// ```
    pub fn messages(&self) -> impl Iterator<Item = &UserMessage<'c>> {
        self.messages.iter().flatten()
    }

    /// Returns the message at `index` of the conversation.
    ///
    /// # Errors
    ///
    /// `E-PERM-VISIBILITY` if the message is hidden or does not exist. The error does not reveal
    /// which.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Policy};
    ///
    /// let conversation = Conversation::from_messages([Message::reasoning("Hm.")]);
    /// let view = Policy::default().view(&conversation);
    /// let hidden = view.message(0).unwrap_err();
    /// let absent = view.message(7).unwrap_err();
    /// assert_eq!(hidden.code, absent.code);
    /// ```
    pub fn message(&self, index: usize) -> Result<&UserMessage<'c>, Box<Diagnostic>> {
        self.messages.get(index).and_then(Option::as_ref).ok_or_else(|| {
            let text = format!("cannot show message {index}: it is hidden or does not exist");
            let found = Code::PermVisibility.at(crate::Span::default(), text);
            // Their indices, and messages without text, could reveal what is hidden.
            let texts = self.messages().filter(|message| !message.text().is_empty());
            let help = match texts.count() {
                1 => "1 message is visible".to_owned(),
                count => format!("{count} messages are visible"),
            };
            Box::new(found.help(help))
        })
    }
}

impl UserMessage<'_> {
    /// Returns the role: [`Role::User`] or [`Role::Assistant`].
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether the message is a preamble, not an answer.
    ///
    /// ```
    /// use openchatml::{Channel, Conversation, Intent, Message, Policy, Role};
    ///
    /// let mut plan = Message::new(Role::Assistant, "First I search.");
    /// plan.channel = Some(Channel::Commentary);
    /// plan.intent = Some(Intent::Preamble);
    /// let conversation = Conversation::from_messages([plan, Message::answer("Here it is.")]);
    /// let view = Policy::default().view(&conversation);
    /// let preambles: Vec<_> = view.messages().map(|message| message.is_preamble()).collect();
    /// assert_eq!(preambles, [true, false]);
    /// ```
    pub fn is_preamble(&self) -> bool {
        self.is_preamble
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A message in a debug view, which includes hidden messages.
///
/// ```
/// use openchatml::{Conversation, Message, Policy, Visibility};
///
/// let messages = [Message::reasoning("Easy."), Message::answer("4.")];
/// let conversation = Conversation::from_messages(messages);
/// let marked = Policy::default().debug_view(&conversation).map(|debug| {
///     let mark = if debug.visibility == Visibility::Hidden { "hidden: " } else { "" };
///     format!("{mark}{}", debug.message.body.text())
/// });
/// assert_eq!(marked.collect::<Vec<_>>(), ["hidden: Easy.", "4."]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebugMessage<'c, 'a> {
    /// Who can see it.
    pub visibility: Visibility,
    /// The message.
    pub message: &'c Message<'a>,
}
