//! The evidence for a JSON format: keys, and words under them.

use super::{ALONE, Items, Kind, Seen, Sketch};

/// The evidence for a JSON format.
#[derive(Debug)]
pub(crate) struct JsonSigns {
    /// The keys of a document with its messages.
    pub(crate) holders: &'static [&'static str],
    /// The keys among them with objects around messages.
    pub(crate) around: &'static [&'static str],
    /// The other known keys of a document.
    pub(crate) keys: &'static [&'static str],
    /// Whether a document can be a list.
    pub(crate) lists: bool,
    /// The keys of which each message has one.
    pub(crate) required: &'static [&'static str],
    /// The other known keys of a message, or empty if any key is allowed.
    pub(crate) message_keys: &'static [&'static str],
    /// The kinds of values that content can have.
    pub(crate) content: &'static [Kind],
    /// The types of content parts in a list, or empty if any type is allowed.
    pub(crate) parts: &'static [&'static str],
    /// The evidence, with weights.
    pub(crate) signs: &'static [(Sign, u32)],
    /// The weight of documents that all formats match equally well.
    pub(crate) usual: u32,
}

/// A feature of a document that is evidence for a format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// A key of the document.
    Key(&'static str),
    /// A key of the document with a value of this kind.
    KeyOf(&'static str, Kind),
    /// Two keys of the document itself, and not of the documents in it.
    Both(&'static str, &'static str),
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
    /// A key of a part of content.
    PartKey(&'static str),
    /// A tool with its schema under `input_schema`.
    SchemaOfInput,
}

impl Sign {
    /// Returns the place of the feature, if the document has it.
    pub(crate) fn find(self, sketch: &Sketch, items: &Items) -> Option<Seen> {
        match self {
            Self::Key(key) => sketch.keys.get(key)?.values().next().copied(),
            Self::KeyOf(key, kind) => sketch.keys.get(key)?.get(&kind).copied(),
            Self::Both(_, _) if sketch.has_sides => None,
            Self::Both(one, other) => {
                sketch.keys.get(other)?;
                sketch.keys.get(one)?.values().next().copied()
            }
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
            Self::PartKey(key) => items.part_keys.get(key).copied(),
            Self::SchemaOfInput => sketch.items.get("tools")?.alone,
        }
    }

    /// Describes the feature for people.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Key(key) | Self::KeyOf(key, _) => format!("key `{key}`"),
            Self::Both(one, other) => format!("keys `{one}` and `{other}`"),
            Self::Message(key) => format!("key `{key}` of a message"),
            Self::MessageOf(key, Kind::Null) => format!("`{key}` that is `null`"),
            Self::MessageOf(key, _) => format!("key `{key}` of a message"),
            Self::Word(key, word) => format!("`{key}` that is `{word}`"),
            Self::WordEnd(key, end) => format!("`{key}` that ends in `{end}`"),
            Self::WordStart(key, start) => format!("`{key}` that begins with `{start}`"),
            Self::Content(key, _) => format!("content that is a mapping with `{key}`"),
            Self::Part(kind) => format!("content of type `{kind}`"),
            Self::PartKey(key) => format!("key `{key}` of content"),
            Self::SchemaOfInput => format!("key `{}` of a tool", ALONE.0),
        }
    }
}
