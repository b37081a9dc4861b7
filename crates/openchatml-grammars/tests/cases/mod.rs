//! Completions that a grammar must accept, and completions that it must reject.

pub(crate) mod schema;

use openchatml::convert::{Channels, Intents};
use openchatml::dialects::Completion;
use openchatml::harmony::Namespace;
use openchatml::{
    Body, Channel, Control, Conversation, End, Intent, Limits, Message, Reply, Role, TextFormat,
    Tool, Value,
};
use openchatml_grammars::{Calls, Choice, Language, Options, Presence};
use openchatml_testkit::{Source, one_in, pick, text};
use openchatml_tokens::{ByteEncoding, Encoding as _, Token, Tokenizer};

use self::schema::Sample;

/// A grammar to generate, with completions.
pub(crate) struct Case {
    pub(crate) format: TextFormat,
    pub(crate) tools: Vec<Namespace<'static>>,
    pub(crate) options: Options,
    /// Valid completions, as ids of [`encoding`].
    pub(crate) good: Vec<Vec<u32>>,
    /// Invalid completions, with the reason.
    pub(crate) bad: Vec<(&'static str, Vec<u32>)>,
}

/// The reason for a value that violates its schema.
pub(crate) const AGAINST_SCHEMA: &str = "not what the schema allows";

/// The formats with grammars.
pub(crate) fn formats() -> Vec<TextFormat> {
    let has_grammar = |format: &TextFormat| {
        openchatml_grammars::grammar(*format, &[], Language::Lark, &Options::default()).is_ok()
    };
    TextFormat::all().filter(has_grammar).collect()
}

/// Tokens of a tokenizer that are in no format. llama.cpp ends a text at `<|endoftext|>` wherever
/// it may end.
const FOREIGN: &[&str] = &["<|foreign|>", "[INST]", "</s", "<|start|", "<|reserved_"];

/// The reason for a completion with one of them.
pub(crate) const FOREIGN_TOKEN: &str = "a token of no format";

/// The tokens of a tokenizer: the control tokens that are not spelled, and some that are in no
/// format.
fn vocabulary(format: TextFormat, options: &Options) -> Vec<(String, u32)> {
    let foreign = FOREIGN.iter().map(|spelling| match spelling.ends_with('_') {
        true => (0..20).map(|number| format!("{spelling}{number}|>")).collect(),
        false => vec![(*spelling).to_owned()],
    });
    let of_format = encoding(format, options);
    let of_format = of_format.controls().into_iter().map(|token| token.0.to_owned());
    let all = ByteEncoding::new(foreign.flatten().chain(of_format));
    all.controls().into_iter().map(|(spelling, id)| (spelling.to_owned(), id)).collect()
}

fn has_sections(format: TextFormat) -> bool {
    format.dialect().carries.channels == Channels::Sections
}

/// An id for each byte, and for each control token that is not spelled.
pub(crate) fn encoding(format: TextFormat, options: &Options) -> ByteEncoding {
    if !options.vocabulary.is_empty() {
        return ByteEncoding::new(options.vocabulary.iter().map(|token| &token.0));
    }
    let entries = format.controls().entries().iter();
    ByteEncoding::new(
        entries.filter(|it| !options.spelled.contains(&it.0)).map(|(_, spelling)| *spelling),
    )
}

/// A random case. The text that may spell tokens depends on `language`.
pub(crate) fn random(source: &mut Source<'_>, language: Language) -> Case {
    let format = pick(source, &formats());
    let mut options = Options::default();
    let is_spelled = one_in(source, 6);
    if is_spelled {
        options.spelled = format.controls().entries().iter().map(|it| it.0).collect();
    }
    if one_in(source, 2) {
        options.vocabulary = vocabulary(format, &options);
    }
    // llama.cpp stops at `<|call|>` wherever it is a token.
    let may_go_on = is_spelled || language != Language::Gbnf;
    options.calls = if may_go_on && one_in(source, 4) { Calls::Many } else { Calls::One };
    options.before = one_in(source, 4).then_some(3);
    options.reasoning = pick(source, &[Presence::Allowed, Presence::Allowed, Presence::Required]);
    options.preambles = pick(source, &[Presence::Allowed, Presence::Allowed, Presence::Forbidden]);
    let samples: Vec<Sample> = (0..3).map(|_| schema::arguments(source)).collect();
    let answer = one_in(source, 4).then(|| schema::arguments(source));
    options.answer = answer.as_ref().map(|it| value(&it.schema));
    let mut builder = Builder { source, format, options, language, samples, answer };
    builder.case()
}

/// The cases of `schemas.json`, in Harmony.
pub(crate) fn listed(language: Language) -> Vec<(Case, Sample)> {
    let format: TextFormat = "harmony".parse().expect("a format");
    let case = |sample: Sample| {
        let schema = value(&sample.schema);
        let tool = Tool::new("f").with_parameters(schema);
        let tools = vec![Namespace::functions(vec![tool])];
        let mut options = Options::default();
        options.choice = Choice::Required;
        let write = |value: &serde_json::Value| {
            let call = call("functions.f", Channel::Commentary, value.to_string(), true);
            written(&[call], format, &options)
        };
        let good = vec![write(&sample.good)];
        let bad = sample.bad.iter().map(|bad| (AGAINST_SCHEMA, write(bad))).collect();
        (Case { format, tools, options, good, bad }, sample)
    };
    schema::listed(language).into_iter().map(case).collect()
}

/// Answers in OpenChatML 2.2 with spelled tokens: some that its tokenizer does not have, and cases
/// in which all tokens are spelled.
pub(crate) fn spelled() -> Vec<Case> {
    let good = [
        "",
        "a < b <",
        "<<|literal|>",
        "<<<|endliteral|>",
        "<<|start_reason|>",
        "<|start_reason",
        "<|literal|><|start_reason|> <|literal|><|endliteral|>",
        "a<|literal|><<|endliteral|>b",
        "<|literal|><|endliteral|><|literal|><|endliteral|>",
        "<|literal|><|endliteral|><<|literal|>",
    ];
    let bad = [
        "<|literal|>",
        "a<|literal|>b",
        "<|endliteral|>",
        "<|literal|><|endliteral|><|endliteral|>",
        "<|start_reason|>",
        "a<|start_reflect|>b",
        "<<|literal|>a<|endliteral|>",
    ];
    let format: TextFormat = "openchatml-2.2".parse().expect("a format");
    let all: Vec<Control> = format.controls().entries().iter().map(|it| it.0).collect();
    let case = |all_spelled: bool| {
        let mut options = Options::default();
        if all_spelled {
            options.spelled.clone_from(&all);
        }
        let encoding = encoding(format, &options);
        let ids = |body: &str| {
            let mut ids = Vec::new();
            let around = ["<|channel|>", "final", "<|message|>", body, "<|return|>"];
            for (at, text) in around.into_iter().enumerate() {
                match encoding.control(text).filter(|_| at != 3) {
                    Some(id) => ids.push(id),
                    None => encoding.encode(text, &mut ids),
                }
            }
            ids
        };
        // A backslash at the end would escape what follows.
        let ends = |body: &&&str| !all_spelled || !body.ends_with('<');
        let good = good.iter().filter(ends).map(|body| ids(body)).collect();
        let mut bad: Vec<_> =
            bad.iter().map(|body| ("a token that is spelled", ids(body))).collect();
        if all_spelled {
            bad.extend(
                ["a<", "<<", "<|start|>", "a<|end|>b", "<|call|>"]
                    .map(|body| ("a token that is spelled", ids(body))),
            );
        }
        Case { format, tools: Vec::new(), options, good, bad }
    };
    [false, true].map(case).into()
}

/// Converts a value of `serde_json`.
pub(crate) fn value(json: &serde_json::Value) -> Value<'static> {
    let body = format!(r#"{{"ok":true,"content":{json}}}"#);
    let content = Reply::parse(&body, &Limits::default()).expect("it is JSON").content;
    content.expect("it has content").into_owned()
}

/// A model's output as ids: the written messages without the start that the prompt contains.
fn written(messages: &[Message<'_>], format: TextFormat, options: &Options) -> Vec<u32> {
    let tokenizer = Tokenizer::new(format, encoding(format, options));
    let conversation = Conversation::from_messages(messages.iter().cloned());
    let rendered = tokenizer.render(&conversation.into(), &Default::default()).expect("it can be");
    // A format can add a system message, which is not in the completion.
    let added = rendered.spans.len().saturating_sub(messages.len());
    let own = &rendered.spans[added..];
    let (Some(first), Some(last)) = (own.first(), own.last()) else {
        return Vec::new();
    };
    let is_turn = !format.dialect().carries.recipients;
    let opening = &rendered.ids[first.opening.clone()];
    // Prompts can also end in a token of reasoning, which is then not in the completion.
    // The name of a role can stand between two tokens.
    let is_named = matches!(format.completion(), Ok(Completion::Sections(_)));
    let ends = [Control::Message, Control::Open(Role::Assistant)];
    let spelling = |control: &Control| format.controls().spelling(*control);
    let turn = ends[usize::from(!is_named)..].iter().find_map(spelling);
    let turn = turn.and_then(|spelling| end_of(spelling, opening, &encoding(format, options)));
    let start = match turn {
        _ if is_turn => first.body.start,
        Some(end) => first.opening.start + end,
        None => first.opening.end,
    };
    rendered.ids[start..last.end.end].to_vec()
}

/// Returns where a token ends in these ids, as an id or spelled in bytes.
fn end_of(spelling: &str, ids: &[u32], encoding: &ByteEncoding) -> Option<usize> {
    let is_it =
        |id: &u32| matches!(encoding.token(*id), Some(Token::Control(it)) if it == spelling);
    let bytes: Vec<u32> = spelling.bytes().map(u32::from).collect();
    let spelled = || ids.windows(bytes.len()).rposition(|part| part == bytes);
    let whole = ids.iter().rposition(is_it).map(|at| at + 1);
    whole.or_else(|| spelled().map(|at| at + bytes.len()))
}

fn call(to: &str, channel: Channel, body: String, is_json: bool) -> Message<'static> {
    let mut message = Message::new(Role::Assistant, "");
    message.body = Body::from(body);
    message.recipient = Some(to.to_owned().into());
    message.channel = Some(channel);
    if is_json {
        message.content_type = Some("json".into());
        message.constrained = true;
    }
    message.end = End::Call;
    message
}

struct Builder<'b, 's> {
    source: &'b mut Source<'s>,
    format: TextFormat,
    options: Options,
    language: Language,
    samples: Vec<Sample>,
    answer: Option<Sample>,
}

impl Builder<'_, '_> {
    fn case(&mut self) -> Case {
        let tool = |(name, sample): (&&'static str, &Sample)| {
            Tool::new(*name).with_parameters(value(&sample.schema))
        };
        let functions = NAMES.iter().zip(&self.samples).map(tool).collect();
        let tools =
            vec![Namespace::functions(functions), Namespace::browser(), Namespace::python()];
        let mut good = Vec::new();
        let mut bad = Vec::new();
        for _ in 0..3 {
            let messages = self.messages();
            let ids = self.write(&messages);
            bad.extend(self.mutants(&ids));
            good.push(ids);
            if let Some((what, messages)) = self.wrong(messages) {
                bad.push((what, self.write(&messages)));
            }
        }
        Case { format: self.format, tools, options: self.options.clone(), good, bad }
    }

    fn write(&self, messages: &[Message<'_>]) -> Vec<u32> {
        written(messages, self.format, &self.options)
    }

    fn is_turn(&self) -> bool {
        !self.format.dialect().carries.recipients
    }

    fn has_sections(&self) -> bool {
        has_sections(self.format)
    }

    fn free(&mut self) -> String {
        let text = if one_in(self.source, 2) {
            text::benign(self.source)
        } else {
            text::hostile(self.source)
        };
        // In grammars over characters, text must not spell a token; NUL ends a text for some
        // engines.
        let controls = self.format.controls();
        let escapes = controls.escape() != openchatml::lex::Escape::None;
        let spells = controls.entries().iter().any(|(control, spelling)| {
            let is_token = !self.options.spelled.contains(control);
            let matters = if is_token { self.language != Language::Lark } else { !escapes };
            matters && text.contains(spelling)
        });
        let spells =
            spells || self.language != Language::Lark && FOREIGN.iter().any(|it| text.contains(it));
        if spells || text.contains('\0') { text::benign(self.source) } else { text }
    }

    fn message(&mut self, channel: Channel) -> Message<'static> {
        let mut message = Message::new(Role::Assistant, "");
        message.body = Body::from(self.free());
        message.channel = Some(channel);
        if channel == Channel::Commentary && self.format.dialect().carries.intents != Intents::None
        {
            message.intent = Some(Intent::Preamble);
        }
        message
    }

    /// Messages that a model may write.
    fn messages(&mut self) -> Vec<Message<'static>> {
        if self.is_turn() {
            let mut message = Message::new(Role::Assistant, "");
            message.body = Body::from(self.answer_body());
            return vec![message];
        }
        if self.has_sections() {
            return self.sections();
        }
        let mut messages = Vec::new();
        if self.options.reasoning == Presence::Required {
            messages.push(self.message(Channel::Analysis));
        }
        for _ in 0..self.source.int_in_range(0..=2).unwrap_or(0) {
            let channel = pick(self.source, &[Channel::Analysis, Channel::Commentary]);
            if channel == Channel::Analysis || self.options.preambles != Presence::Forbidden {
                messages.push(self.message(channel));
            }
        }
        if one_in(self.source, 2) {
            let mut message = self.message(Channel::Final);
            message.body = Body::from(self.answer_body());
            message.end = End::Return;
            messages.push(message);
            return messages;
        }
        let count = if self.options.calls == Calls::Many { 2 } else { 1 };
        for _ in 0..self.source.int_in_range(1..=count).unwrap_or(1) {
            let call = self.call();
            messages.push(call);
        }
        messages
    }

    /// The sections of a turn: reasoning, then an answer, or calls, which may follow a text.
    fn sections(&mut self) -> Vec<Message<'static>> {
        let mut messages = Vec::new();
        if self.options.reasoning == Presence::Required || one_in(self.source, 2) {
            messages.push(Message::reasoning(self.shown()));
        }
        if one_in(self.source, 2) {
            let body = match self.answer {
                Some(_) => self.answer_body(),
                None => self.shown(),
            };
            messages.push(Message::answer(body));
            return messages;
        }
        let leads = self.options.preambles != Presence::Forbidden && self.answer.is_none();
        if leads && one_in(self.source, 2) {
            messages.push(Message::answer(self.shown()));
        }
        let count = if self.options.calls == Calls::Many { 2 } else { 1 };
        for _ in 0..self.source.int_in_range(1..=count).unwrap_or(1) {
            let at = self.source.int_in_range(0..=self.samples.len() - 1).unwrap_or(0);
            let body = self.samples[at].good.to_string();
            let mut call =
                call(&format!("functions.{}", NAMES[at]), Channel::Commentary, body, false);
            call.content_type = Some("json".into());
            messages.push(call);
        }
        messages
    }

    /// Text between sections that is not their layout.
    fn shown(&mut self) -> String {
        format!(".{}.", self.free())
    }

    fn answer_body(&mut self) -> String {
        match &self.answer {
            Some(sample) => sample.good.to_string(),
            None => self.free(),
        }
    }

    fn call(&mut self) -> Message<'static> {
        let typed = call("functions.f", Channel::Commentary, String::new(), true);
        let constrains = (self.format.dialect().carries.content_types)(&typed);
        let builtin = pick(self.source, &[Channel::Analysis, Channel::Commentary]);
        let mut message = match self.source.int_in_range(0..=4).unwrap_or(0) {
            0 => call("browser.search", builtin, r#"{"query": "x"}"#.to_owned(), constrains),
            1 => call("python", builtin, self.free(), false),
            _ => {
                let at = self.source.int_in_range(0..=self.samples.len() - 1).unwrap_or(0);
                let body = match one_in(self.source, 2) {
                    true => self.samples[at].good.to_string(),
                    false => serde_json::to_string_pretty(&self.samples[at].good).expect("JSON"),
                };
                call(&format!("functions.{}", NAMES[at]), Channel::Commentary, body, constrains)
            }
        };
        if self.format.dialect().carries.call_ids {
            message.call_id = Some(pick(self.source, &["wx1", "call_1", "a=b"]).into());
        }
        message
    }

    /// The same messages with an error in the last one.
    fn wrong(
        &mut self,
        mut messages: Vec<Message<'static>>,
    ) -> Option<(&'static str, Vec<Message<'static>>)> {
        let last = messages.last_mut()?;
        let to = last.recipient.as_deref().unwrap_or_default().to_owned();
        let sample = NAMES.iter().position(|name| to == format!("functions.{name}"));
        let bad = match sample {
            Some(at) => self.samples[at].bad.clone(),
            None if to.is_empty() => self.answer.as_ref().and_then(|it| it.bad.clone()),
            None => None,
        };
        let what = match self.source.int_in_range(0..=4).unwrap_or(0) {
            0 if !to.is_empty() && has_sections(self.format) => {
                last.recipient = Some("functions.g".into());
                "a recipient that is not declared"
            }
            1..=3 if has_sections(self.format) => return None,
            0 if !to.is_empty() => {
                last.recipient =
                    Some(pick(self.source, &["functions.g", "functions.", "x"]).into());
                "a recipient that is not declared"
            }
            1 if sample.is_some() => {
                last.channel = Some(pick(self.source, &[Channel::Analysis, Channel::Final]));
                "a function on another channel"
            }
            2 if !to.is_empty() => {
                last.end = End::Return;
                "a call that ends like an answer"
            }
            3 if sample.is_some() => {
                let mut body = last.body.text().into_owned();
                body.pop();
                last.body = Body::from(body);
                "JSON that is not whole"
            }
            _ => {
                last.body = Body::from(bad?.to_string());
                AGAINST_SCHEMA
            }
        };
        // The stop tokens of an engine are not part of the grammar.
        let stops = what == "a call that ends like an answer" && self.language != Language::Lark;
        (!stops).then_some((what, messages))
    }

    fn mutants(&mut self, ids: &[u32]) -> Vec<(&'static str, Vec<u32>)> {
        let mut mutants = Vec::new();
        let is_control = |id: &u32| *id > 255;
        let controls: Vec<usize> = (0..ids.len()).filter(|at| is_control(&ids[*at])).collect();
        if controls.len() > 1 {
            let at = controls[self.source.int_in_range(0..=controls.len() - 2).unwrap_or(0)];
            let mut less = ids.to_vec();
            less.remove(at);
            // A turn may contain empty reasoning.
            if at > 0 || !self.has_sections() {
                mutants.push(("a token is missing", less));
            }
            let mut more = ids.to_vec();
            more.insert(at, ids[at]);
            mutants.push(("a token is doubled", more));
        }
        // JSON strings of structural tags may contain control tokens, which is listed as
        // unenforced.
        let has_strings =
            self.language == Language::StructuralTag && ids.contains(&u32::from(b'"'));
        if let Some(foreign) = self.options.vocabulary.first().filter(|_| !has_strings) {
            let at = self.source.int_in_range(0..=ids.len() - 1).unwrap_or(0);
            let mut more = ids.to_vec();
            more.insert(at, foreign.1);
            mutants.push((FOREIGN_TOKEN, more));
        }
        let mut after = ids.to_vec();
        after.push(u32::from(b'x'));
        mutants.push(("text after the end", after));
        mutants
    }
}

/// The names of functions: one is a prefix of another, and one contains the syntax of grammars.
const NAMES: &[&str] = &["get", "get_weather-é", "q\"uo\\te]|[^/"];

/// The spelling of the control tokens at which the engine stops, so that its grammars leave them
/// out.
pub(crate) fn stops(case: &Case, language: Language) -> Vec<Control> {
    let close = Control::Close(Role::Assistant);
    let mut stops = match language {
        Language::Gbnf => vec![Control::Return, Control::Call, Control::End, close],
        Language::StructuralTag => vec![Control::Return, Control::End, close],
        _ => Vec::new(),
    };
    stops.retain(|stop| {
        let is_said = match stop {
            Control::Call => case.options.calls == Calls::Many,
            Control::End => case.format.dialect().carries.recipients && !has_sections(case.format),
            _ => false,
        };
        !is_said && !case.options.spelled.contains(stop)
    });
    stops
}
