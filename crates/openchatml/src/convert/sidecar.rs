//! Sidecars: what a format cannot express, stored next to the output.

use std::borrow::Cow;
use std::fmt;

use crate::diagnostic::quote;
use crate::document::{DocumentReader, write_header};
use crate::json::{Data, Value, write_string};
use crate::model::{Channel, Conversation, End, Header, Intent, Message, Role, Visibility, Weight};
use crate::options::ReadOptions;
use crate::rules::{Loss, Lost, Origins};
use crate::{Code, Diagnostic, Span};

/// The fields of a conversation that a format cannot express. Store it next to the output, and
/// restore the fields after reading the output (HIP-1 §2, §6).
///
/// Its JSON is canonical JSON with only these fields, one object for each written message. `null`
/// marks a message that the conversion added.
///
/// ```
/// use openchatml::convert::{Sidecar, prepare};
/// use openchatml::{Conversation, Message, Role, parse, render};
///
/// let mut question = Message::new(Role::User, "2 + 2?");
/// question.name = Some("Eric".into());
/// let original = Conversation::from_messages([question]);
/// let document = original.clone().into();
///
/// // ChatML has names only for system messages.
/// let chatml = "chatml-wire:text".parse()?;
/// let prepared = prepare(&document, chatml, &Default::default())?;
/// let text = render(&prepared.document, chatml, &Default::default())?;
/// let mut read = parse(&text, chatml, &Default::default()).into_conversation();
/// let sidecar = Sidecar::between(&original, &read, &prepared.origins);
/// assert_eq!(sidecar.to_json(), r#"{"messages":[{"name":"Eric"}]}"#);
/// assert!(sidecar.holds(&prepared.losses[0]));
///
/// Sidecar::from_json(&sidecar.to_json())?.restore(&mut read)?;
/// assert_eq!(read.messages, original.messages);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sidecar {
    /// The original header, if it differs. The inner value is `None` if there was none.
    header: Option<Option<Header<'static>>>,
    messages: Vec<Beside>,
    /// Pairs of positions of a message: in the original, and in the output, in order. Unknown in a
    /// sidecar that was read from JSON.
    places: Vec<(usize, usize)>,
}

/// The stored fields of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Beside {
    /// The original does not have this message.
    New,
    /// The fields that differ, with their original values.
    Changed(Vec<(&'static Field, Option<String>)>),
}

/// A field of a message.
struct Field {
    name: &'static str,
    /// The losses that this field prevents.
    losses: &'static [Lost],
    get: for<'m> fn(&'m Message<'_>) -> Option<Cow<'m, str>>,
    /// Sets the field. Returns whether the value is valid.
    set: fn(&mut Message<'static>, Option<&str>) -> bool,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Field {}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Defines a field with any text.
macro_rules! text {
    ($name:ident, $lost:ident) => {
        Field {
            name: stringify!($name),
            losses: &[Lost::$lost],
            get: |message| message.$name.as_deref().map(Cow::Borrowed),
            set: |message, value| {
                message.$name = value.map(|value| Cow::Owned(value.to_owned()));
                true
            },
        }
    };
}

/// Defines a field that is an optional word.
macro_rules! word {
    ($name:ident, $of:ident, [$($lost:ident),+]) => {
        Field {
            name: stringify!($name),
            losses: &[$(Lost::$lost),+],
            get: |message| message.$name.map(|it| Cow::Borrowed(it.as_str())),
            set: |message, value| {
                message.$name = value.and_then($of::from_word);
                message.$name.is_some() == value.is_some()
            },
        }
    };
}

/// Defines a field that is always a word.
macro_rules! always {
    ($name:ident, $of:ident, [$($lost:ident),+]) => {
        Field {
            name: stringify!($name),
            losses: &[$(Lost::$lost),+],
            get: |message| Some(Cow::Borrowed(message.$name.as_str())),
            set: |message, value| match value.and_then($of::from_word) {
                Some(word) => {
                    message.$name = word;
                    true
                }
                None => false,
            },
        }
    };
}

static FIELDS: &[Field] = &[
    always!(role, Role, [Developer]),
    text!(name, Name),
    text!(recipient, Recipient),
    word!(channel, Channel, [Channel, CommentaryMoved, Preamble]),
    text!(call_id, CallId),
    word!(intent, Intent, [Intent, Preamble]),
    text!(content_type, ContentType),
    Field {
        name: "constrained",
        losses: &[Lost::Constraint],
        get: |message| message.constrained.then_some(Cow::Borrowed("true")),
        set: |message, value| {
            message.constrained = value == Some("true");
            true
        },
    },
    always!(end, End, [Return, CallEnd, Open]),
    Field {
        name: "weight",
        losses: &[Lost::Weight, Lost::Untrained, Lost::Context],
        get: |message| message.weight.map(|weight| Cow::Owned(weight.to_string())),
        set: |message, value| {
            message.weight = value.and_then(|it| it.parse().ok()).and_then(Weight::new);
            message.weight.is_some() == value.is_some()
        },
    },
    Field {
        name: "unread",
        losses: &[Lost::Unread],
        get: |message| message.unread.as_deref().map(Cow::Borrowed),
        set: |message, value| {
            message.unread = value.map(Into::into);
            true
        },
    },
];

/// The error for a sidecar that belongs to another conversation.
///
/// ```
/// use openchatml::Conversation;
/// use openchatml::convert::Sidecar;
///
/// let sidecar = Sidecar::from_json(r#"{"messages":[{"name":"Eric"}]}"#).unwrap();
/// let error = sidecar.restore(&mut Conversation::default()).unwrap_err();
/// assert_eq!(error.to_string(), "the sidecar belongs to a conversation of 1 message, but this one has 0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherConversation {
    expected: usize,
    found: usize,
}

impl fmt::Display for OtherConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        let s = if *expected == 1 { "" } else { "s" };
        write!(
            f,
            "the sidecar belongs to a conversation of {expected} message{s}, but this one has {found}"
        )
    }
}

impl std::error::Error for OtherConversation {}

impl Sidecar {
    /// Returns the differences between `original` and `carried`. `carried` is the output, read
    /// again. `origins` has the positions of its messages in the original.
    pub fn between(
        original: &Conversation<'_>,
        carried: &Conversation<'_>,
        origins: &Origins,
    ) -> Self {
        let mut places = Vec::with_capacity(carried.messages.len());
        let beside = |(at, message): (usize, &Message<'_>)| {
            let Some(from) = origins.of(at) else { return Beside::New };
            let Some(before) = original.messages.get(from) else { return Beside::New };
            places.push((from, at));
            let had_reasoning =
                before.visibility() == Visibility::User && before.body.has_markers();
            if had_reasoning && message.visibility() == Visibility::Hidden {
                // The message can be that reasoning, and its fields would reveal it.
                return Beside::Changed(Vec::new());
            }
            let differ = FIELDS.iter().filter(|it| (it.get)(before) != (it.get)(message));
            let fields = differ.map(|it| (it, (it.get)(before).map(Cow::into_owned)));
            Beside::Changed(fields.collect())
        };
        let messages = carried.messages.iter().enumerate().map(beside).collect();
        places.sort_unstable();
        let differs = original.header != carried.header;
        Self {
            header: differs.then(|| original.header.clone().map(Header::into_owned)),
            messages,
            places,
        }
    }

    /// Whether the sidecar stores nothing.
    ///
    /// ```
    /// assert!(openchatml::convert::Sidecar::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        let says_nothing =
            |beside: &Beside| matches!(beside, Beside::Changed(fields) if fields.is_empty());
        self.header.is_none() && self.messages.iter().all(says_nothing)
    }

    /// Whether the sidecar prevents this loss. Always false after [`from_json`](Self::from_json),
    /// which does not know the original.
    pub fn holds(&self, loss: &Loss) -> bool {
        let Some(lost) = loss.message else {
            let of_header = matches!(loss.lost, Lost::Header | Lost::Capabilities | Lost::Profiles);
            return of_header && matches!(self.header, Some(Some(_)));
        };
        let first = self.places.partition_point(|place| place.0 < lost);
        let places = self.places[first..].iter().take_while(|place| place.0 == lost);
        places.into_iter().any(|place| match &self.messages[place.1] {
            Beside::Changed(fields) => {
                fields.iter().any(|(field, _)| field.losses.contains(&loss.lost))
            }
            Beside::New => false,
        })
    }

    /// Writes the sidecar as JSON, on one line.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        match &self.header {
            Some(Some(header)) => write_header(&mut out, header),
            Some(None) => out.push_str("\"header\":null"),
            None => {}
        }
        out.push_str(if self.header.is_some() { "," } else { "" });
        out.push_str("\"messages\":[");
        for (index, beside) in self.messages.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            let Beside::Changed(fields) = beside else {
                out.push_str("null");
                continue;
            };
            out.push('{');
            for (index, (field, value)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_string(&mut out, field.name);
                out.push(':');
                match value {
                    Some(word) if matches!(field.name, "constrained" | "weight") => {
                        out.push_str(word);
                    }
                    Some(value) => write_string(&mut out, value),
                    None => out.push_str("null"),
                }
            }
            out.push('}');
        }
        out.push_str("]}");
        out
    }

    /// Reads a sidecar from JSON.
    ///
    /// # Errors
    ///
    /// The JSON is not a sidecar.
    ///
    /// ```
    /// use openchatml::convert::Sidecar;
    ///
    /// assert!(Sidecar::from_json(r#"{"messages":[{"call_id":"wx1"},{},null]}"#).is_ok());
    /// assert!(Sidecar::from_json(r#"{"messages":[{"caller":"wx1"}]}"#).is_err());
    /// assert!(Sidecar::from_json(r#"{"messages":[{"constrained":"{}"}]}"#).is_err());
    /// ```
    pub fn from_json(text: &str) -> Result<Self, Diagnostic> {
        let options = ReadOptions::default();
        let mut json = DocumentReader::new(&options).json(text);
        let value = json.value().and_then(|value| json.end().map(|()| value));
        let value = value.map_err(|error| Code::ParseJson.at(error.span, error.message))?;
        if let Some((key, span)) = json.take_duplicates().into_iter().next() {
            let text = format!("duplicate key {}", quote(&key));
            return Err(Code::DuplicateKey.at(span, text));
        }
        let wrong = |span: Span, what: &str| Code::ParseJson.at(span, what);
        let Data::Map(entries) = value.data else {
            return Err(wrong(value.span, "a sidecar must be an object"));
        };
        let mut sidecar = Self::default();
        for (key, value) in entries {
            match (key.as_ref(), value.data) {
                ("header", Data::Map(fields)) => {
                    sidecar.header = Some(Some(Header::from_fields(fields).into_owned()));
                }
                ("header", Data::Null) => sidecar.header = Some(None),
                ("messages", Data::List(messages)) => {
                    let messages = messages.into_iter().map(beside);
                    sidecar.messages = messages.collect::<Result<_, _>>()?;
                }
                _ => {
                    return Err(wrong(
                        value.span,
                        "a sidecar must have an object or `null` as `header` and an array as `messages`",
                    ));
                }
            }
        }
        Ok(sidecar)
    }

    /// Restores all fields.
    ///
    /// # Errors
    ///
    /// The conversation has more or fewer messages than the output.
    pub fn restore(&self, conversation: &mut Conversation<'_>) -> Result<(), OtherConversation> {
        let (expected, found) = (self.messages.len(), conversation.messages.len());
        if expected != found {
            return Err(OtherConversation { expected, found });
        }
        if let Some(header) = &self.header {
            conversation.header.clone_from(header);
        }
        let mut beside = self.messages.iter();
        conversation.messages.retain(|_| beside.next() != Some(&Beside::New));
        let changed = self.messages.iter().filter_map(|beside| match beside {
            Beside::Changed(fields) => Some(fields),
            Beside::New => None,
        });
        for (message, fields) in conversation.messages.iter_mut().zip(changed) {
            if fields.is_empty() {
                continue;
            }
            let mut whole = std::mem::replace(message, Message::new(Role::User, "")).into_owned();
            for (field, value) in fields {
                (field.set)(&mut whole, value.as_deref());
            }
            *message = whole;
        }
        Ok(())
    }
}

fn beside(value: Value<'_>) -> Result<Beside, Diagnostic> {
    let wrong = |span: Span, what: &str| Code::ParseJson.at(span, what);
    let entries = match value.data {
        Data::Null => return Ok(Beside::New),
        Data::Map(entries) => entries,
        _ => {
            return Err(wrong(
                value.span,
                "each item of `messages` in a sidecar must be an object or `null`",
            ));
        }
    };
    let mut fields = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let field = FIELDS.iter().find(|field| field.name == key);
        let field = field.ok_or_else(|| wrong(value.span, "unknown field of a message"))?;
        let text = match (&value.data, field.name) {
            (Data::Null, _) => None,
            (Data::Bool(is_set), "constrained") => is_set.then(|| "true".to_owned()),
            (_, "constrained") => {
                return Err(wrong(value.span, "this field must be `true` or `false`"));
            }
            (Data::Number(text), "weight") => Some(text.clone().into_owned()),
            (_, "weight") => return Err(wrong(value.span, "this field must be a number")),
            (Data::String(text), _) => Some(text.clone().into_owned()),
            _ => return Err(wrong(value.span, "this field must be a string")),
        };
        if !(field.set)(&mut Message::new(Role::User, ""), text.as_deref()) {
            return Err(wrong(value.span, "invalid value of this field"));
        }
        fields.push((field, text));
    }
    Ok(Beside::Changed(fields))
}
