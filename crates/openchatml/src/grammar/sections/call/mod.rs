//! Reads one tool call as it arrives.

mod arguments;
mod objects;

pub(super) use self::objects::{Parts, tail_of_listed};

use std::borrow::Cow;

use super::attributes::Attributes;
use super::elements::Scanner as ElementScanner;
use super::parameters::{Scanner, To};
use super::tree::Scanner as TreeScanner;
use super::{Piece, Rules};
use crate::Control;
use crate::Span;
use crate::grammar::brackets::Brackets;
use crate::json::Json;
use crate::limits::Limits;
use crate::reading::{Draft, Keep, Kept, Out};
use crate::rules::{CallAttributes, Tag};

/// A call while it is read.
pub(super) struct Call<'a> {
    /// The beginning of its opening token.
    pub(super) from: usize,
    /// The piece that is read, and how much of it was read.
    piece: usize,
    matched: usize,
    step: Step,
    /// The text before its arguments.
    pub(super) head: Kept<'a>,
    name: String,
    /// Its id, if a token precedes one.
    pub(super) id: Option<String>,
    /// Its parameters, while they are read.
    pub(super) parameters: Option<Box<Scanner>>,
    /// Its arguments in a syntax of their own, while they are read.
    pub(super) tree: Option<Box<TreeScanner<'a>>>,
    /// Its arguments as elements, while they are read.
    pub(super) elements: Option<Box<ElementScanner<'a>>>,
    /// The call, once its name is known.
    pub(super) draft: Option<Box<Draft<'a>>>,
    /// Whether the space before its arguments was read.
    is_spaced: bool,
    /// Its text that is not part of a call.
    pub(super) dropped: Kept<'a>,
    /// Whether it contains such text.
    pub(super) is_odd: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// In the text before the arguments.
    Head,
    /// In the name, a JSON string, and whether the next byte is escaped.
    Name(bool),
    Arguments(Brackets),
    /// In arguments that have another reader.
    Parameters,
    /// After the arguments.
    Tail,
    /// In text after the whole call.
    Rest,
    /// In unknown keys.
    Other(Brackets),
    /// In an object with another order of keys, or in a list, which must be read completely first.
    Object(Brackets),
    /// In a list of objects.
    List(InList),
}

/// The position in a list of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InList {
    /// Before its bracket.
    Start,
    /// Before an object, which must follow.
    Object,
    /// After an object.
    Next,
}

/// The meaning of the next bytes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This number of bytes is before the arguments.
    Head(usize),
    /// After this number of bytes, the arguments begin.
    Begins(usize),
    /// After this number of bytes, a call without arguments is complete.
    Empty(usize),
    /// This number of bytes belongs to the arguments.
    Arguments(usize),
    /// This number of bytes is after the arguments.
    Tail(usize),
    /// This number of bytes is not part of a call, and is dropped.
    Dropped(usize),
    /// After this number of bytes, an object with another order of keys is complete.
    Object(usize),
    /// After this number of bytes, a list of objects has ended.
    Listed(usize),
    /// After this number of bytes, the call is malformed.
    Wrong(usize),
}

impl Found {
    /// Returns the number of bytes.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Head(len) | Self::Begins(len) | Self::Empty(len) | Self::Arguments(len) => len,
            Self::Tail(len) | Self::Dropped(len) | Self::Object(len) | Self::Listed(len) => len,
            Self::Wrong(len) => len,
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Whether a piece is text up to a token.
fn ends_at_token(piece: &Piece) -> bool {
    matches!(
        piece,
        Piece::NameUpTo(_) | Piece::IdUpTo(_) | Piece::NameAndId { .. } | Piece::Attributes(_)
    )
}

impl<'a> Call<'a> {
    pub(super) fn new(from: usize) -> Self {
        Self {
            from,
            piece: 0,
            matched: 0,
            step: Step::Head,
            head: Kept::default(),
            name: String::new(),
            id: None,
            parameters: None,
            tree: None,
            elements: None,
            draft: None,
            is_spaced: false,
            dropped: Kept::default(),
            is_odd: false,
        }
    }

    /// Begins a list of calls.
    pub(super) fn list(from: usize) -> Self {
        Self { step: Step::List(InList::Start), ..Self::new(from) }
    }

    /// Continues a list of calls after a call in it.
    pub(super) fn next_of_list(from: usize) -> Self {
        Self { step: Step::List(InList::Next), ..Self::new(from) }
    }

    /// Whether it is the end of a list that nothing has followed yet.
    pub(super) fn is_next_of_list(&self) -> bool {
        self.step == Step::List(InList::Next)
    }

    /// Whether its arguments are read by a reader of their own.
    pub(super) fn has_scanner(&self) -> bool {
        self.parameters.is_some() || self.tree.is_some() || self.elements.is_some()
    }

    /// Whether a control token is text here, inside a string.
    pub(super) fn is_text(&self, control: Control) -> bool {
        if let Some(tree) = &self.tree {
            return tree.is_text(control);
        }
        match self.step {
            Step::Arguments(brackets) | Step::Other(brackets) | Step::Object(brackets) => {
                brackets.is_in_string()
            }
            Step::Name(_) => true,
            Step::Head | Step::Parameters | Step::Tail | Step::Rest | Step::List(_) => false,
        }
    }

    /// Whether the arguments or keys after them have begun, and not the end of the call.
    pub(super) fn is_in_arguments(&self) -> bool {
        matches!(self.step, Step::Arguments(_) | Step::Other(_))
    }

    /// Whether the call is complete.
    pub(super) fn is_whole(&self, rules: &Rules) -> bool {
        match self.step {
            Step::Rest => true,
            Step::Tail => self.piece == rules.sections.calls.pieces.len(),
            // If the arguments are the last piece, they end where the call ends.
            Step::Arguments(brackets) => {
                brackets.are_closed() && self.piece + 1 == rules.sections.calls.pieces.len()
            }
            _ => false,
        }
    }

    /// Marks a call complete after an object with another order of keys.
    pub(super) fn complete(&mut self, rules: &Rules) {
        self.step = Step::Tail;
        self.piece = rules.sections.calls.pieces.len();
    }

    /// Takes the name of the tool.
    pub(super) fn take_name(&mut self) -> String {
        std::mem::take(&mut self.name)
    }

    /// Whether what was read in place of the name can be one.
    pub(super) fn can_be_named(&self, rules: &Rules) -> bool {
        let name = self.name.trim_ascii();
        !name.is_empty() && rules.can_be_named(name)
    }

    /// Whether the text before the name was read.
    pub(super) fn is_behind_word(&self) -> bool {
        self.piece > 0
    }

    /// Keeps text before the arguments.
    pub(super) fn keep(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        self.head.push(text, span, keep);
    }

    /// Records text that is not part of a call.
    pub(super) fn drop_text(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        self.is_odd = true;
        self.dropped.push(text, span, keep);
    }

    /// Removes the white space behind the dropped text.
    pub(super) fn trim_dropped(&mut self) {
        let is_json_space = |char| u8::try_from(char).is_ok_and(is_space);
        let len = self.dropped.as_str().trim_end_matches(is_json_space).len();
        if len < self.dropped.len() {
            self.dropped.split_back(len);
        }
    }

    /// Reads the beginning of `text`, and returns its meaning.
    pub(super) fn next(&mut self, text: &str, rules: &Rules) -> Found {
        match self.step {
            Step::Head | Step::Name(_) => self.read_head(text, rules),
            Step::Arguments(_) => self.arguments(text, rules),
            Step::Tail => self.tail(text, rules),
            Step::Parameters => Found::Wrong(0),
            Step::Rest => Found::Dropped(text.len()),
            Step::Other(_) => self.others(text),
            Step::Object(_) => self.object(text),
            Step::List(place) => self.in_list(place, text),
        }
    }

    fn read_head(&mut self, text: &str, rules: &Rules) -> Found {
        let pieces = rules.sections.calls.pieces;
        for (at, byte) in text.bytes().enumerate() {
            let Some(piece) = pieces.get(self.piece) else { return Found::Wrong(at) };
            match (piece, self.step) {
                (Piece::Name, Step::Name(escaped)) => {
                    let len = self.name_bytes(&text[at..], escaped);
                    return Found::Head(at + len);
                }
                (Piece::Name | Piece::Token(_), _) if is_space(byte) => {}
                (Piece::Name, _) if byte == b'"' => {
                    self.name.clear();
                    self.name.push('"');
                    self.step = Step::Name(false);
                }
                (piece, _) if ends_at_token(piece) => {
                    self.id.as_mut().unwrap_or(&mut self.name).push_str(&text[at..]);
                    return Found::Head(text.len());
                }
                (Piece::Json(wanted), _) => {
                    if is_space(byte) {
                        continue;
                    }
                    if !self.matches(wanted, byte) {
                        return self.mismatch(at);
                    }
                }
                (Piece::Arguments, _) if byte == b'\n' && self.has_line(rules) => {}
                // The first space is before the arguments, further spaces are part of them.
                (Piece::Arguments, _)
                    if byte == b' ' && !self.is_spaced && self.has_space(rules) =>
                {
                    self.is_spaced = true;
                }
                (Piece::Arguments, _) if is_space(byte) && self.ends_itself(rules) => {}
                (Piece::Arguments, _) if self.is_no_object(byte, rules) => return Found::Wrong(at),
                (Piece::Arguments, _) => {
                    self.step = Step::Arguments(Brackets::default());
                    return Found::Begins(at);
                }
                (Piece::Name, _) => return self.mismatch(at),
                (Piece::Word(wanted), _) => {
                    if !is_space(byte) && !self.matches(wanted, byte) {
                        return Found::Wrong(at);
                    }
                }
                (Piece::NameBefore(end), _) => {
                    return self.name_before(text, at, end, rules.sections.calls.empty);
                }
                (Piece::Parameters(form), _) if is_space(byte) && form.empty == 0 => {}
                // Further white space is in place of the parameters.
                (Piece::Parameters(_), _) if byte == b'\n' && self.matched < self.lines(rules) => {
                    self.matched += 1;
                }
                (Piece::Parameters(_) | Piece::Tree(_) | Piece::Elements(_), _) => {
                    self.step = Step::Parameters;
                    return Found::Begins(at);
                }
                // It is part of arrays, which have another reader.
                _ => return Found::Wrong(at),
            }
        }
        Found::Head(text.len())
    }

    /// Whether a space is expected before the arguments.
    fn has_space(&self, rules: &Rules) -> bool {
        let before = self.piece.checked_sub(1).and_then(|at| rules.sections.calls.pieces.get(at));
        matches!(before, Some(Piece::Json(text)) if text.ends_with(' '))
    }

    /// Returns the number of line breaks that the piece before this one ends in.
    fn lines(&self, rules: &Rules) -> usize {
        let before = self.piece.checked_sub(1).and_then(|at| rules.sections.calls.pieces.get(at));
        match before {
            Some(Piece::NameBefore(text)) => text.len() - text.trim_end_matches('\n').len(),
            _ => 0,
        }
    }

    /// Whether the arguments begin a line.
    fn has_line(&self, rules: &Rules) -> bool {
        self.lines(rules) > 0
    }

    /// Whether the arguments must be an object, and begin otherwise.
    fn is_no_object(&self, byte: u8, rules: &Rules) -> bool {
        byte != b'{' && self.ends_itself(rules)
    }

    /// Whether a call ends with its arguments.
    fn ends_itself(&self, rules: &Rules) -> bool {
        let calls = &rules.sections.calls;
        calls.item.1.is_none() && self.piece + 1 == calls.pieces.len()
    }

    /// Reads the bytes of a name, up to the quotation mark that ends it. Returns their number.
    fn name_bytes(&mut self, text: &str, escaped: bool) -> usize {
        let mut escaped = escaped;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.name.push_str(&text[..=at]);
                    self.step = Step::Head;
                    self.piece += 1;
                    return at + 1;
                }
                _ => {}
            }
        }
        self.name.push_str(text);
        self.step = Step::Name(escaped);
        text.len()
    }

    /// Reads the bytes of a name from byte `at` on, up to the text that ends it, or to the text that
    /// also ends the call.
    fn name_before(&mut self, text: &str, at: usize, end: &str, empty: Option<&str>) -> Found {
        let (before, end) = (self.name.len(), end.trim_matches('\n'));
        self.name.push_str(&text[at..]);
        if end.is_empty() {
            return Found::Head(text.len());
        }
        let find = |end: &str| {
            let from = before.saturating_sub(end.len() - 1);
            let found = memchr::memmem::find(&self.name.as_bytes()[from..], end.as_bytes())?;
            Some((from + found, at + from + found + end.len() - before))
        };
        let ends = [find(end).map(|it| (it, false)), empty.and_then(find).map(|it| (it, true))];
        let Some(((len, next), is_empty)) = ends.into_iter().flatten().min() else {
            return Found::Head(text.len());
        };
        self.name.truncate(len);
        self.piece += 1;
        if is_empty { Found::Empty(next) } else { Found::Head(next) }
    }

    /// Begins the parameters at a token, if they can begin here.
    pub(super) fn begins_at(&mut self, control: Control, rules: &Rules) -> bool {
        let calls = &rules.sections.calls;
        if let Some(Piece::Tree(tree)) = calls.pieces.get(self.piece)
            && self.step == Step::Head
            && tree.quote == control
        {
            self.step = Step::Parameters;
            return true;
        }
        if let Some(Piece::Elements(elements)) = calls.pieces.get(self.piece)
            && self.step == Step::Head
            && (elements.open == control || calls.closes(control))
        {
            self.step = Step::Parameters;
            return true;
        }
        let is_behind_name = match calls.pieces.get(self.piece) {
            Some(Piece::Parameters(_)) => true,
            Some(Piece::NameBefore(end)) => {
                end.trim_matches('\n').is_empty() && !self.name.trim_ascii().is_empty()
            }
            _ => false,
        };
        let Some(parameters) = calls.parameters().filter(|_| is_behind_name) else { return false };
        let opens = matches!(parameters.open, Tag::Token(mark) if mark.control == control);
        if self.step != Step::Head || !opens && !calls.closes(control) {
            return false;
        }
        self.step = Step::Parameters;
        true
    }

    /// Continues after the parameters.
    pub(super) fn end_parameters(&mut self, rules: &Rules) {
        let pieces = rules.sections.calls.pieces;
        let at = pieces.iter().position(|piece| matches!(piece, Piece::Parameters(_)));
        self.step = Step::Tail;
        self.piece = at.map_or(pieces.len(), |at| at + 1);
        self.parameters = None;
    }

    /// Begins arguments in a syntax of their own, at byte `at`.
    pub(super) fn begin_tree(&mut self, at: usize, rules: &Rules, out: &mut Out<'a, '_>) {
        let (Some(tree), Some(draft)) = (rules.sections.calls.tree(), &mut self.draft) else {
            return;
        };
        let mut to = To { draft, dropped: &mut self.dropped, out };
        self.tree = Some(Box::new(TreeScanner::new(tree.quote, at, &mut to)));
    }

    /// Reads text of arguments in a syntax of their own. Returns the number of bytes that belong to
    /// them.
    pub(super) fn tree_text(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) -> usize {
        let (Some(tree), Some(draft)) = (&mut self.tree, &mut self.draft) else { return 0 };
        tree.text(text, span, &mut To { draft, dropped: &mut self.dropped, out })
    }

    /// Reads the token around strings in such arguments.
    pub(super) fn tree_quote(&mut self, spelling: &str, span: Span, out: &mut Out<'a, '_>) {
        let (Some(tree), Some(draft)) = (&mut self.tree, &mut self.draft) else { return };
        tree.quote(spelling, span, &mut To { draft, dropped: &mut self.dropped, out });
    }

    /// Reads the rest of such arguments of an incomplete call.
    pub(super) fn cut_tree(&mut self, out: &mut Out<'a, '_>) {
        let Some(mut tree) = self.tree.take() else { return };
        if let Some(draft) = &mut self.draft {
            tree.cut(&mut To { draft, dropped: &mut self.dropped, out });
        }
    }

    /// Whether `byte` is the next byte of `wanted`, ignoring white space.
    fn matches(&mut self, wanted: &str, byte: u8) -> bool {
        let wanted = wanted.as_bytes();
        let skip = |from: usize| {
            let rest = wanted.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| is_space(**byte)).count()
        };
        let at = skip(self.matched);
        if wanted.get(at) != Some(&byte) {
            return false;
        }
        self.matched = skip(at + 1);
        if self.matched >= wanted.len() {
            self.matched = 0;
            self.piece += 1;
        }
        true
    }

    /// Handles a byte that is not part of the expected piece. The keys may be in another order.
    fn mismatch(&mut self, at: usize) -> Found {
        let began = self.piece > 0 || self.matched > 0;
        if !began {
            return Found::Wrong(at);
        }
        self.step = Step::Object(Brackets::default());
        Found::Head(at)
    }

    /// Returns the number of bytes that the limits still allow before the arguments.
    pub(super) fn room(&self, limits: &Limits) -> Option<usize> {
        let most = match self.step {
            Step::Head | Step::Name(_) | Step::List(_) => limits.header_bytes,
            Step::Object(_) => limits.message_bytes,
            Step::Arguments(_) | Step::Parameters | Step::Tail | Step::Rest | Step::Other(_) => {
                return None;
            }
        };
        Some(most.saturating_sub(self.head.len()))
    }

    /// Whether nothing follows its token yet, so that the text may only mention it.
    pub(super) fn is_mention(&self) -> bool {
        self.draft.is_none() && self.head.as_str().trim_ascii().is_empty()
    }

    /// Reads the text again as an object with another order of keys.
    pub(super) fn begin_again(&mut self) {
        if self.step == Step::Object(Brackets::default()) {
            let mut brackets = Brackets::default();
            // In a list, the text before it belongs to the list.
            for byte in self.head.as_str().bytes().skip_while(|byte| *byte != b'{') {
                brackets.step(byte);
            }
            self.step = Step::Object(brackets);
        }
    }

    /// Reads a control token. Returns whether it is the next piece of the call.
    pub(super) fn control(&mut self, control: Control, rules: &Rules) -> bool {
        if self.step != Step::Head {
            return false;
        }
        let (id, end) = match rules.sections.calls.pieces.get(self.piece) {
            Some(Piece::Attributes(attributes)) if attributes.end == control => {
                return self.take_attributes(attributes);
            }
            Some(Piece::NameUpTo(end) | Piece::IdUpTo(end) | Piece::Token(end)) => (None, *end),
            Some(Piece::NameAndId { id, end }) => (Some(*id), *end),
            _ => return false,
        };
        if id == Some(control) && self.id.is_none() {
            self.id = Some(String::new());
            return true;
        }
        if control == end {
            self.piece += 1;
            self.skip_breaks(rules);
        }
        control == end
    }

    /// Continues after line breaks that only belong to the layout.
    fn skip_breaks(&mut self, rules: &Rules) {
        let mut rest = rules.sections.calls.pieces.iter().skip(self.piece);
        while let Some(Piece::Word(text)) = rest.next()
            && text.trim_matches('\n').is_empty()
        {
            self.piece += 1;
        }
    }

    /// Takes the name of the tool from its attributes. Returns whether there is one.
    fn take_attributes(&mut self, form: &CallAttributes) -> bool {
        let text = std::mem::take(&mut self.name);
        let found = Attributes::read(&text);
        let known = |(key, _): &(&str, Cow<'_, str>)| *key == form.name || *key == form.index;
        // What else is said about the call is not understood.
        self.is_odd |= !found.is_whole || !found.list.iter().all(known);
        self.name = found.get(form.name).unwrap_or_default().to_owned();
        self.piece += usize::from(!self.name.is_empty());
        !self.name.is_empty()
    }

    /// Returns the decoded name of the tool. `None` if it is empty or not a JSON string.
    pub(super) fn decoded(name: &str, limits: &Limits) -> Option<String> {
        let name = match name.starts_with('"') {
            false => name.trim_ascii().to_owned(),
            true => {
                let mut json = Json::new(name, limits).without_notes();
                json.string().ok()?.0.into_owned()
            }
        };
        (!name.is_empty()).then_some(name)
    }
}
