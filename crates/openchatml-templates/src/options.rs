//! The input of a template besides the conversation.

use std::borrow::Cow;

use openchatml::Value;

use crate::date::Date;

/// The input of a template besides the conversation, and the spellings that are control tokens.
///
/// ```
/// use openchatml::{Conversation, Message, Role};
/// use openchatml_templates::{Options, Template};
///
/// let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}\
///     {% if add_generation_prompt %}<|assistant|>{% endif %}";
/// let template = Template::new(source, &Default::default())?;
/// let mut options = Options::default();
/// options.generation_prompt = true;
/// options.special_tokens.push(("eos_token".into(), "</s>".into()));
/// let conversation = Conversation::from_messages([Message::new(Role::User, "Hi.")]);
/// let rendered = template.render(&conversation, &options)?;
/// assert_eq!(rendered.text, "<|user|>Hi.</s><|assistant|>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Options<'a> {
    /// `add_generation_prompt`: the output ends where the assistant continues.
    pub generation_prompt: bool,
    /// `enable_thinking`. `None`: the template decides.
    pub thinking: Option<bool>,
    /// The date that `strftime_now` returns.
    pub date: Option<Date>,
    /// How arguments of calls are passed.
    pub arguments: Arguments,
    /// Special tokens by their names: `bos_token`, `eos_token`, … They are control tokens.
    pub special_tokens: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Further variables. Their texts are protected like the content of messages.
    pub variables: Vec<(Cow<'a, str>, Value<'a>)>,
    /// The spellings of control tokens besides the special tokens. Without a list, they are the
    /// spellings in the template that look like control tokens: `<|…|>`, `<…>` without a space, and
    /// `[…]` in capitals.
    pub controls: Option<Vec<Cow<'a, str>>>,
}

/// How arguments of calls are passed to a template.
///
/// Both are in use: a template with `arguments | tojson` expects data, a template with `arguments`
/// expects text.
///
/// ```
/// use openchatml::{Channel, Conversation, Message, Role};
/// use openchatml_templates::{Arguments, Options, Template};
///
/// let mut call = Message::new(Role::Assistant, r#"{"city": "Rome"}"#);
/// call.recipient = Some("functions.weather".into());
/// let conversation = Conversation::from_messages([call]);
/// let source = "{{ messages[0].tool_calls[0].function.arguments | tojson }}";
/// let template = Template::new(source, &Default::default())?;
/// let mut options = Options::default();
/// assert_eq!(template.render(&conversation, &options)?.text, r#"{"city": "Rome"}"#);
/// options.arguments = Arguments::Text;
/// assert_eq!(template.render(&conversation, &options)?.text, r#""{\"city\": \"Rome\"}""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arguments {
    /// As data, parsed from their JSON, as `transformers` recommends. Arguments that are not JSON
    /// are passed as text.
    #[default]
    Parsed,
    /// As text, as in OpenAI's chat completions.
    Text,
}
