//! What a completion looks like, whatever language says so.

use openchatml::Control;

use crate::schema::Schema;
use crate::tokens::Region;
use crate::unenforced::Unenforced;

/// A form of text.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// This text.
    Text(String),
    Control(Control),
    Sequence(Vec<Shape>),
    Either(Vec<Shape>),
    /// So often, at least and at most.
    Repeat(Box<Shape>, usize, Option<usize>),
    /// Any text that spells no control token, and the one that ends it unless the engine does.
    Free(Region, Option<Control>),
    /// The value of `call_id`.
    CallId,
    /// JSON as the schema of this part wants it.
    Json(usize),
}

/// The name of the part that is an answer. No recipient is called so.
pub(crate) const ANSWER: &str = "final";

/// Something that has a schema.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The recipient of a call, or `final`.
    pub(crate) name: String,
    pub(crate) schema: Schema,
}

impl Part {
    /// Where it stands.
    pub(crate) fn region(&self) -> Region {
        if self.name == ANSWER { Region::Visible } else { Region::Hidden }
    }

    /// The same, said of this part.
    pub(crate) fn name(&self, unenforced: Unenforced) -> Unenforced {
        Unenforced { part: self.name.clone(), ..unenforced }
    }
}

impl Shape {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// One of these; the only one if there is one.
    pub(crate) fn either(mut shapes: Vec<Self>) -> Self {
        match shapes.len() {
            1 => shapes.remove(0),
            _ => Self::Either(shapes),
        }
    }

    pub(crate) fn optional(shape: Self) -> Self {
        Self::Repeat(Box::new(shape), 0, Some(1))
    }

    /// This and that, in one sequence.
    pub(crate) fn then(self, next: Self) -> Self {
        let mut shapes = match self {
            Self::Sequence(shapes) => shapes,
            shape => vec![shape],
        };
        match next {
            Self::Sequence(next) => shapes.extend(next),
            next => shapes.push(next),
        }
        Self::Sequence(shapes)
    }
}
