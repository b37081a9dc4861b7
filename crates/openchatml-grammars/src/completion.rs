//! Creates the shape of a completion from a format, tools and options.

use openchatml::dialects::{self, CallPiece, Framed, Sections};
use openchatml::harmony::Namespace;
use openchatml::{Channel, Control, Data, FormatError, TextFormat, Tool, Value, function_name};

use crate::error::GrammarError;
use crate::headers;
use crate::options::{Calls, Choice, Options, Presence};
use crate::schema;
use crate::shape::{ANSWER, Part, Shape};
use crate::tokens::{Region, Tokens};
use crate::unenforced::{Requirement, Unenforced};

/// The shape of a completion, its schemas, and the requirements that it does not enforce.
pub(crate) struct Completion {
    pub(crate) shape: Shape,
    pub(crate) parts: Vec<Part>,
    /// The control tokens that may end it.
    pub(crate) ends: Vec<Control>,
    pub(crate) unenforced: Vec<Unenforced>,
}

/// The namespace of functions of the application.
const FUNCTIONS: &str = "functions";

/// Creates the shape of a completion for an engine that stops at `stops`.
pub(crate) fn completion(
    format: TextFormat,
    namespaces: &[Namespace<'_>],
    options: &Options,
    stops: &[Control],
) -> Result<Completion, GrammarError> {
    let framing = format.completion().map_err(GrammarError::Format)?;
    let tokens = Tokens::new(format.controls(), options);
    let (parts, ends, unenforced) = Default::default();
    let mut builder = Builder { options, stops, tokens, parts, ends, unenforced };
    let none = || GrammarError::Format(FormatError::NoGrammar(format.to_string()));
    let shape = match framing {
        dialects::Completion::Messages(framed) => builder.framed(framed, namespaces)?,
        // The end of a raw value depends on what follows, so no grammar describes it.
        dialects::Completion::Sections(sections) if has_parameters(sections) => return Err(none()),
        dialects::Completion::Sections(sections) => builder.sections(sections, namespaces)?,
        dialects::Completion::Text { header, close } => builder.turn(header, close, namespaces)?,
        _ => return Err(none()),
    };
    let Builder { parts, ends, unenforced, .. } = builder;
    Ok(Completion { shape, parts, ends, unenforced })
}

/// A greater limit on the messages before the last one counts as none, because no model comes near
/// it.
const MOST_BEFORE: usize = 32;

pub(crate) struct Builder<'b> {
    pub(crate) options: &'b Options,
    stops: &'b [Control],
    tokens: Tokens<'b>,
    parts: Vec<Part>,
    pub(crate) ends: Vec<Control>,
    pub(crate) unenforced: Vec<Unenforced>,
}

/// A tool that can be called.
pub(crate) struct Callee {
    pub(crate) recipient: String,
    is_function: bool,
    /// The index of its schema. Without one, it takes free text.
    pub(crate) arguments: Option<usize>,
}

/// Whether the arguments of calls are not JSON.
fn has_parameters(sections: &Sections) -> bool {
    // Calls without an end token are in lists, or their tokens are not written in angle brackets, which
    // the languages of grammars require.
    // Guarded calls have no token that a grammar could begin with.
    let calls = &sections.calls;
    if calls.item.1.is_none() || calls.guard.is_some() || sections.answer.is_some() {
        return true;
    }
    let is_other = |piece: &CallPiece| {
        matches!(piece, CallPiece::Parameters(_) | CallPiece::Tree(_) | CallPiece::Elements(_))
    };
    sections.calls.pieces.iter().any(is_other)
}

impl Builder<'_> {
    /// A text answer, and the token that ends the turn.
    fn turn(
        &mut self,
        header: Option<Control>,
        close: Option<&str>,
        namespaces: &[Namespace<'_>],
    ) -> Result<Shape, GrammarError> {
        match &self.options.choice {
            Choice::Required | Choice::Named(_) => return Err(GrammarError::NoCall),
            Choice::Auto if !namespaces.is_empty() => {
                self.unenforced.push(Unenforced::new("", Requirement::Calls));
            }
            _ => {}
        }
        self.ends.push(Control::End);
        let end = self.end(Control::End);
        let body = match self.answer()? {
            None => Shape::Free(Region::Visible, end),
            Some(json) => {
                let mut shape = Shape::Json(json);
                if let Some(close) = close {
                    shape = shape.then(Shape::optional(Shape::text(close)));
                }
                match end {
                    Some(end) => shape.then(Shape::Control(end)),
                    None => shape,
                }
            }
        };
        let header = header.map(|control| Shape::optional(Shape::Control(control)));
        Ok(match header {
            Some(header) => header.then(body),
            None => body,
        })
    }

    /// Checks that the required messages fit into the allowed number of messages before the last
    /// one.
    pub(crate) fn check_before(&self) -> Result<(), GrammarError> {
        let wanted = [self.options.reasoning, self.options.preambles];
        let required = wanted.iter().filter(|it| **it == Presence::Required).count();
        match self.options.before.is_some_and(|before| before < required) {
            true => Err(GrammarError::Before),
            false => Ok(()),
        }
    }

    fn framed(
        &mut self,
        framed: &Framed,
        namespaces: &[Namespace<'_>],
    ) -> Result<Shape, GrammarError> {
        self.check_before()?;
        let callees = self.callees(namespaces)?;
        let mut last = Vec::new();
        if matches!(self.options.choice, Choice::Auto | Choice::None) {
            last.push(self.last_answer(framed)?);
        }
        if !callees.is_empty() {
            last.push(self.calls(framed, &callees));
            if framed.call_ids {
                self.unenforced.push(Unenforced::new("", Requirement::CallId));
            }
        }
        let separator = separator(framed);
        let mut before = self.before(framed, &separator);
        let last = Shape::either(last);
        Ok(match before.len() {
            0 => last,
            1 => before.remove(0).then(last),
            _ => Shape::Either(before).then(last),
        })
    }

    /// Returns the alternatives for a message before the last one.
    fn before(&self, framed: &Framed, separator: &Shape) -> Vec<Shape> {
        let [reasoning, preambles] = [self.options.reasoning, self.options.preambles];
        let message = |opening: Shape, region| {
            opening.then(Shape::Free(region, Some(Control::End))).then(separator.clone())
        };
        let analysis = message(channel(Channel::Analysis), Region::Hidden);
        let opening = Shape::text(framed.preamble).then(channel(Channel::Commentary));
        let preamble = message(opening, Region::Visible);
        let mut any = Vec::new();
        any.extend((reasoning != Presence::Forbidden).then(|| analysis.clone()));
        any.extend((preambles != Presence::Forbidden).then(|| preamble.clone()));
        let mut first = Vec::new();
        let mut left = self.options.before.filter(|before| *before <= MOST_BEFORE);
        if reasoning == Presence::Required {
            first.push(analysis.clone());
            left = left.map(|left| left.saturating_sub(1));
        }
        let several = |shape: Shape, most| Shape::Repeat(Box::new(shape), 0, most);
        if any.is_empty() {
            return Vec::new();
        }
        let any = Shape::either(any);
        if preambles != Presence::Required {
            first.push(several(any, left));
            return vec![Shape::Sequence(first)];
        }
        let left = left.map(|left| left.saturating_sub(1));
        let with = |reasoning_most: Option<usize>, least: usize, left: Option<usize>| {
            let mut shapes = first.clone();
            if reasoning != Presence::Forbidden {
                shapes.push(Shape::Repeat(Box::new(analysis.clone()), least, reasoning_most));
            }
            shapes.push(preamble.clone());
            shapes.push(several(any.clone(), left));
            Shape::Sequence(shapes)
        };
        match left {
            Some(left) if reasoning != Presence::Forbidden => {
                (0..=left).map(|count| with(Some(count), count, Some(left - count))).collect()
            }
            left => vec![with(None, 0, left)],
        }
    }

    /// Creates the answer that ends a completion.
    fn last_answer(&mut self, framed: &Framed) -> Result<Shape, GrammarError> {
        self.ends.push(Control::Return);
        let end = self.end(Control::Return);
        let opening = Shape::Control(Control::Channel).then(Shape::text(Channel::Final.as_str()));
        let message = Shape::Control(Control::Message);
        let Some(json) = self.answer()? else {
            return Ok(opening.then(message).then(Shape::Free(Region::Visible, end)));
        };
        let mut shape = opening;
        if let Some(space) = framed.constrain {
            shape = shape.then(Shape::optional(constraint(space)));
        }
        shape = shape.then(message).then(Shape::Json(json));
        Ok(match end {
            Some(end) => shape.then(Shape::Control(end)),
            None => shape,
        })
    }

    fn calls(&mut self, framed: &Framed, callees: &[Callee]) -> Shape {
        let is_many = self.options.calls == Calls::Many;
        self.ends.push(Control::Call);
        let end = if is_many { Some(Control::Call) } else { self.end(Control::Call) };
        let mut ways = Vec::new();
        for callee in callees {
            let mut headers = Vec::new();
            for header in headers::call_headers(framed, &callee.recipient, callee.is_function) {
                let types = headers::types(framed, callee.is_function, callee.arguments.is_some());
                headers.push(header.then(types));
            }
            let header = Shape::either(headers).then(Shape::Control(Control::Message));
            ways.push(match (callee.arguments, end) {
                (None, end) => header.then(Shape::Free(Region::Hidden, end)),
                (Some(json), None) => header.then(Shape::Json(json)),
                (Some(json), Some(end)) => header.then(Shape::Json(json)).then(Shape::Control(end)),
            });
        }
        let call = Shape::either(ways);
        if !is_many {
            return call;
        }
        let next = separator(framed).then(call.clone());
        call.then(Shape::Repeat(Box::new(next), 0, None))
    }

    /// Returns the token that ends a completion, or `None` if the engine stops at it.
    pub(crate) fn end(&mut self, control: Control) -> Option<Control> {
        if !self.stops.contains(&control) || !self.tokens.is_token(control) {
            return Some(control);
        }
        let unenforced = Unenforced::new("", Requirement::Stop);
        if !self.unenforced.contains(&unenforced) {
            self.unenforced.push(unenforced);
        }
        None
    }

    /// Returns the index of the schema of the answer, if it has one.
    pub(crate) fn answer(&mut self) -> Result<Option<usize>, GrammarError> {
        let Some(schema) = &self.options.answer else { return Ok(None) };
        let part = self.part(ANSWER, schema);
        part.map(Some).ok_or(GrammarError::Nothing)
    }

    /// Adds a part. Returns `None` if its schema allows nothing.
    fn part(&mut self, name: &str, schema: &Value<'_>) -> Option<usize> {
        let schema = schema::read(schema, self.options.depth, self.options.nodes);
        if schema.is_never() {
            return None;
        }
        let mut part = Part { name: name.to_owned(), schema };
        let unenforced = std::mem::take(&mut part.schema.unenforced);
        self.unenforced.extend(unenforced.into_iter().map(|it| part.name(it)));
        self.parts.push(part);
        Some(self.parts.len() - 1)
    }

    /// Returns the tools that may be called.
    pub(crate) fn callees(
        &mut self,
        namespaces: &[Namespace<'_>],
    ) -> Result<Vec<Callee>, GrammarError> {
        let mut callees: Vec<Callee> = Vec::new();
        let mut is_known = false;
        for namespace in namespaces {
            let tools = namespace.tools.iter().map(Some);
            // A namespace without tools is itself a tool that takes text.
            let itself =
                (namespace.tools.is_empty() && namespace.name != FUNCTIONS).then_some(None);
            for tool in tools.chain(itself) {
                let recipient = match tool {
                    Some(tool) => format!("{}.{}", namespace.name, tool.name),
                    None => namespace.name.to_string(),
                };
                let is_function = namespace.name == FUNCTIONS;
                if !self.is_chosen(&recipient, is_function) {
                    continue;
                }
                is_known = true;
                if callees.iter().any(|callee| callee.recipient == recipient) {
                    continue;
                }
                callees.extend(self.callee(recipient, is_function, tool));
            }
        }
        match &self.options.choice {
            Choice::Named(name) if !is_known => Err(GrammarError::UnknownTool(name.clone())),
            Choice::Named(_) | Choice::Required if callees.is_empty() => Err(GrammarError::NoCall),
            _ => Ok(callees),
        }
    }

    fn is_chosen(&self, recipient: &str, is_function: bool) -> bool {
        match &self.options.choice {
            Choice::None => false,
            Choice::Auto | Choice::Required => true,
            Choice::Named(name) => {
                let bare = function_name(recipient).filter(|_| is_function);
                name == recipient || bare == Some(name.as_str())
            }
        }
    }

    fn callee(
        &mut self,
        recipient: String,
        is_function: bool,
        tool: Option<&Tool<'_>>,
    ) -> Option<Callee> {
        let bad = |c: char| c.is_whitespace() || c.is_control();
        if recipient.ends_with('.') || recipient.contains(bad) || self.tokens.finds(&recipient) {
            self.unenforced.push(Unenforced::new(&recipient, Requirement::Name));
            return None;
        }
        let arguments = match tool {
            None => None,
            Some(tool) => {
                let schema = arguments(tool);
                let Some(part) = self.part(&recipient, &schema) else {
                    self.unenforced.push(Unenforced::new(&recipient, Requirement::Nothing));
                    return None;
                };
                Some(part)
            }
        };
        Some(Callee { recipient, is_function, arguments })
    }
}

/// Returns the schema of the arguments of a tool: an object, which is empty without a schema.
fn arguments<'a>(tool: &Tool<'a>) -> Value<'a> {
    let map = |entries| Value::from(Data::Map(entries));
    let object = map(vec![("type".into(), "object".into())]);
    match &tool.parameters {
        None | Some(Value { data: Data::Null, .. }) => map(vec![
            ("type".into(), "object".into()),
            ("additionalProperties".into(), false.into()),
        ]),
        Some(schema) if schema.get("type").is_some() => schema.clone(),
        Some(Value { data: Data::Map(entries), .. }) => {
            let mut entries = entries.clone();
            // References start at the root, so the root must remain the same.
            match entries.iter_mut().find(|entry| entry.0 == "allOf") {
                Some((_, Value { data: Data::List(all), .. })) => all.insert(0, object),
                _ => entries.insert(0, ("allOf".into(), Data::List(vec![object]).into())),
            }
            map(entries)
        }
        Some(schema) => schema.clone(),
    }
}

fn constraint(space: &str) -> Shape {
    Shape::text(space).then(Shape::Control(Control::Constrain)).then(Shape::text("json"))
}

/// Creates the rest of a header without a recipient.
fn channel(channel: Channel) -> Shape {
    Shape::Control(Control::Channel)
        .then(Shape::text(channel.as_str()))
        .then(Shape::Control(Control::Message))
}

/// Creates the text between two messages.
fn separator(framed: &Framed) -> Shape {
    let start = Shape::Control(Control::Start).then(Shape::text("assistant"));
    match framed.gap {
        "" => start,
        gap => Shape::optional(Shape::text(gap)).then(start),
    }
}
