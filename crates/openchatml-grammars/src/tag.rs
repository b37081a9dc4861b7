//! Structural tags for xgrammar.

use std::borrow::Cow;

use openchatml::{Control, Data, Value};

use crate::gbnf;
use crate::schema::{Dialect, write as write_schema};
use crate::shape::{Part, Shape};
use crate::tokens::{Region, Tokens};
use crate::unenforced::{Requirement, Unenforced};

/// Writes a structural tag.
pub(crate) fn write(
    shape: &Shape,
    parts: &[Part],
    tokens: Tokens<'_>,
    unenforced: &mut Vec<Unenforced>,
) -> String {
    let mut writer = Writer { parts, tokens, unenforced, is_reported: vec![false; parts.len()] };
    let format = writer.shape(shape);
    object([("type", "structural_tag".into()), ("format", format)]).to_json() + "\n"
}

struct Writer<'w> {
    parts: &'w [Part],
    tokens: Tokens<'w>,
    unenforced: &'w mut Vec<Unenforced>,
    /// Whether the unenforced requirements of each part were reported.
    is_reported: Vec<bool>,
}

fn object<const N: usize>(entries: [(&'static str, Value<'static>); N]) -> Value<'static> {
    Data::Map(entries.map(|(key, value)| (Cow::Borrowed(key), value)).into()).into()
}

fn number(id: u32) -> Value<'static> {
    Data::Number(id.to_string().into()).into()
}

fn constant(text: String) -> Value<'static> {
    object([("type", "const_string".into()), ("value", text.into())])
}

fn list(kind: &'static str, elements: Vec<Value<'static>>) -> Value<'static> {
    object([("type", kind.into()), ("elements", Data::List(elements).into())])
}

impl Writer<'_> {
    fn shape(&mut self, shape: &Shape) -> Value<'static> {
        match shape {
            Shape::Text(text) => constant(text.clone()),
            Shape::Control(control) => self.control(*control),
            Shape::Sequence(shapes) => self.sequence(shapes),
            Shape::Either(shapes) => {
                list("or", shapes.iter().map(|shape| self.shape(shape)).collect())
            }
            Shape::Repeat(shape, least, most) => {
                let content = self.shape(shape);
                match (least, most) {
                    (0, None) => object([("type", "star".into()), ("content", content)]),
                    (0, Some(1)) => object([("type", "optional".into()), ("content", content)]),
                    // `repeat` does not resolve token ids inside it (xgrammar 0.2.8).
                    (least, most) => {
                        let optional =
                            object([("type", "optional".into()), ("content", content.clone())]);
                        let mut elements = vec![content.clone(); *least];
                        match most {
                            Some(most) => {
                                elements.resize((*most).max(*least), optional);
                            }
                            None => elements
                                .push(object([("type", "star".into()), ("content", content)])),
                        }
                        list("sequence", elements)
                    }
                }
            }
            Shape::Free(region, end) => {
                let text = self.free(*region, *end);
                match end {
                    Some(end) => list("sequence", vec![text, self.control(*end)]),
                    None => text,
                }
            }
            Shape::CallId => {
                object([("type", "regex".into()), ("pattern", self.tokens.call_id().into())])
            }
            Shape::Json(index) => self.json(*index),
        }
    }

    fn sequence(&mut self, shapes: &[Shape]) -> Value<'static> {
        let mut elements = Vec::new();
        let mut text = String::new();
        for shape in shapes {
            match shape {
                Shape::Text(more) => text.push_str(more),
                _ => {
                    if !text.is_empty() {
                        elements.push(constant(std::mem::take(&mut text)));
                    }
                    elements.push(self.shape(shape));
                }
            }
        }
        if !text.is_empty() || elements.is_empty() {
            elements.push(constant(text));
        }
        match elements.len() {
            1 => elements.remove(0),
            _ => list("sequence", elements),
        }
    }

    fn control(&self, control: Control) -> Value<'static> {
        let spelling = self.tokens.spelling(control);
        if self.tokens.is_token(control) {
            let token = self.tokens.id(control).map_or_else(|| spelling.into(), number);
            object([("type", "token".into()), ("token", token)])
        } else {
            constant(spelling.to_owned())
        }
    }

    /// Any tokens except control tokens. If some of these are spelled, the text is checked for
    /// their spellings.
    fn free(&self, region: Region, end: Option<Control>) -> Value<'static> {
        if self.tokens.spelled(region).next().is_none() {
            let mut tokens: Vec<Value<'static>> = self.tokens.ids().map(number).collect();
            if tokens.is_empty() {
                tokens = self.tokens.tokens().map(Value::from).collect();
            }
            let key = "exclude_tokens";
            return object([("type", "any_tokens".into()), (key, Data::List(tokens).into())]);
        }
        let ends = end.is_some_and(|end| !self.tokens.is_token(end));
        let grammar = gbnf::body(region, ends, self.tokens);
        object([("type", "grammar".into()), ("grammar", grammar.into())])
    }

    fn json(&mut self, index: usize) -> Value<'static> {
        let part = &self.parts[index];
        let (schema, unenforced) = write_schema(&part.schema, Dialect::Xgrammar);
        if !std::mem::replace(&mut self.is_reported[index], true) {
            self.unenforced.extend(unenforced.into_iter().map(|it| part.name(it)));
            self.unenforced.push(Unenforced::new(&part.name, Requirement::Controls));
        }
        // Our own grammar would also exclude control tokens from strings, but xgrammar takes twenty
        // times as long to compile it (0.2.8, a vocabulary of 200,000).
        object([("type", "json_schema".into()), ("json_schema", schema)])
    }
}
