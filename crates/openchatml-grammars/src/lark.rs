//! Lark grammars for llguidance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use openchatml::{Control, Data, Value};

use crate::schema::{Dialect, write as write_schema};
use crate::shape::{Part, Shape};
use crate::tokens::{Region, Tokens};
use crate::unenforced::{Requirement, Unenforced};

/// Writes a grammar.
pub(crate) fn write(
    shape: &Shape,
    parts: &[Part],
    tokens: Tokens<'_>,
    unicode_escapes: bool,
    unenforced: &mut Vec<Unenforced>,
) -> String {
    let mut writer = Writer { parts, tokens, unicode_escapes, unenforced, rules: BTreeMap::new() };
    let start = writer.shape(shape);
    let mut out = format!("start: {start}\n");
    for (name, body) in writer.rules {
        let _ = writeln!(out, "{name}: {body}");
    }
    out
}

struct Writer<'w> {
    parts: &'w [Part],
    tokens: Tokens<'w>,
    unicode_escapes: bool,
    unenforced: &'w mut Vec<Unenforced>,
    rules: BTreeMap<String, String>,
}

impl Writer<'_> {
    fn shape(&mut self, shape: &Shape) -> String {
        match shape {
            Shape::Text(text) => quoted(text),
            Shape::Control(control) => self.control(*control),
            Shape::Sequence(shapes) => self.sequence(shapes),
            Shape::Either(shapes) => {
                let shapes: Vec<_> = shapes.iter().map(|shape| self.shape(shape)).collect();
                format!("({})", shapes.join(" | "))
            }
            Shape::Repeat(shape, least, most) => {
                let times = match (least, most) {
                    (0, None) => "*".to_owned(),
                    (0, Some(1)) => "?".to_owned(),
                    (least, None) => format!("{{{least},}}"),
                    (least, Some(most)) => format!("{{{least},{most}}}"),
                };
                let inner = self.shape(shape);
                let is_group = matches!(**shape, Shape::Either(_));
                if is_group { format!("{inner}{times}") } else { format!("({inner}){times}") }
            }
            Shape::Free(region, end) => self.free(*region, *end),
            Shape::CallId => {
                let pattern = format!("/{}/", self.tokens.call_id());
                self.rules.insert("CALL_ID".to_owned(), pattern);
                "CALL_ID".to_owned()
            }
            Shape::Json(index) => self.json(*index),
        }
    }

    /// Adjacent texts become one lexeme, because a lexer matches as much as it can.
    fn sequence(&mut self, shapes: &[Shape]) -> String {
        let mut out: Vec<String> = Vec::new();
        let mut text = String::new();
        for shape in shapes {
            match shape {
                Shape::Text(more) => text.push_str(more),
                Shape::Control(control) if !self.tokens.is_token(*control) => {
                    text.push_str(self.tokens.spelling(*control));
                }
                _ => {
                    if !text.is_empty() {
                        out.push(quoted(&std::mem::take(&mut text)));
                    }
                    out.push(self.shape(shape));
                }
            }
        }
        if !text.is_empty() || out.is_empty() {
            out.push(quoted(&text));
        }
        out.join(" ")
    }

    fn control(&mut self, control: Control) -> String {
        let spelling = self.tokens.spelling(control);
        if self.tokens.is_token(control) { spelling.to_owned() } else { quoted(spelling) }
    }

    /// Free text and the spelled control token that ends it form one lexeme: the lexer could not
    /// distinguish the token from more text.
    fn free(&mut self, region: Region, end: Option<Control>) -> String {
        let spelled = end.filter(|end| !self.tokens.is_token(*end));
        let region = self.tokens.region(region);
        let name = named("TEXT", region);
        let Some(spelled) = spelled else {
            let body = self.terminal(region, false);
            self.rules.insert(name.clone(), body);
            return match end {
                Some(end) => format!("{name} {}", self.tokens.spelling(end)),
                None => name,
            };
        };
        let spelling = self.tokens.spelling(spelled);
        let word: String =
            spelling.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_uppercase();
        let name = format!("{name}_{word}");
        let body = self.terminal(region, true);
        self.rules.insert(name.clone(), format!("({body}) {}", quoted(spelling)));
        name
    }

    /// A terminal for text that spells no control token.
    fn terminal(&mut self, region: Region, ends: bool) -> String {
        let spelled: Vec<_> = self.tokens.spelled(region).map(escaped).collect();
        if spelled.is_empty() {
            return ANY.to_owned();
        }
        let spelled = spelled.join("|");
        if !self.tokens.escapes() {
            return format!("{ANY} & ~/(?s:.*)({spelled})(?s:.*)/");
        }
        // An additional `<` escapes a spelling.
        let plain = format!("{ANY} & ~/((?s:.*)[^<])?({spelled})(?s:.*)/");
        let closed = format!("{plain} & ~/(?s:.*)</");
        let last = if ends { &closed } else { &plain };
        let Some([opening, closing]) = self.tokens.literal() else { return last.clone() };
        let block = format!("{ANY} & ~/(?s:.*){}(?s:.*)/", escaped(closing));
        self.rules.insert("LITERAL_TEXT".to_owned(), block);
        // With an escape before its first token, it would not be a block.
        let before = named("TEXT_BEFORE", region);
        self.rules.insert(before.clone(), closed.clone());
        let block = format!("{} LITERAL_TEXT {}", quoted(opening), quoted(closing));
        format!("({before} {block})* ({last})")
    }

    fn json(&mut self, index: usize) -> String {
        let name = format!("json_{index}");
        if self.rules.contains_key(&name) {
            return name;
        }
        let part = &self.parts[index];
        let (mut schema, unenforced) = write_schema(&part.schema, Dialect::Llguidance);
        self.unenforced.extend(unenforced.into_iter().map(|it| part.name(it)));
        if self.tokens.spelled(part.region()).next().is_some() {
            self.unenforced.push(Unenforced::new(&part.name, Requirement::Controls));
        }
        if let Data::Map(entries) = &mut schema.data
            && self.unicode_escapes
        {
            entries.push(("x-guidance".into(), strings()));
        }
        self.rules.insert(name.clone(), format!("%json {}", schema.to_json()));
        name
    }
}

const ANY: &str = "/(?s:.*)/";

/// Returns a schema for strings with all escapes that JSON allows.
fn strings() -> Value<'static> {
    Data::Map(vec![("json_allow_general_unicode_escapes".into(), true.into())]).into()
}

/// Returns the name of a terminal that differs between regions.
fn named(name: &str, region: Region) -> String {
    match region {
        Region::Hidden => format!("HIDDEN_{name}"),
        Region::Visible => name.to_owned(),
    }
}

/// Quotes text as a string.
fn quoted(text: &str) -> String {
    Value::from(text).to_json()
}

/// Escapes a spelling for a regular expression.
fn escaped(spelling: &str) -> String {
    spelling.replace('|', "\\|").replace('/', "\\/")
}
