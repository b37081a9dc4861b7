//! Documents and conversations.

use crate::model::FormId;
use std::borrow::Cow;

use super::{DocumentLayout, Header, Infill, Message, Pair};
use crate::json::Value;

/// A conversation: an optional header, the declared tools, and a flat list of messages.
///
/// ```
/// use openchatml::{Conversation, Message, Role};
///
/// let conversation = Conversation::from_messages([
///     Message::new(Role::User, "What is 2 + 2?"),
///     Message::answer("4."),
/// ]);
/// assert_eq!(conversation.messages.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Conversation<'a> {
    /// The YAML header, if any.
    pub header: Option<Header<'a>>,
    /// The tools that the model can call.
    pub tools: Vec<Tool<'a>>,
    /// The messages, in order.
    pub messages: Vec<Message<'a>>,
    /// The form that the conversation was read in, or empty.
    pub(crate) origin: FormId,
    pub(crate) layout: Option<Box<DocumentLayout<'a>>>,
}

impl<'a> Conversation<'a> {
    /// Whether the conversation was read in this form, or made for it.
    pub(crate) fn is_of(&self, form: FormId) -> bool {
        self.origin == form
    }

    /// Creates a conversation from messages, without a header.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Role, parse};
    ///
    /// let built = Conversation::from_messages([Message::new(Role::User, "Hi.")]);
    /// let read = parse("<|im_start|>user\nHi.<|im_end|>\n", "chatml".parse()?, &Default::default());
    /// assert_eq!(built, read.into_conversation());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn from_messages(messages: impl IntoIterator<Item = Message<'a>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Returns the conversation with owned text.
    ///
    /// ```
    /// use openchatml::parse;
    ///
    /// let text = String::from("<|im_start|>user\nHi.<|im_end|>\n");
    /// let read = parse(&text, "chatml".parse()?, &Default::default()).into_conversation();
    /// let conversation = read.into_owned();
    /// drop(text);
    /// assert_eq!(conversation.messages[0].body.text(), "Hi.");
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn into_owned(self) -> Conversation<'static> {
        Conversation {
            header: self.header.map(Header::into_owned),
            tools: self.tools.into_iter().map(Tool::into_owned).collect(),
            messages: self.messages.into_iter().map(Message::into_owned).collect(),
            origin: self.origin,
            layout: self.layout.map(|layout| Box::new(layout.into_owned())),
        }
    }
}

impl Conversation<'_> {
    /// Returns the messages with borrowed text, without the tools and without data that only the
    /// JSON of the dialect can express.
    pub(crate) fn borrowed(&self) -> Conversation<'_> {
        Conversation {
            header: self.header.clone(),
            tools: Vec::new(),
            messages: self.messages.iter().map(Message::borrowed).collect(),
            origin: self.origin,
            layout: self.layout.clone(),
        }
    }
}

/// Two conversations are equal if they have the same meaning. Layout does not count.
impl PartialEq for Conversation<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.tools == other.tools && self.messages == other.messages
    }
}

impl Eq for Conversation<'_> {}

/// A tool that is declared to the model, as a function. Canonical JSON and the JSON of services and
/// data sets can contain tools.
///
/// ```
/// use openchatml::{Conversation, RenderOptions, Tool, render};
///
/// let mut conversation = Conversation::default();
/// conversation.tools.push(Tool::new("search"));
/// let text = render(&conversation.into(), "json".parse()?, &RenderOptions::default())?;
/// assert!(text.contains(r#""name":"search""#), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tool<'a> {
    /// The name, without a namespace.
    pub name: Cow<'a, str>,
    /// The description.
    pub description: Option<Cow<'a, str>>,
    /// The JSON Schema of the arguments.
    pub parameters: Option<Value<'a>>,
    /// Other fields of the declaration, in order.
    pub extra: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Tool<'a> {
    /// Returns the tool with owned text.
    ///
    /// ```
    /// use openchatml::Tool;
    ///
    /// let name = String::from("search");
    /// let tool = Tool::new(name.as_str()).into_owned();
    /// drop(name);
    /// assert_eq!(tool.name, "search");
    /// ```
    pub fn into_owned(self) -> Tool<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Tool {
            name: own(self.name),
            description: self.description.map(own),
            parameters: self.parameters.map(Value::into_owned),
            extra: self
                .extra
                .into_iter()
                .map(|(key, value)| (own(key), value.into_owned()))
                .collect(),
        }
    }
}

/// A document. OpenChatML 0.1 has tasks and files, and records of data sets can be pairs. All others
/// are conversations.
///
/// ```
/// use openchatml::{Document, parse};
///
/// let text = "The first file.\n<|file_separator|>\nThe second.";
/// match parse(text, "openchatml-0.1".parse()?, &Default::default()).document {
///     Document::Files(parts) => assert_eq!(parts.len(), 2),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Document<'a> {
    /// A conversation.
    Conversation(Conversation<'a>),
    /// A fill-in-the-middle task (OpenChatML 0.1 §5).
    Infill(Infill<'a>),
    /// A multi-file sequence (OpenChatML 0.1 §6).
    Files(Vec<Part<'a>>),
    /// A preference pair.
    Pair(Box<Pair<'a>>),
}

impl<'a> Document<'a> {
    /// Returns the conversation, if the document is one.
    ///
    /// ```
    /// use openchatml::{Conversation, Document, Infill};
    ///
    /// assert!(Document::from(Conversation::default()).as_conversation().is_some());
    /// assert!(Document::Infill(Infill::new("fn main() {", "}")).as_conversation().is_none());
    /// ```
    pub fn as_conversation(&self) -> Option<&Conversation<'a>> {
        match self {
            Self::Conversation(conversation) => Some(conversation),
            _ => None,
        }
    }

    /// Returns the conversation, or an empty one for other documents.
    ///
    /// ```
    /// use openchatml::{Conversation, Document, Infill};
    ///
    /// let task = Document::Infill(Infill::new("fn main() {", "}"));
    /// assert_eq!(task.into_conversation(), Conversation::default());
    /// ```
    pub fn into_conversation(self) -> Conversation<'a> {
        match self {
            Self::Conversation(conversation) => conversation,
            _ => Conversation::default(),
        }
    }

    /// Returns all conversations: that of the document, those in files, or both of a pair.
    ///
    /// ```
    /// use openchatml::{Conversation, Document, Infill, Pair};
    ///
    /// let pair = Pair::new(Conversation::default(), Conversation::default());
    /// assert_eq!(Document::Pair(pair.into()).conversations().len(), 2);
    /// assert!(Document::Infill(Infill::new("fn main() {", "}")).conversations().is_empty());
    /// ```
    pub fn conversations(&self) -> Vec<&Conversation<'a>> {
        match self {
            Self::Conversation(conversation) => vec![conversation],
            Self::Infill(_) => Vec::new(),
            Self::Files(parts) => {
                let conversations = parts.iter().filter_map(|part| match &part.content {
                    Content::Conversation(conversation) => Some(conversation),
                    Content::Text(_) | Content::Infill(_) => None,
                });
                conversations.collect()
            }
            Self::Pair(pair) => vec![&pair.chosen, &pair.rejected],
        }
    }

    /// Returns all [conversations](Self::conversations), to change them.
    ///
    /// ```
    /// use openchatml::{Conversation, Document, Message};
    ///
    /// let mut document = Document::from(Conversation::from_messages([Message::user("Hi!")]));
    /// for conversation in document.conversations_mut() {
    ///     conversation.messages.push(Message::answer("Hello!"));
    /// }
    /// assert_eq!(document.into_conversation().messages.len(), 2);
    /// ```
    pub fn conversations_mut(&mut self) -> Vec<&mut Conversation<'a>> {
        match self {
            Self::Conversation(conversation) => vec![conversation],
            Self::Infill(_) => Vec::new(),
            Self::Files(parts) => {
                let conversations = parts.iter_mut().filter_map(|part| match &mut part.content {
                    Content::Conversation(conversation) => Some(conversation),
                    Content::Text(_) | Content::Infill(_) => None,
                });
                conversations.collect()
            }
            Self::Pair(pair) => vec![&mut pair.chosen, &mut pair.rejected],
        }
    }

    /// Returns the document with owned text.
    ///
    /// ```
    /// use openchatml::{Document, Infill};
    ///
    /// let text = String::from("fn main() {");
    /// let document = Document::Infill(Infill::new(&text, "}")).into_owned();
    /// drop(text);
    /// assert_eq!(document, Document::Infill(Infill::new("fn main() {", "}")));
    /// ```
    pub fn into_owned(self) -> Document<'static> {
        match self {
            Self::Conversation(conversation) => Document::Conversation(conversation.into_owned()),
            Self::Infill(infill) => Document::Infill(infill.into_owned()),
            Self::Files(parts) => {
                Document::Files(parts.into_iter().map(Part::into_owned).collect())
            }
            Self::Pair(pair) => Document::Pair(Box::new(pair.into_owned())),
        }
    }
}

impl Default for Document<'_> {
    fn default() -> Self {
        Self::Conversation(Conversation::default())
    }
}

impl<'a> From<Conversation<'a>> for Document<'a> {
    fn from(conversation: Conversation<'a>) -> Self {
        Self::Conversation(conversation)
    }
}

/// One file of a multi-file sequence.
///
/// ```
/// use openchatml::{Content, Document, Part, RenderOptions, render};
///
/// let files = ["The first file.", "The second."].map(|text| Content::Text(text.into()));
/// let document = Document::Files(files.map(Part::from).into());
/// let text = render(&document, "openchatml-0.1".parse()?, &RenderOptions::default())?;
/// assert_eq!(text, "The first file.\n<|file_separator|>\nThe second.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Part<'a> {
    /// The content of the file.
    pub content: Content<'a>,
    pub(crate) layout: Option<Box<DocumentLayout<'a>>>,
}

/// The content of a file in a multi-file sequence.
///
/// ```
/// use openchatml::{Content, Document, parse};
///
/// let text = "A file.\n<|file_separator|>\n\
///     <s>\n<|im_start|>user\nExplain it.\n<|im_end|>\n</s>\n";
/// let document = parse(text, "openchatml-0.1".parse()?, &Default::default()).document;
/// let Document::Files(parts) = document else { panic!("{document:?}") };
/// assert_eq!(parts[0].content, Content::Text("A file.".into()));
/// assert!(matches!(&parts[1].content, Content::Conversation(it) if it.messages.len() == 1));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// A fill-in-the-middle task.
    Infill(Infill<'a>),
    /// A conversation.
    Conversation(Conversation<'a>),
}

impl<'a> Part<'a> {
    /// Returns the part with owned text.
    ///
    /// ```
    /// use openchatml::{Content, Part};
    ///
    /// let text = String::from("A file.");
    /// let part = Part::from(Content::Text(text.as_str().into())).into_owned();
    /// drop(text);
    /// assert_eq!(part.content, Content::Text("A file.".into()));
    /// ```
    pub fn into_owned(self) -> Part<'static> {
        Part {
            content: match self.content {
                Content::Text(text) => Content::Text(Cow::Owned(text.into_owned())),
                Content::Infill(infill) => Content::Infill(infill.into_owned()),
                Content::Conversation(conversation) => {
                    Content::Conversation(conversation.into_owned())
                }
            },
            layout: self.layout.map(|layout| Box::new(layout.into_owned())),
        }
    }
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Text(Cow::Borrowed(""))
    }
}

impl<'a> From<Content<'a>> for Part<'a> {
    fn from(content: Content<'a>) -> Self {
        Self { content, layout: None }
    }
}

/// Two parts are equal if their content is equal. Layout does not count.
impl PartialEq for Part<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Part<'_> {}
