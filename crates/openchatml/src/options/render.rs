//! How to write.

use std::borrow::Cow;

use super::DialectOptions;
use super::settings::Settings;
use crate::Role;
use crate::declare::Style;

/// How to write.
///
/// ```
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let question = Conversation::from_messages([Message::new(Role::User, "What is 2 + 2?")]);
/// let mut options = RenderOptions::default();
/// options.generation_prompt = Some(Role::Assistant);
/// let prompt = render(&question.into(), "im".parse()?, &options)?;
/// assert_eq!(prompt, "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Whether what was read is laid out as it was.
    pub layout: LayoutChoice,
    /// What to do with header values that cannot be written.
    pub values: Values,
    /// In whose way a dialect is written that several programs write.
    pub profile: Profile,
    /// The date that prompts tell the model, where their format says one: `2026-01-31`.
    pub date: Option<Cow<'static, str>>,
    /// Whether the model is told to think before it answers, where prompts of the format say so
    /// (Apertus: `Deliberation: enabled`). `None` for what the format does by itself.
    pub thinking: Option<bool>,
    /// Ends the text with a message that this role has yet to say.
    pub generation_prompt: Option<Role>,
    /// Keeps the reasoning that led to earlier answers in a [prompt](crate::prompt).
    pub keep_reasoning: bool,
    /// Leaves the last message open, for the model to continue.
    pub continue_final: bool,
    /// Canonical JSON: the token ids that messages [are known to have](crate::Message::ids) are
    /// written, too.
    pub ids: bool,
    /// Options that one dialect alone has.
    settings: Settings,
}

impl RenderOptions {
    /// Ends the text where the assistant speaks: the prompt of a completion.
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

    /// Takes the options of one dialect, in place of those that were set before.
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

    /// The options of one dialect, if they were set.
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

/// In whose way Harmony is written.
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
/// The chat template says the date, and takes a system prompt for instructions:
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
    /// As its documentation says.
    #[default]
    Documented,
    /// As the reference renderer `openai-harmony` 0.0.8 writes it, its habits included: declarations
    /// in the style of [`Style::Reference`], `<|call|>` at the end
    /// of whatever the assistant says to a recipient, and `<|end|>` at the end of everything else
    /// but the answer that ends the conversation.
    Reference,
    /// As its maintained fork `oss-harmony` 0.0.11 writes it: like the reference, with the recipient
    /// of commentary after the channel, and each content type as a constraint.
    OssHarmony,
    /// As the chat template of the published gpt-oss checkpoints writes it, with the arguments of
    /// calls given to it as mappings. It makes the system message itself, and needs its date.
    HfTemplate,
    /// The same with arguments given as strings, as the API of OpenAI has them: the template encodes
    /// them twice.
    HfTemplateStrings,
}

impl Profile {
    /// Whether a chat template decides what is written.
    pub(crate) fn is_template(self) -> bool {
        matches!(self, Self::HfTemplate | Self::HfTemplateStrings)
    }

    /// The style of its declarations.
    pub(crate) fn style(self) -> Style {
        match self {
            Self::Reference | Self::OssHarmony => Style::Reference,
            _ => Style::Documented,
        }
    }
}

/// Whether what was read is laid out as it was.
///
/// ```
/// use openchatml::render::LayoutChoice;
/// use openchatml::{RenderOptions, parse, render};
///
/// let text = "<|im_start|>user\nHi.<|im_end|>\n\n\n";
/// let document = parse(text, "im".parse()?, &Default::default()).document;
/// let mut options = RenderOptions::default();
/// assert_eq!(render(&document, "im".parse()?, &options)?, text);
/// options.layout = LayoutChoice::Canonical;
/// assert_eq!(render(&document, "im".parse()?, &options)?, text.trim_end().to_owned() + "\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LayoutChoice {
    /// As it was read, where it was read in the same dialect and has not changed.
    #[default]
    Keep,
    /// The dialect's canonical layout.
    Canonical,
}

/// What to do with header values that cannot be written: white space, control characters, control
/// tokens (OpenChatML 2.2 §11).
///
/// ```
/// use openchatml::render::Values;
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let mut message = Message::new(Role::User, "Hi.");
/// message.name = Some("Eric Smith".into());
/// let document = Conversation::from_messages([message]).into();
/// let mut options = RenderOptions::default();
/// assert!(render(&document, "im".parse()?, &options).is_err());
/// options.values = Values::Sanitize;
/// let text = render(&document, "im".parse()?, &options)?;
/// assert_eq!(text, "<|im_start|>user name=Eric_Smith\nHi.<|im_end|>\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Values {
    /// Refuse.
    #[default]
    Refuse,
    /// Write `_` for white space, for control characters, and for the `<` of a control token. A
    /// value that is empty is left out.
    Sanitize,
}
