//! JSON Schemas in a reduced form for grammars.
//!
//! References are resolved, `allOf` is merged, and requirements that no grammar can express are
//! noted. The rest is small enough that each language can express it completely or note what is
//! missing.

mod endless;
mod keywords;
mod merge;
mod read;
mod unions;
mod write;

use openchatml::{Data, Value};

pub(crate) use self::read::read;
pub(crate) use self::write::{Dialect, write};

use crate::unenforced::{Requirement, Unenforced};

/// The index of a node in its schema.
pub(crate) type Id = usize;

/// A schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    entries: Vec<Entry>,
    /// The notes from the conversion.
    pub(crate) unenforced: Vec<Unenforced>,
}

#[derive(Clone, Debug)]
struct Entry {
    node: Node,
    /// The node that contains it, and the path from there.
    parent: Option<Id>,
    step: String,
    /// Whether references point at the node.
    is_named: bool,
}

/// The allowed values of a node.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Any value.
    Any,
    /// No value.
    Never,
    /// One of these.
    Const(Vec<Value<'static>>),
    /// The values that one of these nodes allows.
    Union(Vec<Id>),
    Object(Object),
    Array(Array),
    String(Text),
    Number(Number),
    Bool,
    Null,
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) properties: Vec<Property>,
    /// The values of unlisted properties; `None` if unlisted properties are not allowed.
    pub(crate) additional: Option<Id>,
    /// The number of properties.
    pub(crate) count: Count,
}

#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) value: Id,
    pub(crate) is_required: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Array {
    /// The first items.
    pub(crate) prefix: Vec<Id>,
    /// The items after them; `None` if there are no more.
    pub(crate) items: Option<Id>,
    pub(crate) count: Count,
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// The number of characters.
    pub(crate) count: Count,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) is_integer: bool,
    /// The keywords that limit it.
    pub(crate) bounds: Vec<(&'static str, Value<'static>)>,
}

/// A range of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) least: Option<i64>,
    pub(crate) most: Option<i64>,
}

impl Number {
    /// Returns the range of allowed integers, if the number is an integer with limits that can be
    /// represented exactly.
    pub(crate) fn range(&self) -> Option<Range> {
        let bound = |keyword: &str| match &self.bounds.iter().find(|it| it.0 == keyword)?.1.data {
            Data::Number(spelling) => Some(spelling.parse::<f64>().unwrap_or(f64::NAN)),
            _ => Some(f64::NAN),
        };
        let lower = [bound("minimum"), bound("exclusiveMinimum").map(|it| it.floor() + 1.0)];
        let upper = [bound("maximum"), bound("exclusiveMaximum").map(|it| it.ceil() - 1.0)];
        let all = || lower.iter().chain(&upper).flatten();
        // Beyond this, floats cannot represent every integer.
        let are_exact = all().all(|it| it.abs() <= 9_007_199_254_740_992.0);
        if !self.is_integer || all().next().is_none() || !are_exact {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "they are whole and not too large")]
        let whole = |bound: f64| bound as i64;
        Some(Range {
            least: lower.into_iter().flatten().map(|it| whole(it.ceil())).max(),
            most: upper.into_iter().flatten().map(|it| whole(it.floor())).min(),
        })
    }
}

impl Range {
    /// Whether the range is empty.
    pub(crate) fn is_empty(self) -> bool {
        self.least.zip(self.most).is_some_and(|(least, most)| least > most)
    }
}

/// A range for a number of things, and the keywords that limit it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) least: usize,
    pub(crate) most: Option<usize>,
    pub(crate) keywords: [&'static str; 2],
}

impl Count {
    /// Returns the keywords with limits, and their values.
    pub(crate) fn limits(self) -> impl Iterator<Item = (&'static str, usize)> {
        let least = (self.least > 0).then_some((self.keywords[0], self.least));
        least.into_iter().chain(self.most.map(|most| (self.keywords[1], most)))
    }

    /// Whether the range is empty.
    pub(crate) fn is_empty(self) -> bool {
        self.most.is_some_and(|most| most < self.least)
    }

    /// Whether any number is allowed.
    pub(crate) fn is_any(self) -> bool {
        self.limits().next().is_none()
    }
}

impl Schema {
    /// The root node.
    pub(crate) const ROOT: Id = 0;

    pub(crate) fn node(&self, id: Id) -> &Node {
        self.entries.get(id).map_or(&Node::Any, |entry| &entry.node)
    }

    /// Whether the schema allows no value.
    pub(crate) fn is_never(&self) -> bool {
        matches!(self.node(Self::ROOT), Node::Never)
    }

    /// Whether references point at the node.
    pub(crate) fn is_named(&self, id: Id) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.is_named)
    }

    /// Returns the JSON pointer of a node in the original schema (RFC 6901).
    pub(crate) fn pointer(&self, id: Id) -> String {
        let mut steps = Vec::new();
        let mut at = self.entries.get(id);
        while let Some(entry) = at {
            steps.push(entry.step.as_str());
            at = entry.parent.and_then(|parent| self.entries.get(parent));
        }
        steps.into_iter().rev().collect()
    }

    /// Creates a note for an unenforced keyword of a node.
    pub(crate) fn keyword(&self, id: Id, keyword: &str) -> Unenforced {
        Unenforced::at(self.pointer(id), Requirement::Keyword(keyword.to_owned()))
    }
}
