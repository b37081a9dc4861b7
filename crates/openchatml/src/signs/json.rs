//! What a JSON format is known by: keys, and words under them.

use super::{ALONE, Items, Kind, Seen, Sketch};

/// What a JSON format is known by.
#[derive(Debug)]
pub(crate) struct JsonSigns {
    /// The keys of a document that hold its messages.
    pub(crate) holders: &'static [&'static str],
    /// Those of them that hold objects around messages.
    pub(crate) around: &'static [&'static str],
    /// The other keys that a document may have.
    pub(crate) keys: &'static [&'static str],
    /// Whether a list may be a document.
    pub(crate) lists: bool,
    /// The key that each message has; one of them.
    pub(crate) required: &'static [&'static str],
    /// The other keys that messages may have; any if empty.
    pub(crate) message_keys: &'static [&'static str],
    /// The kinds of values that content may have.
    pub(crate) content: &'static [Kind],
    /// The types of the parts of content that is a list; any if empty.
    pub(crate) parts: &'static [&'static str],
    /// What speaks for the format, and how much.
    pub(crate) signs: &'static [(Sign, u32)],
    /// How much documents count that all formats know as well.
    pub(crate) usual: u32,
}

/// Something in a document that speaks for a format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// A key of the document.
    Key(&'static str),
    /// A key of the document with a value of this kind.
    KeyOf(&'static str, Kind),
    /// A key of a message.
    Message(&'static str),
    /// A key of a message with a value of this kind.
    MessageOf(&'static str, Kind),
    /// A word under a key of a message.
    Word(&'static str, &'static str),
    /// The end of a word under a key of a message.
    WordEnd(&'static str, &'static str),
    /// The beginning of a word under a key of a message.
    WordStart(&'static str, &'static str),
    /// A key of content that is a mapping, with a value of this kind.
    Content(&'static str, Kind),
    /// The type of a part of content.
    Part(&'static str),
    /// A tool whose schema is declared under the key of Anthropic's alone.
    ForeignTool,
}

impl Sign {
    /// Where it stands, if it does.
    pub(crate) fn find(self, sketch: &Sketch, items: &Items) -> Option<Seen> {
        match self {
            Self::Key(key) => sketch.keys.get(key)?.values().next().copied(),
            Self::KeyOf(key, kind) => sketch.keys.get(key)?.get(&kind).copied(),
            Self::Message(key) => items.keys.get(key).map(|(_, seen)| *seen),
            Self::MessageOf(key, kind) => items.kinds.get(&(key.to_owned(), kind)).copied(),
            Self::Word(key, word) => items.words.get(&(key, word.to_owned())).copied(),
            Self::WordEnd(key, end) => {
                let mut words = items.words.iter();
                words.find(|((at, word), _)| *at == key && word.ends_with(end)).map(|it| *it.1)
            }
            Self::WordStart(key, start) => {
                let mut words = items.words.iter();
                words.find(|((at, word), _)| *at == key && word.starts_with(start)).map(|it| *it.1)
            }
            Self::Content(key, kind) => items.mapping.get(&(key.to_owned(), kind)).copied(),
            Self::Part(kind) => items.parts.get(kind).copied(),
            Self::ForeignTool => sketch.items.get("tools")?.alone,
        }
    }

    /// What it is, for people.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Key(key) | Self::KeyOf(key, _) => format!("key `{key}`"),
            Self::Message(key) => format!("key `{key}` of a message"),
            Self::MessageOf(key, Kind::Null) => format!("`{key}` that is `null`"),
            Self::MessageOf(key, _) => format!("key `{key}` of a message"),
            Self::Word(key, word) => format!("`{key}` that is `{word}`"),
            Self::WordEnd(key, end) => format!("`{key}` that ends in `{end}`"),
            Self::WordStart(key, start) => format!("`{key}` that begins with `{start}`"),
            Self::Content(key, _) => format!("content that is a mapping with `{key}`"),
            Self::Part(kind) => format!("content of type `{kind}`"),
            Self::ForeignTool => format!("key `{}` of a tool", ALONE.0),
        }
    }
}
