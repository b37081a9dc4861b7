//! Which format a template writes.

use std::cmp::Reverse;

use openchatml::prompt::Prompt;
use openchatml::{
    Conversation, End, Limits, Message, ReadOptions, RenderOptions, Role, Severity, TextFormat,
    Tool, Value, parse,
};

use crate::options::Options;
use crate::template::Template;

/// How well a format fits what a template writes.
///
/// ```
/// use openchatml_templates::{Options, Template, recognize};
///
/// let source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n\
///     {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
/// let template = Template::new(source, &Default::default())?;
/// let found = recognize(&template, &Options::default());
/// assert_eq!(found[0].format.to_string(), "chatml");
/// assert!(!found[0].reads_calls && found[0].prompts_equally);
/// # Ok::<(), openchatml_templates::TemplateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fit {
    /// The format.
    pub format: TextFormat,
    /// Whether the reasoning that the template writes is read back.
    pub reads_reasoning: bool,
    /// Whether the calls and replies that the template writes are read back.
    pub reads_calls: bool,
    /// Whether the format writes the same generation prompt as the template, with or without reasoning.
    pub prompts_equally: bool,
}

/// Returns the formats that fit a template, the best one first.
///
/// The template writes a few short conversations, and each format reads them. A format fits if it
/// reads the messages of the user and the answers without an error, and nothing else, and if it also
/// reads back calls and replies or writes the same generation prompt. Of the fitting formats, the best
/// one reads back calls and replies, then reasoning, then writes the same generation prompt, then
/// writes most of the conversations in the same way, and then has the fewest control tokens.
///
/// It returns nothing if the template fails, or if no format fits.
pub fn recognize(template: &Template, options: &Options<'_>) -> Vec<Fit> {
    let mut options = options.clone();
    options.generation_prompt = false;
    let write = |messages: &[Message<'_>], tools: &[Tool<'static>], options: &Options<'_>| {
        let mut conversation = Conversation::from_messages(messages.iter().cloned());
        conversation.tools = tools.to_vec();
        template.render_pieces(&conversation, options).ok().map(|it| it.text)
    };
    let plain = [Message::user(QUESTION), Message::answer(ANSWER), Message::user(NEXT)];
    let thought = [Message::user(QUESTION), Message::reasoning(THOUGHT), Message::answer(ANSWER)];
    let called = [
        Message::user(QUESTION),
        Message::call(TOOL, ARGUMENTS),
        Message::reply(TOOL, REPLY),
        Message::answer(ANSWER),
    ];
    let of_plain = write(&plain, &[], &options);
    let of_thought = write(&thought, &[], &options);
    let of_called = write(&called, &[tool()], &options);
    options.generation_prompt = true;
    let of_prompt = write(&[Message::user(QUESTION)], &[], &options);
    let fits = |format: TextFormat| {
        let reads = |text: &Option<String>, messages: &[Message<'_>]| {
            text.as_ref().is_some_and(|text| reads(text, format, messages))
        };
        // The system message that a model expects is not a part of the format.
        let is_prompt = |text: &String| {
            prompts(format).any(|it| text.ends_with(&it) || it.ends_with(text.as_str()))
        };
        let fit = reads(&of_plain, &plain).then(|| Fit {
            format,
            reads_reasoning: reads(&of_thought, &thought),
            reads_calls: reads(&of_called, &called),
            prompts_equally: of_prompt.as_ref().is_some_and(is_prompt),
        });
        // Text alone is no evidence: formats share the tokens of their turns.
        fit.filter(|fit| fit.reads_calls || fit.prompts_equally)
    };
    let mut found: Vec<_> = TextFormat::all().filter_map(fits).collect();
    let written = [
        (&of_plain, &plain[..], &[][..], None),
        (&of_thought, &thought, &[], None),
        (&of_called, &called, &[tool()], None),
        (&of_prompt, &[Message::user(QUESTION)], &[], Some(Role::Assistant)),
    ];
    found.sort_by_cached_key(|fit| {
        let Fit { format, reads_reasoning, reads_calls, prompts_equally } = *fit;
        let equal = written.iter().filter(|(text, messages, tools, prompt)| {
            text.as_ref().is_some_and(|text| writes(text, format, messages, tools, *prompt))
        });
        let count = format.dialect().controls.entries().len();
        (Reverse((reads_calls, reads_reasoning, prompts_equally, equal.count())), count)
    });
    found
}

const QUESTION: &str = "What is the weather in Rome?";
const NEXT: &str = "And in Oslo?";
const THOUGHT: &str = "The user asks about Rome.";
const ANSWER: &str = "It is sunny.";
const TOOL: &str = "weather";
const ARGUMENTS: &str = r#"{"city": "Rome", "hourly": true}"#;
const REPLY: &str = "sunny";

fn tool() -> Tool<'static> {
    let mut tool = Tool::new(TOOL);
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#;
    tool.description = Some("Returns the weather.".into());
    tool.parameters = Value::from_json(schema, &Limits::default()).ok();
    tool
}

/// Whether a format reads these messages from a text, and besides them only messages of the system
/// and the developer.
fn reads(text: &str, format: TextFormat, messages: &[Message<'_>]) -> bool {
    // In some formats, only the next turn closes an answer.
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let parsed = parse(text, format.into(), &options);
    if parsed.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return false;
    }
    let read = parsed.into_conversation().messages;
    let is_said = |it: &&Message<'_>| {
        let is_framing = matches!(it.role, Role::System | Role::Developer);
        !(is_framing || it.is_reasoning() && it.body.text().trim_ascii().is_empty())
    };
    let said: Vec<_> = read.iter().filter(is_said).collect();
    said.len() == messages.len() && said.iter().zip(messages).all(|(it, other)| is_same(it, other))
}

/// Whether a format writes these messages like a template, apart from white space at the end and from
/// what a system message adds at the beginning.
fn writes(
    text: &str,
    format: TextFormat,
    messages: &[Message<'_>],
    tools: &[Tool<'static>],
    prompt: Option<Role>,
) -> bool {
    let mut conversation = Conversation::from_messages(messages.iter().cloned());
    conversation.tools = tools.to_vec();
    let mut options = RenderOptions::default();
    options.generation_prompt = prompt;
    let own = Prompt::new(&conversation, format.into(), &options).convert(&options);
    own.is_ok_and(|own| {
        let (own, text) = (own.output.trim_ascii_end(), text.trim_ascii_end());
        own.ends_with(text) || text.ends_with(own)
    })
}

/// Whether two messages say the same to the same.
fn is_same(read: &Message<'_>, written: &Message<'_>) -> bool {
    let is_call = written.is_call();
    let [one, two] = [read.body.text(), written.body.text()];
    let is_equal = match is_call {
        true => canonical(&one).is_some_and(|it| Some(it) == canonical(&two)),
        false => {
            let (one, two) = (one.trim_ascii(), two.trim_ascii());
            // Some templates write replies as JSON.
            let is_json = read.role == Role::Tool && is_json_of(one, two);
            // Others declare the tools before the text of the user.
            one == two || is_json || read.role == Role::User && one.ends_with(two)
        }
    };
    is_equal
        && read.role == written.role
        && read.is_call() == is_call
        && read.is_reasoning() == written.is_reasoning()
        && (!is_call || read.recipient == written.recipient && read.end == End::Call)
}

/// Returns JSON with canonical white space.
fn canonical(json: &str) -> Option<String> {
    Value::from_json(json, &Limits::default()).ok().map(|it| it.to_json())
}

/// Whether a text is the JSON of another one.
fn is_json_of(json: &str, text: &str) -> bool {
    Value::from_json(json, &Limits::default()).is_ok_and(|value| value.as_str() == Some(text))
}

/// Returns the generation prompts of a format after a question: as its models answer by default, with
/// reasoning and without, and after the token that opens it.
fn prompts(format: TextFormat) -> impl Iterator<Item = String> {
    let conversation = Conversation::from_messages([Message::user(QUESTION)]);
    let ways = [(None, false), (Some(true), false), (Some(false), false), (None, true)];
    ways.into_iter().filter_map(move |(thinking, opens)| {
        let mut options = RenderOptions::prompt();
        (options.thinking, options.open_reasoning) = (thinking, opens);
        let prompt = Prompt::new(&conversation, format.into(), &options);
        prompt.convert(&options).ok().map(|it| it.output)
    })
}
