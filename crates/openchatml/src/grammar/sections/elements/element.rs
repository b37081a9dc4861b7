//! Reads the tags of elements.

use std::collections::HashSet;

use super::{Phase, Scanner};
use crate::declare::{Step, Types};
use crate::grammar::sections::calls::place_in;
use crate::grammar::sections::parameters::To;
use crate::json::write_string;
use crate::{Code, Span};

/// An open element.
pub(super) struct Element {
    /// Its name. The arguments have none.
    pub(super) name: String,
    /// The types that its value can have.
    pub(super) types: Types,
    pub(super) content: Content,
}

/// The content of an element as far as it is known.
pub(super) enum Content {
    /// White space, or what is no string so far.
    Unknown,
    /// A string, whose beginning was written.
    String,
    /// A list, and whether it has items.
    List(bool),
    /// An object, and its keys.
    Object(HashSet<String>),
}

impl Element {
    /// The arguments of a call.
    pub(super) fn arguments() -> Self {
        let content = Content::Object(HashSet::new());
        Self { name: String::new(), types: Types::OBJECT, content }
    }
}

impl<'a> Scanner<'a> {
    /// Reads text in a tag. Returns the number of bytes that belong to it.
    pub(super) fn name(&mut self, text: &str, span: Span, to: &mut To<'_, 'a, '_>) -> usize {
        let end = text.find(self.form.end);
        let len = end.unwrap_or(text.len());
        let most = to.out.options.limits.value_bytes;
        if len > most.saturating_sub(self.name.len()) {
            // It is no name.
            let len = text.floor_char_boundary(most.saturating_sub(self.name.len()));
            self.push_name(&text[..len], Span::new(span.start, place_in(text, span, len)), to);
            self.fail(to);
            return len;
        }
        self.push_name(&text[..len], Span::new(span.start, place_in(text, span, len)), to);
        if end.is_none() {
            return len;
        }
        match self.phase {
            Phase::Open => self.opened(to),
            _ => self.closed(to),
        }
        // The end of a wrong tag is dropped with the rest.
        if self.is_wrong() { len } else { len + self.form.end.len() }
    }

    fn push_name(&mut self, text: &str, span: Span, to: &To<'_, 'a, '_>) {
        self.name.push(text, span, to.out.keep);
    }

    /// Reads a complete opening tag.
    fn opened(&mut self, to: &mut To<'_, 'a, '_>) {
        let most = to.out.options.limits.json_depth;
        if self.open.len() >= most {
            let text = format!("the arguments exceed the limit `json_depth` of {most}");
            to.out.malformed(Code::Limit.at(self.tag, text).help("the call is not run"));
            return self.fail(to);
        }
        self.is_canonical &= self.raw.is_empty();
        self.raw.clear();
        let name = self.name.take().into_owned();
        self.begin_member(&name, to);
        let types = self.types_of(&name, to);
        self.open.push(Element { name, types, content: Content::Unknown });
        (self.phase, self.is_blank) = (Phase::Value, true);
    }

    /// Writes what precedes the value of an element in the innermost one.
    fn begin_member(&mut self, name: &str, to: &mut To<'_, 'a, '_>) {
        let item = self.form.item;
        let Some(parent) = self.open.last_mut() else { return };
        let mut text = String::new();
        if let Content::Unknown = parent.content {
            let is_list = parent.types.has(Types::ARRAY);
            let is_ambiguous = is_list == parent.types.has(Types::OBJECT);
            let is_list = if is_ambiguous { name == item } else { is_list };
            text.push(if is_list { '[' } else { '{' });
            parent.content =
                if is_list { Content::List(false) } else { Content::Object(HashSet::new()) };
        }
        match &mut parent.content {
            Content::List(has_items) => {
                text.push_str(if *has_items { ", " } else { "" });
                *has_items = true;
                if name != item {
                    self.odd.get_or_insert("an item of a list in this call has another name");
                }
            }
            Content::Object(keys) => {
                text.push_str(if keys.is_empty() { "" } else { ", " });
                write_string(&mut text, name);
                text.push_str(": ");
                if name.is_empty() {
                    self.odd.get_or_insert("a key of this call is empty");
                }
                if keys.contains(name) {
                    self.odd.get_or_insert("this call has a key twice");
                }
                // What exceeds the limit is not run.
                if self.len <= to.out.options.limits.message_bytes {
                    keys.insert(name.to_owned());
                }
            }
            Content::Unknown | Content::String => {}
        }
        self.insert(&text, self.tag.start, to);
    }

    /// Returns the types of an element with this name in the innermost one, according to the declared
    /// tools.
    fn types_of(&self, name: &str, to: &To<'_, 'a, '_>) -> Types {
        let Some(tool) = self.tool.and_then(|at| to.out.options.tools.get(at)) else {
            return Types::ANY;
        };
        let names = self.open.iter().skip(1).map(|element| &*element.name).chain([name]);
        let steps = self.open.iter().zip(names).map(|(parent, name)| match parent.content {
            Content::List(_) => Step::Item,
            _ => Step::Key(name),
        });
        Types::at(Some(tool), steps)
    }

    /// Reads a complete closing tag.
    fn closed(&mut self, to: &mut To<'_, 'a, '_>) {
        let name = self.name.as_str();
        let Some(element) = self.open.pop_if(|element| element.name == name) else {
            return self.fail(to);
        };
        self.name.clear();
        match element.content {
            Content::Unknown => self.leaf(element.types, to),
            Content::String => self.insert("\"", self.tag.start, to),
            Content::List(_) => self.insert("]", self.tag.start, to),
            Content::Object(_) => self.insert("}", self.tag.start, to),
        }
        self.phase = Phase::Between;
    }
}
