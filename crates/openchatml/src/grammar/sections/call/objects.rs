//! Calls that are JSON objects whose keys have another order, or that are in a list.

use super::super::between::quoted;
use super::super::{Piece, Rules};
use super::{Call, Found, InList, Step, is_space};
use crate::Span;
use crate::grammar::brackets::Brackets;
use crate::json::Json;
use crate::limits::Limits;

/// The parts of a call with another order of keys.
pub(in crate::grammar::sections) struct Parts {
    pub(in crate::grammar::sections) name: String,
    /// The id, in a list of objects.
    pub(in crate::grammar::sections) id: Option<String>,
    pub(in crate::grammar::sections) arguments: Span,
    /// Whether it has unknown keys.
    pub(in crate::grammar::sections) has_others: bool,
    /// Whether it has two names or arguments, so that it is unknown what is called.
    pub(in crate::grammar::sections) is_double: bool,
}

impl<'a> Call<'a> {
    /// Reads the text around the objects of a list.
    pub(super) fn in_list(&mut self, place: InList, text: &str) -> Found {
        let mut place = place;
        for (at, byte) in text.bytes().enumerate() {
            if is_space(byte) {
                continue;
            }
            place = match (place, byte) {
                (InList::Start, b'[') | (InList::Next, b',') => InList::Object,
                (InList::Object, b'{') => {
                    self.step = Step::Object(Brackets::default());
                    return Found::Head(at);
                }
                (InList::Next, b']') => return Found::Listed(at + 1),
                _ => return Found::Wrong(at),
            };
        }
        self.step = Step::List(place);
        Found::Head(text.len())
    }

    pub(super) fn object(&mut self, text: &str) -> Found {
        let Step::Object(brackets) = &mut self.step else { return Found::Wrong(0) };
        for (at, byte) in text.bytes().enumerate() {
            brackets.step(byte);
            if brackets.are_closed() && byte == b'}' {
                return Found::Object(at + 1);
            }
        }
        Found::Head(text.len())
    }

    /// Returns the parts of a complete object, by the names of its keys.
    pub(in crate::grammar::sections) fn parts(
        text: &str,
        rules: &Rules,
        limits: &Limits,
    ) -> Option<Parts> {
        let [name_key, arguments_key] = keys(rules)?;
        let (mut name, mut arguments, mut id) = (None, None, None);
        let are_listed = rules.sections.calls.are_listed();
        let (mut has_others, mut is_double) = (false, false);
        let mut json = Json::new(text, limits).without_notes();
        json.object(|json, key, _| {
            let is_name = key == name_key && name.is_none();
            if is_name && json.peek() == Some(b'"') {
                name = Some(json.string()?.0.into_owned());
                return Ok(());
            }
            let is_text = json.peek() == Some(b'"');
            if are_listed && is_text && key == ID_KEY && id.is_none() {
                id = Some(json.string()?.0.into_owned());
                return Ok(());
            }
            let start = json.position();
            json.skip()?;
            match key == arguments_key && arguments.is_none() {
                true => arguments = Some(Span::new(start, json.position())),
                false if key == name_key || key == arguments_key => is_double = true,
                false => has_others = true,
            }
            Ok(())
        })
        .ok()?;
        let name = name.filter(|name| !name.trim().is_empty())?;
        Some(Parts { name, id, arguments: arguments?, has_others, is_double })
    }
}

/// The key of the id of a call in a list of objects.
const ID_KEY: &str = "id";

/// Returns the text after the arguments of a call in a list of objects.
pub(in crate::grammar::sections) fn tail_of_listed(id: Option<&str>) -> String {
    match id {
        Some(id) => format!(", \"{ID_KEY}\": {}}}", quoted(id)),
        None => "}".to_owned(),
    }
}

/// Returns the keys of the name and the arguments, if calls are objects.
fn keys(rules: &Rules) -> Option<[&'static str; 2]> {
    let mut texts = rules.sections.calls.pieces.iter().filter_map(|piece| match piece {
        Piece::Json(text) => Some(text.split('"').nth(1)),
        _ => None,
    });
    let keys = [texts.next()??, texts.next()??];
    Some(keys)
}
