//! What a user may see (OpenChatML 2.2 §4, §5, §7, §11).

use std::borrow::Cow;

use crate::model::{Channel, Conversation, Message, Role, Visibility};
use crate::{Code, Diagnostic};

/// Decides what a user may see. An allow-list: whatever it does not name is hidden.
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

/// Whether preambles, which are commentary meant for the user, are shown.
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
    /// They are.
    #[default]
    Show,
    /// They are not.
    Hide,
}

impl Policy {
    /// The default policy, with preambles shown or hidden.
    ///
    /// ```
    /// use openchatml::{Policy, Preambles};
    ///
    /// assert_eq!(Policy::new(Preambles::Show), Policy::default());
    /// ```
    pub const fn new(preambles: Preambles) -> Self {
        Self { preambles }
    }

    /// Whether a user may see a message.
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

    /// What a user may see of a conversation.
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
                    // What follows a marker is reasoning.
                    Some((said, _)) => Cow::Owned(said.text().into_owned()),
                },
            }),
            Visibility::Hidden => None,
        };
        UserView { messages: conversation.messages.iter().map(view).collect() }
    }

    /// All of a conversation, hidden messages included and marked as such. Only for those who
    /// opted into it.
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

/// What a user may see of a conversation. Only [`Policy::view`] makes one.
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

/// A message that a user may see.
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
    /// The messages that a user may see, in their order.
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

    /// The message at `index` of the conversation.
    ///
    /// # Errors
    ///
    /// `E-PERM-VISIBILITY` if it is hidden or not there: which of the two is not said.
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
            let text = format!("message {index} is not for display");
            Box::new(Code::PermVisibility.at(crate::Span::default(), text))
        })
    }
}

impl UserMessage<'_> {
    /// Who speaks: [`Role::User`] or [`Role::Assistant`].
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it is a preamble rather than an answer.
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

    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A message as those see it who opted into seeing all.
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
    /// Whether a user may see it, too.
    pub visibility: Visibility,
    /// The message.
    pub message: &'c Message<'a>,
}
