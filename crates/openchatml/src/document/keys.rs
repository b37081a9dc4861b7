//! Keys of JSON objects: which are known, which mean the same, and which can hide a message.

use std::borrow::Cow;

use crate::diagnostic::is_misspelled;

/// Whether a key, in any format, can mean that a message is not for the user. If its value is
/// dropped, it is unknown who can see the message.
pub(crate) fn may_hide(key: &str) -> bool {
    is_one_of(key, HIDING) || is_one_of(key, SHOWING)
}

/// Whether a key with this value leaves a message visible. `first` is the first byte of the value in
/// JSON.
pub(crate) fn is_harmless(key: &str, first: Option<u8>) -> bool {
    let shows = is_one_of(key, SHOWING);
    matches!(first, Some(b'n')) || first == Some(if shows { b't' } else { b'f' })
}

/// Whether the key is one of these, in camel case, too.
fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|known| letters(key).eq(letters(known)))
}

/// Returns the letters of a key, in lower case.
fn letters(key: &str) -> impl Iterator<Item = u8> + '_ {
    let letters = key.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
    letters.map(|byte| byte.to_ascii_lowercase())
}

/// Keys that show a message if they are `true`.
const SHOWING: &[&str] = &["visible", "is_visible"];

/// Keys that hide a message.
const HIDING: &[&str] = &[
    "channel",
    "recipient",
    "to",
    "phase",
    "thought",
    "hidden",
    "is_thought",
    "is_hidden",
    "is_visually_hidden_from_conversation",
    "is_reasoning",
    "internal",
    "is_internal",
    "is_private",
    "private",
    "visibility",
];

/// Whether it is unknown who can see a message if two values of this key contradict each other.
pub(crate) fn may_hide_twice(key: &str) -> bool {
    may_hide(key) || matches!(key, "role" | "from" | "type")
}

/// Returns the set of `keys` among the `known` keys that mean the same: bit `n` is the key at
/// position `n`.
pub(crate) const fn same(known: &[&str], keys: &[&str]) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while at < known.len() {
        let mut key = 0;
        while key < keys.len() {
            let (one, two) = (known[at].as_bytes(), keys[key].as_bytes());
            let mut byte = 0;
            while byte < one.len() && byte < two.len() && one[byte] == two[byte] {
                byte += 1;
            }
            bits |= ((one.len() == byte && two.len() == byte) as u64) << at;
            key += 1;
        }
        at += 1;
    }
    bits
}

/// The keys of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'k> {
    pub(crate) known: &'k [&'static str],
    /// The sets of keys that mean the same.
    pub(crate) same: &'k [u64],
    pub(crate) others: Others<'k>,
}

/// The other keys that an object can have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Others<'k> {
    /// None.
    None,
    /// Any fields. A misspelling of these keys is a mistake.
    Fields(&'k [&'static str]),
    /// Any columns of a data set. A misspelling of these keys is a mistake, but not their plural:
    /// `answers` beside `answer` is another column.
    Columns(&'k [&'static str]),
}

impl Others<'_> {
    /// Whether an object can have this key, which is not a known one.
    pub(super) fn include(self, key: &str) -> bool {
        let is_mistake = |meant: &[&str]| [meant, HIDING].iter().any(|it| is_misspelled(key, it));
        let plural_of = |meant: &&str| key.strip_suffix('s') == Some(*meant);
        !may_hide(key)
            && match self {
                Self::None => false,
                Self::Fields(meant) => !is_mistake(meant),
                Self::Columns(meant) => meant.iter().any(plural_of) || !is_mistake(meant),
            }
    }
}

/// A key of an object that can have any other keys.
#[derive(Clone, Debug)]
pub(crate) enum Key<'a> {
    Known(&'static str),
    Other(Cow<'a, str>),
}
