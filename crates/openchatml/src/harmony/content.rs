//! The contents of system and developer messages in Harmony: text with fixed headings.

use std::borrow::Cow;

use super::response::ResponseFormat;
use crate::declare::{FUNCTIONS, Namespace, Style, tools_section};
use crate::model::Channel;

/// The content of the system message: the model's identity, the date, the reasoning effort, the
/// channels and the built-in tools.
///
/// ```
/// use openchatml::declare::Style;
/// use openchatml::harmony::{Effort, SystemContent};
///
/// let mut system = SystemContent::default();
/// system.current_date = Some("2025-06-28".into());
/// system.reasoning_effort = Some(Effort::High);
/// assert_eq!(system.text(true, Style::Documented), "\
/// You are ChatGPT, a large language model trained by OpenAI.
/// Knowledge cutoff: 2024-06
/// Current date: 2025-06-28
///
/// Reasoning: high
///
/// ## Valid channels: analysis, commentary, final. Channel must be included for every message.
/// Calls to these tools must go to the commentary channel: 'functions'.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemContent<'a> {
    /// The identity of the model.
    pub model_identity: Option<Cow<'a, str>>,
    /// The end of its training data.
    pub knowledge_cutoff: Option<Cow<'a, str>>,
    /// The current date, `YYYY-MM-DD`.
    pub current_date: Option<Cow<'a, str>>,
    /// The reasoning effort.
    pub reasoning_effort: Option<Effort>,
    /// The valid channels. Without any, the section is omitted.
    pub valid_channels: Vec<Cow<'a, str>>,
    /// Whether each message requires a channel.
    pub channel_required: bool,
    /// The built-in tools.
    pub tools: Vec<Namespace<'a>>,
}

/// The reasoning effort of a model.
///
/// ```
/// use openchatml::harmony::Effort;
///
/// assert_eq!(Effort::from_word("high").map(Effort::as_str), Some("high"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
}

crate::words::words!(pub Effort { Low = "low", Medium = "medium", High = "high" });

/// The content of the developer message: instructions, the tools of the application, and response
/// formats.
///
/// ```
/// use openchatml::Tool;
/// use openchatml::declare::Style;
/// use openchatml::harmony::{DeveloperContent, Namespace};
///
/// let mut developer = DeveloperContent::default();
/// developer.instructions = Some("Use a friendly tone.".into());
/// let tool = Tool::new("get_location").with_description("Gets the location of the user.");
/// developer.tools = vec![Namespace::functions(vec![tool])];
/// assert_eq!(developer.text(Style::Documented), "\
/// ## Instructions
///
/// Use a friendly tone.
///
/// ## Tools
///
/// ### functions
///
/// namespace functions {
///
/// // Gets the location of the user.
/// type get_location = () => any;
///
/// } // namespace functions");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeveloperContent<'a> {
    /// The instructions, usually called the system prompt.
    pub instructions: Option<Cow<'a, str>>,
    /// The tools, by namespace.
    pub tools: Vec<Namespace<'a>>,
    /// The response formats.
    pub response_formats: Vec<ResponseFormat<'a>>,
}

impl Default for SystemContent<'_> {
    fn default() -> Self {
        Self {
            model_identity: Some(IDENTITY.into()),
            knowledge_cutoff: Some("2024-06".into()),
            current_date: None,
            reasoning_effort: Some(Effort::Medium),
            valid_channels: Channel::WORDS.iter().map(|word| Cow::Borrowed(*word)).collect(),
            channel_required: true,
            tools: Vec::new(),
        }
    }
}

const IDENTITY: &str = "You are ChatGPT, a large language model trained by OpenAI.";

impl<'a> SystemContent<'a> {
    /// Returns the text of the message. `has_functions` says whether the developer declares
    /// functions.
    pub fn text(&self, has_functions: bool, style: Style) -> String {
        let mut sections = Vec::new();
        let about = [
            self.model_identity.as_ref().map(|identity| identity.to_string()),
            self.knowledge_cutoff.as_ref().map(|date| format!("Knowledge cutoff: {date}")),
            self.current_date.as_ref().map(|date| format!("Current date: {date}")),
        ];
        let about: Vec<String> = about.into_iter().flatten().collect();
        if !about.is_empty() {
            sections.push(about.join("\n"));
        }
        sections.extend(self.reasoning_effort.map(|effort| format!("Reasoning: {effort}")));
        sections.extend(tools_section(&self.tools, style));
        if !self.valid_channels.is_empty() {
            let mut section = format!("# Valid channels: {}.", self.valid_channels.join(", "));
            if self.channel_required {
                section.push_str(" Channel must be included for every message.");
            }
            if has_functions {
                section.push_str(
                    "\nCalls to these tools must go to the commentary channel: 'functions'.",
                );
            }
            sections.push(section);
        }
        sections.join("\n\n")
    }
}

impl<'a> DeveloperContent<'a> {
    /// Returns the text of the message.
    pub fn text(&self, style: Style) -> String {
        let mut sections = Vec::new();
        if let Some(instructions) = &self.instructions {
            sections.push(INSTRUCTIONS.to_owned());
            sections.push(instructions.to_string());
        }
        sections.extend(tools_section(&self.tools, style));
        sections.extend(ResponseFormat::section(&self.response_formats));
        sections.join("\n\n")
    }

    /// Whether the content declares functions.
    pub fn has_functions(&self) -> bool {
        self.tools.iter().any(|it| it.name == FUNCTIONS && !it.tools.is_empty())
    }
}

/// The heading of the developer's instructions.
pub(crate) const INSTRUCTIONS: &str = "# Instructions";
