//! GBNF grammars for llama.cpp.

mod integer;
mod json;
mod keys;
mod rules;
mod text;

use openchatml::Control;

use self::rules::{Rules, quoted};
use self::text::{Kind, text as text_rules};
use crate::shape::{Part, Shape};
use crate::tokens::{Region, Tokens};
use crate::unenforced::Unenforced;

/// Writes a grammar.
pub(crate) fn write(
    shape: &Shape,
    parts: &[Part],
    tokens: Tokens<'_>,
    unenforced: &mut Vec<Unenforced>,
) -> String {
    let mut writer = Writer { rules: Rules::default(), parts, tokens, unenforced };
    let root = writer.shape(shape);
    writer.rules.finish(&root)
}

/// Writes a grammar for only a body.
pub(crate) fn body(region: Region, ends: bool, tokens: Tokens<'_>) -> String {
    let mut rules = Rules::default();
    let root = text_rules(&mut rules, Kind::Body { region, ends }, tokens);
    rules.finish(&root)
}

struct Writer<'w> {
    rules: Rules,
    parts: &'w [Part],
    tokens: Tokens<'w>,
    unenforced: &'w mut Vec<Unenforced>,
}

impl Writer<'_> {
    fn shape(&mut self, shape: &Shape) -> String {
        match shape {
            Shape::Text(text) => quoted(text),
            Shape::Control(control) => self.control(*control),
            Shape::Sequence(shapes) => {
                let shapes: Vec<_> = shapes.iter().map(|shape| self.shape(shape)).collect();
                if shapes.is_empty() { "\"\"".to_owned() } else { shapes.join(" ") }
            }
            Shape::Either(shapes) => {
                let shapes: Vec<_> = shapes.iter().map(|shape| self.shape(shape)).collect();
                format!("({})", shapes.join(" | "))
            }
            Shape::Repeat(shape, least, most) => {
                let [inner, times] = [self.shape(shape), json::repeats(*least, *most)];
                let is_group = matches!(**shape, Shape::Either(_));
                if is_group { format!("{inner}{times}") } else { format!("({inner}){times}") }
            }
            Shape::Free(region, end) => {
                let ends = end.is_some_and(|end| !self.tokens.is_token(end));
                let kind = Kind::Body { region: *region, ends };
                let text = text_rules(&mut self.rules, kind, self.tokens);
                match end {
                    Some(end) => format!("{text} {}", self.control(*end)),
                    None => text,
                }
            }
            Shape::CallId => {
                self.rules.add("call-id", &self.tokens.call_id());
                "call-id".to_owned()
            }
            Shape::Json(index) => self.json(*index),
        }
    }

    fn control(&mut self, control: Control) -> String {
        let spelling = self.tokens.spelling(control);
        if self.tokens.is_token(control) { spelling.to_owned() } else { quoted(spelling) }
    }

    fn json(&mut self, index: usize) -> String {
        let name = format!("json-{index}");
        if !self.rules.has(&name) {
            let part = &self.parts[index];
            let prefix = format!("json-{index}");
            let (root, unenforced) =
                json::json(&mut self.rules, &part.schema, &prefix, part.region(), self.tokens);
            self.unenforced.extend(unenforced.into_iter().map(|it| part.name(it)));
            self.rules.add(&name, &root);
        }
        name
    }
}
