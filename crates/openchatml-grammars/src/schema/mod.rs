//! JSON Schemas, in the few forms that grammars are made of.
//!
//! References are followed, `allOf` is merged, and what no grammar can say is noted. What remains
//! is small enough for each language to say all of it, or to note what it does not.

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

/// The place of a node in its schema.
pub(crate) type Id = usize;

/// A schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    entries: Vec<Entry>,
    /// What was noted while it was read.
    pub(crate) unenforced: Vec<Unenforced>,
}

#[derive(Clone, Debug)]
struct Entry {
    node: Node,
    /// What it is a part of, and how to get there from that.
    parent: Option<Id>,
    step: String,
    /// Whether others refer to it by name.
    is_named: bool,
}

/// What a value may be.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Anything.
    Any,
    /// Nothing at all.
    Never,
    /// One of these.
    Const(Vec<Value<'static>>),
    /// What one of these may be.
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
    /// What properties that are not listed may be; `None` if there are none.
    pub(crate) additional: Option<Id>,
    /// How many properties there are, at least and at most.
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
    /// What follows them; `None` if nothing does.
    pub(crate) items: Option<Id>,
    pub(crate) count: Count,
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// How many characters there are, at least and at most.
    pub(crate) count: Count,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) is_integer: bool,
    /// The keywords that bound it.
    pub(crate) bounds: Vec<(&'static str, Value<'static>)>,
}

/// The integers from here to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) least: Option<i64>,
    pub(crate) most: Option<i64>,
}

impl Number {
    /// The integers that its bounds leave, if it is an integer that has any, of which none is too
    /// large to be told exactly.
    pub(crate) fn range(&self) -> Option<Range> {
        let bound = |keyword: &str| match &self.bounds.iter().find(|it| it.0 == keyword)?.1.data {
            Data::Number(spelling) => Some(spelling.parse::<f64>().unwrap_or(f64::NAN)),
            _ => Some(f64::NAN),
        };
        let lower = [bound("minimum"), bound("exclusiveMinimum").map(|it| it.floor() + 1.0)];
        let upper = [bound("maximum"), bound("exclusiveMaximum").map(|it| it.ceil() - 1.0)];
        let all = || lower.iter().chain(&upper).flatten();
        // Beyond that, a float is not each integer.
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
    /// Whether there is no such integer.
    pub(crate) fn is_empty(self) -> bool {
        self.least.zip(self.most).is_some_and(|(least, most)| least > most)
    }
}

/// A number of things, and the keywords that bound it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) least: usize,
    pub(crate) most: Option<usize>,
    pub(crate) keywords: [&'static str; 2],
}

impl Count {
    /// The keywords that say something, with what they say.
    pub(crate) fn said(self) -> impl Iterator<Item = (&'static str, usize)> {
        let least = (self.least > 0).then_some((self.keywords[0], self.least));
        least.into_iter().chain(self.most.map(|most| (self.keywords[1], most)))
    }

    /// Whether there is no such number.
    pub(crate) fn is_empty(self) -> bool {
        self.most.is_some_and(|most| most < self.least)
    }

    /// Whether any number will do.
    pub(crate) fn is_any(self) -> bool {
        self.said().next().is_none()
    }
}

impl Schema {
    /// Where every value begins.
    pub(crate) const ROOT: Id = 0;

    pub(crate) fn node(&self, id: Id) -> &Node {
        self.entries.get(id).map_or(&Node::Any, |entry| &entry.node)
    }

    /// Whether no value at all is allowed.
    pub(crate) fn is_never(&self) -> bool {
        matches!(self.node(Self::ROOT), Node::Never)
    }

    /// Whether others refer to it by name.
    pub(crate) fn is_named(&self, id: Id) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.is_named)
    }

    /// Where a node is in the schema that was read (RFC 6901).
    pub(crate) fn pointer(&self, id: Id) -> String {
        let mut steps = Vec::new();
        let mut at = self.entries.get(id);
        while let Some(entry) = at {
            steps.push(entry.step.as_str());
            at = entry.parent.and_then(|parent| self.entries.get(parent));
        }
        steps.into_iter().rev().collect()
    }

    /// Notes that a keyword of a node is not said.
    pub(crate) fn keyword(&self, id: Id, keyword: &str) -> Unenforced {
        Unenforced::at(self.pointer(id), Requirement::Keyword(keyword.to_owned()))
    }
}
