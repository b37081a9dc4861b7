//! A sketch of JSON documents: their keys and those of their messages, without texts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Span;
use crate::json::{Json, JsonError};

type Result<T> = std::result::Result<T, JsonError>;

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    List,
    Map,
}

impl Kind {
    /// Returns the kind of the next value.
    fn next(json: &mut Json<'_>) -> Self {
        match json.peek() {
            Some(b'"') => Self::String,
            Some(b'[') => Self::List,
            Some(b'{') => Self::Map,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

/// The record and the place where something was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) record: usize,
    pub(crate) span: Span,
}

/// The structure of JSON documents. For each feature, the first place is stored.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    record: usize,
    /// The keys of documents that are objects, and the kinds of their values.
    pub(crate) keys: BTreeMap<String, BTreeMap<Kind, Seen>>,
    /// Arrays that are documents.
    pub(crate) list: Option<Seen>,
    /// The keys of the objects in lists that can contain messages, by the key of the list. The key
    /// is empty for a document that is a list.
    pub(crate) items: BTreeMap<String, Items>,
    /// Documents that can be single messages, as items of a list.
    pub(crate) message: Items,
    /// Whether a document is nothing but the sides of a preference pair, which can be documents, too.
    pub(crate) has_sides: bool,
}

/// The structure of the items of a list.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// The number of items.
    pub(crate) count: usize,
    /// The number of items that are strings.
    pub(crate) strings: usize,
    /// The keys of the objects, with their number and their first place.
    pub(crate) keys: BTreeMap<String, (usize, Seen)>,
    /// The place of an object with the key of [`ALONE`] and without the other keys.
    pub(crate) alone: Option<Seen>,
    /// The kinds of the values of keys, as `key: kind`.
    pub(crate) kinds: BTreeMap<(String, Kind), Seen>,
    /// The words under the keys that tell the kind of an item, as `key: word`.
    pub(crate) words: BTreeMap<(&'static str, String), Seen>,
    /// The keys of content that is a mapping, as `key: kind`. A list of objects counts as an
    /// object.
    pub(crate) mapping: BTreeMap<(String, Kind), Seen>,
    /// The types of parts of content that is a list, or empty for a part without a type.
    pub(crate) parts: BTreeMap<String, Seen>,
    /// The keys of the parts of content.
    pub(crate) part_keys: BTreeMap<String, Seen>,
}

/// Keys whose words tell the kind of an item.
const WORDS: &[&str] = &["role", "from", "type", "token", "content_type"];

/// A key that is evidence only in an object without the other keys.
pub(crate) const ALONE: (&str, &[&str]) = ("input_schema", &["parameters", "function"]);

/// The keys of both sides of a preference pair.
pub(crate) const SIDES: [&str; 2] = ["chosen", "rejected"];

/// The maximum number of different keys. More keys are not evidence.
const MOST_KEYS: usize = 256;

impl Sketch {
    /// Adds a document. Invalid JSON ends it; everything before counts.
    pub(crate) fn add(&mut self, text: &str, limits: &crate::Limits) {
        let mut json = Json::new(text, limits).repairing();
        let sides = sides(&mut json);
        self.has_sides |= !sides.is_empty();
        self.document_at(0, text, limits);
        for side in sides {
            self.document_at(side, text, limits);
        }
        self.record += 1;
    }

    /// Adds the document at a byte of the text.
    fn document_at(&mut self, start: usize, text: &str, limits: &crate::Limits) {
        let json = || {
            let mut json = Json::new(text, limits).repairing();
            json.advance(start);
            json
        };
        let keys = self.keys.len();
        let _ = self.document(&mut json());
        let is_new = self.keys.len() > keys || self.message.count > 0;
        if is_new && ["role", "from", "type"].iter().any(|key| self.keys.contains_key(*key)) {
            let _ = self.message.item(&mut json(), self.record);
        }
    }

    /// Counts a blank record.
    pub(crate) fn skip(&mut self) {
        self.record += 1;
    }

    fn seen(&self, span: Span) -> Seen {
        Seen { record: self.record, span }
    }

    /// Forgets the keys without values, if there are lists of objects: data sets that were joined have
    /// the columns of each other.
    pub(crate) fn forget_absent(&mut self) {
        if self.items.iter().any(|(key, items)| !key.is_empty() && !items.keys.is_empty()) {
            self.keys.retain(|_, kinds| kinds.keys().any(|kind| *kind != Kind::Null));
        }
    }

    fn document(&mut self, json: &mut Json<'_>) -> Result<()> {
        let start = json.offset();
        match json.peek() {
            Some(b'[') => {
                let seen = self.seen(Span::new(start, start + 1));
                self.list.get_or_insert(seen);
                self.list_of(json, "")
            }
            Some(b'{') => json
                .object(|json, key, span| {
                    let (kind, seen) = (Kind::next(json), self.seen(span));
                    if self.keys.len() < MOST_KEYS || self.keys.contains_key(key.as_ref()) {
                        let kinds = self.keys.entry(key.clone().into_owned()).or_default();
                        kinds.entry(kind).or_insert(seen);
                    }
                    match kind {
                        Kind::List => self.list_of(json, &key),
                        _ => json.pass(),
                    }
                })
                .map(|_| ()),
            _ => json.pass(),
        }
    }

    fn list_of(&mut self, json: &mut Json<'_>, key: &str) -> Result<()> {
        let record = self.record;
        let mut items = self.items.remove(key).unwrap_or_default();
        let read = json.array(|json| items.item(json, record)).map(|_| ());
        if self.items.len() < MOST_KEYS {
            self.items.insert(key.to_owned(), items);
        }
        read
    }
}

/// Returns the starts of the sides of a preference pair, if the document has nothing but its sides:
/// then it can be a pair in a format of one conversation, which is evident only inside.
fn sides(json: &mut Json<'_>) -> Vec<usize> {
    let mut starts = Vec::new();
    if json.peek() != Some(b'{') || !json.begins_with(&SIDES) {
        return starts;
    }
    let mut has_others = false;
    // Invalid JSON ends it; everything before counts.
    let _ = json.object(|json, key, _| {
        let is_side = SIDES.contains(&key.as_ref());
        has_others |= !is_side;
        if is_side && matches!(Kind::next(json), Kind::List | Kind::Map) {
            starts.push(json.offset());
        }
        json.pass()
    });
    if has_others { Vec::new() } else { starts }
}

impl Items {
    fn item(&mut self, json: &mut Json<'_>, record: usize) -> Result<()> {
        self.count += 1;
        if json.peek() != Some(b'{') {
            self.strings += usize::from(json.peek() == Some(b'"'));
            return json.pass();
        }
        let (mut alone, mut has_others) = (None, false);
        json.object(|json, key, span| {
            let (kind, seen) = (Kind::next(json), Seen { record, span });
            if key == ALONE.0 {
                alone.get_or_insert(seen);
            }
            has_others |= ALONE.1.contains(&key.as_ref());
            if self.keys.len() < MOST_KEYS || self.keys.contains_key(key.as_ref()) {
                self.keys.entry(key.clone().into_owned()).or_insert((0, seen)).0 += 1;
                self.kinds.entry((key.clone().into_owned(), kind)).or_insert(seen);
            }
            let word = WORDS.iter().find(|word| **word == key);
            match (key.as_ref(), kind) {
                (_, Kind::String) if word.is_some() => {
                    let text = json.string()?.0.into_owned();
                    if let Some(word) = word.filter(|_| self.words.len() < MOST_KEYS) {
                        self.words.entry((*word, text)).or_insert(seen);
                    }
                    Ok(())
                }
                ("content" | "parts", Kind::List) => self.parts(json, record),
                ("content", Kind::Map) => json
                    .object(|json, key, span| {
                        let mut kind = Kind::next(json);
                        let read = if kind == Kind::List {
                            kind = Kind::Map;
                            let items = json.array(|json| {
                                if json.peek() != Some(b'{') {
                                    kind = Kind::List;
                                }
                                json.pass()
                            });
                            items.map(|_| ())
                        } else {
                            json.pass()
                        };
                        let entry = (key.into_owned(), kind);
                        self.mapping.entry(entry).or_insert(Seen { record, span });
                        read
                    })
                    .map(|_| ()),
                _ => json.pass(),
            }
        })?;
        if !has_others {
            self.alone = self.alone.or(alone);
        }
        Ok(())
    }

    fn parts(&mut self, json: &mut Json<'_>, record: usize) -> Result<()> {
        json.array(|json| {
            let start = json.offset();
            let mut seen = Seen { record, span: Span::new(start, start + 1) };
            let mut kind = Cow::Borrowed("");
            if json.peek() != Some(b'{') {
                return json.pass();
            }
            json.object(|json, key, span| {
                if self.part_keys.len() < MOST_KEYS {
                    self.part_keys.entry(key.clone().into_owned()).or_insert(Seen { record, span });
                }
                if key == "type" && json.peek() == Some(b'"') {
                    let (word, _) = json.string()?;
                    (kind, seen.span) = (Cow::Owned(word.into_owned()), span);
                    return Ok(());
                }
                json.pass()
            })?;
            if self.parts.len() < MOST_KEYS {
                self.parts.entry(kind.into_owned()).or_insert(seen);
            }
            Ok(())
        })
        .map(|_| ())
    }

    /// Whether each item is an object with this key.
    pub(crate) fn all_have(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(|(count, _)| *count == self.count)
    }
}
