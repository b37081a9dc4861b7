//! Options for writing.

use std::borrow::Cow;

use super::DialectOptions;
use super::settings::Settings;
use crate::Role;
use crate::declare::Style;

/// Options for writing a document.
///
/// ```
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let question = Conversation::from_messages([Message::new(Role::User, "What is 2 + 2?")]);
/// let mut options = RenderOptions::default();
/// options.generation_prompt = Some(Role::Assistant);
/// let prompt = render(&question.into(), "chatml".parse()?, &options)?;
/// assert_eq!(prompt, "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Whether to keep the layout of what was read.
    pub layout: LayoutChoice,
    /// How to handle header values that cannot be written.
    pub values: Values,
    /// The compatibility profile, for dialects that several programs write differently.
    pub profile: Profile,
    /// The current date for prompts, in formats with a date: `2026-01-31`.
    pub date: Option<Cow<'static, str>>,
    /// Whether the prompt asks the model to think before it answers, in formats that support it
    /// (Apertus: `Deliberation: enabled`). `None` is the default of the format.
    pub thinking: Option<bool>,
    /// Ends a generation prompt with the token that opens reasoning, in formats with turns of
    /// sections (Qwen 3: `<think>`). Models that always think expect it. Their completions [begin
    /// inside of reasoning](crate::ReadOptions::in_reasoning).
    pub open_reasoning: bool,
    /// Ends the text with an open message of this role, which the model generates.
    pub generation_prompt: Option<Role>,
    /// Keeps the reasoning before earlier answers in a [prompt](crate::prompt).
    pub keep_reasoning: bool,
    /// Leaves the last message open, so that the model continues it.
    pub continue_final: bool,
    /// In canonical JSON, also writes the [known token ids](crate::Message::ids) of messages.
    pub ids: bool,
    /// Options of single dialects.
    settings: Settings,
}

impl RenderOptions {
    /// Creates options for the prompt of a completion: the text ends where the assistant speaks.
    ///
    /// ```
    /// use openchatml::{Conversation, Format, Message, RenderOptions, render};
    ///
    /// let question = Conversation::from_messages([Message::user("What is 2 + 2?")]).into();
    /// let prompt = render(&question, Format::HARMONY, &RenderOptions::prompt())?;
    /// assert!(prompt.ends_with("<|start|>assistant"));
    /// # Ok::<(), openchatml::RenderError>(())
    /// ```
    pub fn prompt() -> Self {
        Self { generation_prompt: Some(Role::Assistant), ..Self::default() }
    }

    /// Whether they ask for what a chat template writes into a prompt, and not for a conversion.
    pub(crate) fn is_of_prompt(&self) -> bool {
        self.generation_prompt.is_some() || self.thinking.is_some()
    }

    /// Sets the options of one dialect. They replace earlier options of the same type.
    ///
    /// ```
    /// use openchatml::RenderOptions;
    /// use openchatml::harmony::{PromptOptions, SystemContent};
    ///
    /// let mut options = RenderOptions::default();
    /// let mut prompt = PromptOptions::default();
    /// prompt.system = Some(SystemContent::default());
    /// options.set(prompt);
    /// assert!(options.get::<PromptOptions>().is_some_and(|it| it.system.is_some()));
    /// ```
    pub fn set<T: DialectOptions>(&mut self, options: T) {
        self.settings.set(options);
    }

    /// Returns the options of one dialect, if set.
    ///
    /// ```
    /// use openchatml::RenderOptions;
    /// use openchatml::harmony::PromptOptions;
    ///
    /// assert!(RenderOptions::default().get::<PromptOptions>().is_none());
    /// ```
    pub fn get<T: DialectOptions>(&self) -> Option<&T> {
        self.settings.get()
    }
}

/// The compatibility profile for Harmony and Apertus output.
///
/// ```
/// use openchatml::render::Profile;
/// use openchatml::{RenderOptions, parse, render};
///
/// let declared = r#"[{"role": "developer", "content": [{"type": "developer_content", "tools":
///     {"functions": {"name": "functions", "tools": [{"name": "f", "description": "F.",
///     "parameters": {"anyOf": [{"type": "string"}, {"type": "null"}]}}]}}}]}]"#;
/// let document = parse(declared, "harmony:json".parse()?, &Default::default()).document;
/// let mut options = RenderOptions::default();
/// let documented = render(&document, "harmony".parse()?, &options)?;
/// assert!(documented.contains("type f = (_: string | null) => any;"));
/// options.profile = Profile::Reference;
/// let reference = render(&document, "harmony".parse()?, &options)?;
/// assert!(reference.contains("type f = (_: any) => any;"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The chat template writes the date, and reads a system prompt as instructions:
///
/// ```
/// use openchatml::render::Profile;
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let prompt = Conversation::from_messages([Message::new(Role::System, "Be brief.")]).into();
/// let mut options = RenderOptions::default();
/// options.profile = Profile::HfTemplate;
/// assert!(render(&prompt, "harmony".parse()?, &options).is_err());
/// options.date = Some("2025-06-28".into());
/// let text = render(&prompt, "harmony".parse()?, &options)?;
/// assert!(text.contains("Current date: 2025-06-28"));
/// assert!(text.ends_with("# Instructions\n\nBe brief.\n\n<|end|>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The documentation of the format.
    #[default]
    Documented,
    /// The reference renderer `openai-harmony` 0.0.8, including its peculiarities: declarations in
    /// the style [`Style::Reference`], `<|call|>` at the end of every message of the assistant with
    /// a recipient, and `<|end|>` at the end of every other message except the last answer.
    Reference,
    /// `oss-harmony` 0.0.11, the maintained fork of `openai-harmony`: like the reference, but the
    /// recipient of commentary follows the channel, and each content type is a constraint.
    OssHarmony,
    /// The chat template of the published gpt-oss checkpoints, with the arguments of calls as
    /// mappings. The template writes the system message and requires a date.
    HfTemplate,
    /// The same chat template, with the arguments of calls as strings, as in OpenAI's API: the
    /// template encodes them twice.
    HfTemplateStrings,
}

impl Profile {
    /// Whether the profile is that of a chat template.
    pub(crate) fn is_template(self) -> bool {
        matches!(self, Self::HfTemplate | Self::HfTemplateStrings)
    }

    /// Returns the style of its declarations.
    pub(crate) fn style(self) -> Style {
        match self {
            Self::Reference | Self::OssHarmony => Style::Reference,
            _ => Style::Documented,
        }
    }
}

/// Whether to keep the layout of what was read.
///
/// ```
/// use openchatml::render::LayoutChoice;
/// use openchatml::{RenderOptions, parse, render};
///
/// let text = "<|im_start|>user\nHi.<|im_end|>\n\n\n";
/// let document = parse(text, "chatml".parse()?, &Default::default()).document;
/// let mut options = RenderOptions::default();
/// assert_eq!(render(&document, "chatml".parse()?, &options)?, text);
/// options.layout = LayoutChoice::Canonical;
/// assert_eq!(render(&document, "chatml".parse()?, &options)?, text.trim_end().to_owned() + "\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LayoutChoice {
    /// Keeps the layout of messages that were read in the same dialect and have not changed.
    #[default]
    Keep,
    /// Writes the canonical layout of the dialect.
    Canonical,
}

/// How to handle header values that cannot be written because of white space, control characters or
/// control tokens (OpenChatML 2.2 §11).
///
/// ```
/// use openchatml::render::Values;
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let mut message = Message::new(Role::User, "Hi.");
/// message.name = Some("Eric Smith".into());
/// let document = Conversation::from_messages([message]).into();
/// let mut options = RenderOptions::default();
/// assert!(render(&document, "chatml".parse()?, &options).is_err());
/// options.values = Values::Sanitize;
/// let text = render(&document, "chatml".parse()?, &options)?;
/// assert_eq!(text, "<|im_start|>user name=Eric_Smith\nHi.<|im_end|>\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Values {
    /// Refuses the document.
    #[default]
    Refuse,
    /// Writes `_` for white space, for control characters, and for the `<` of a control token. An
    /// empty value is dropped.
    Sanitize,
}
