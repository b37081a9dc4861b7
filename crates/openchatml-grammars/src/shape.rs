//! The shape of a completion, independent of the grammar language.

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
    /// A repetition with its minimum and maximum.
    Repeat(Box<Shape>, usize, Option<usize>),
    /// Any text that does not spell a control token, and the token that ends it unless the engine
    /// stops there.
    Free(Region, Option<Control>),
    /// The value of `call_id`.
    CallId,
    /// JSON that matches the schema of this part.
    Json(usize),
}

/// The name of the answer. No recipient has this name.
pub(crate) const ANSWER: &str = "final";

/// A part with a schema.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The recipient of a call, or `final`.
    pub(crate) name: String,
    pub(crate) schema: Schema,
}

impl Part {
    /// Returns the region of the part.
    pub(crate) fn region(&self) -> Region {
        if self.name == ANSWER { Region::Visible } else { Region::Hidden }
    }

    /// Assigns a note to this part.
    pub(crate) fn name(&self, unenforced: Unenforced) -> Unenforced {
        Unenforced { part: self.name.clone(), ..unenforced }
    }
}

impl Shape {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Creates a choice of these. A single shape remains itself.
    pub(crate) fn either(mut shapes: Vec<Self>) -> Self {
        match shapes.len() {
            1 => shapes.remove(0),
            _ => Self::Either(shapes),
        }
    }

    pub(crate) fn optional(shape: Self) -> Self {
        Self::Repeat(Box::new(shape), 0, Some(1))
    }

    /// Creates a sequence of two shapes.
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
