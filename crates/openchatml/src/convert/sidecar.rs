//! What does not travel with a conversation, beside it.

use std::borrow::Cow;
use std::fmt;

use crate::diagnostic::quote;
use crate::document::{Sheet, write_header};
use crate::json::{Data, Value, write_string};
use crate::model::{Channel, Conversation, End, Header, Intent, Message, Role, Visibility, Weight};
use crate::options::ReadOptions;
use crate::rules::{Loss, Lost, Origins};
use crate::{Code, Diagnostic, Span};

/// The fields of a conversation that a format cannot carry, to be kept beside what is written in
/// that format, and put back when it is read again (HIP-1 §2, §6).
///
/// Its JSON is canonical JSON with nothing but these fields: an object for each message that was
/// written. What is `null` was put in, and was not there before.
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
/// let chatml = "chatml".parse()?;
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
    /// The header, if it is another one: there may have been none.
    header: Option<Option<Header<'static>>>,
    messages: Vec<Beside>,
    /// Where messages stand in the original, and here, in order. Unknown of a sidecar that was read.
    places: Vec<(usize, usize)>,
}

/// What is beside one message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Beside {
    /// It was not in the original.
    New,
    /// These of its fields are other ones.
    Changed(Vec<(&'static Field, Option<String>)>),
}

/// A field of a message.
struct Field {
    name: &'static str,
    /// What is lost when it is not carried.
    losses: &'static [Lost],
    get: for<'m> fn(&'m Message<'_>) -> Option<Cow<'m, str>>,
    /// Whether the message can have it.
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

/// A field that is any text.
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

/// A field that is a word or nothing.
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

/// A field that is always a word.
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
        losses: &[Lost::Weight],
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

/// A sidecar that belongs to another conversation.
///
/// ```
/// use openchatml::Conversation;
/// use openchatml::convert::Sidecar;
///
/// let sidecar = Sidecar::from_json(r#"{"messages":[{"name":"Eric"}]}"#).unwrap();
/// let error = sidecar.restore(&mut Conversation::default()).unwrap_err();
/// assert_eq!(error.to_string(), "the sidecar is for 1 message, and there are 0");
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
        write!(f, "the sidecar is for {expected} message{s}, and there are {found}")
    }
}

impl std::error::Error for OtherConversation {}

impl Sidecar {
    /// What `original` has and `carried` has not: `carried` is what is read of what was written, and
    /// `origins` says where its messages stand in the original.
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
                // It may be that reasoning, and the fields of the message would show it.
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

    /// Whether there is nothing to keep.
    ///
    /// ```
    /// assert!(openchatml::convert::Sidecar::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        let says_nothing =
            |beside: &Beside| matches!(beside, Beside::Changed(fields) if fields.is_empty());
        self.header.is_none() && self.messages.iter().all(says_nothing)
    }

    /// Whether what was lost is in here. Not so after [`from_json`](Self::from_json), which does not
    /// know the original.
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

    /// As JSON, on one line.
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

    /// Reads the JSON of a sidecar.
    ///
    /// # Errors
    ///
    /// It is not the JSON of one.
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
        let mut json = Sheet::new(&options).json(text);
        let value = json.value().and_then(|value| json.end().map(|()| value));
        let value = value.map_err(|error| Code::ParseJson.at(error.span, error.message))?;
        if let Some((key, span)) = json.take_duplicates().into_iter().next() {
            let text = format!("key {} is given twice", quote(&key));
            return Err(Code::DuplicateKey.at(span, text));
        }
        let wrong = |span: Span, what: &str| Code::ParseJson.at(span, what);
        let Data::Map(entries) = value.data else {
            return Err(wrong(value.span, "a sidecar is an object"));
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
                _ => return Err(wrong(value.span, "a sidecar has a `header` and `messages`")),
            }
        }
        Ok(sidecar)
    }

    /// Puts everything back where it was.
    ///
    /// # Errors
    ///
    /// There are more messages, or fewer, than were written.
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
        _ => return Err(wrong(value.span, "what is beside a message is an object or `null`")),
    };
    let mut fields = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let field = FIELDS.iter().find(|field| field.name == key);
        let field = field.ok_or_else(|| wrong(value.span, "a message has no such field"))?;
        let text = match (&value.data, field.name) {
            (Data::Null, _) => None,
            (Data::Bool(is_set), "constrained") => is_set.then(|| "true".to_owned()),
            (_, "constrained") => return Err(wrong(value.span, "this field is `true` or `false`")),
            (Data::Number(text), "weight") => Some(text.clone().into_owned()),
            (_, "weight") => return Err(wrong(value.span, "this field is a number")),
            (Data::String(text), _) => Some(text.clone().into_owned()),
            _ => return Err(wrong(value.span, "this field is a text")),
        };
        if !(field.set)(&mut Message::new(Role::User, ""), text.as_deref()) {
            return Err(wrong(value.span, "this field has no such value"));
        }
        fields.push((field, text));
    }
    Ok(Beside::Changed(fields))
}
