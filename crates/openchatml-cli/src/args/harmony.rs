//! Options for the beginning of a Harmony prompt.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::harmony::{Effort, Namespace, PromptOptions, SystemContent};
use openchatml::{Format, RenderOptions};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Prompts of Harmony and Apertus")]
pub(crate) struct HarmonyArgs {
    /// The current date: YYYY-MM-DD, or `today` (default in prompts). It is part of the system
    /// message of Harmony and Apertus, and a chat template can use it
    #[arg(long, value_name = "DATE", value_parser = date)]
    date: Option<String>,

    /// The reasoning effort in the system message of Harmony
    #[arg(long, value_name = "EFFORT")]
    reasoning_effort: Option<EffortArg>,

    /// The identity of the model in the system message of Harmony
    #[arg(long, value_name = "TEXT")]
    identity: Option<String>,

    /// The built-in tools in the system message of Harmony
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    builtin_tools: Vec<BuiltinArg>,

    /// Request an answer in the form that this JSON file describes: a `response_format` of OpenAI's
    /// APIs, or a list of them
    #[arg(long, value_name = "FILE")]
    pub(crate) response_format: Option<PathBuf>,
}

/// Whether a prompt gets the system message that the model expects.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Prompts of Harmony and Apertus")]
pub(crate) struct BareArgs {
    /// Write the conversation as it is: add no system message, and keep an application's system
    /// message in its role
    #[arg(long, conflicts_with_all = ["date", "reasoning_effort", "identity", "builtin_tools"])]
    bare: bool,
}

impl BareArgs {
    /// Sets the date of a prompt to today if the user names none. With a date, a prompt has the
    /// system message.
    pub(crate) fn date(self, options: &mut RenderOptions) {
        if !self.bare {
            options.date.get_or_insert_with(|| today().into());
        }
    }

    /// The same for prompts in this format, if its models expect the system message.
    pub(crate) fn complete(self, format: Format, options: &mut RenderOptions) {
        if format.dialect().dated {
            self.date(options);
        }
    }
}

/// The reasoning effort of the model.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum EffortArg {
    Low,
    Medium,
    High,
}

/// A built-in tool of gpt-oss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BuiltinArg {
    /// Searches the web, opens pages, finds text in them
    Browser,
    /// Runs Python code
    Python,
}

impl HarmonyArgs {
    /// Describes the options that change nothing in prompts of this format.
    pub(crate) fn without_effect(&self, format: Format) -> Vec<String> {
        let dialect = format.dialect();
        let (has_date, has_system) = (dialect.dated, dialect.has_opening());
        let options = [
            (self.date.is_some() && !has_date && !has_system, "--date", "date"),
            (self.reasoning_effort.is_some() && !has_system, "--reasoning-effort", "effort"),
            (self.identity.is_some() && !has_system, "--identity", "identity"),
            (!self.builtin_tools.is_empty() && !has_system, "--builtin-tools", "built-in tools"),
            (self.response_format.is_some() && !has_system, "--response-format", "answer format"),
        ];
        let options = options.into_iter().filter(|(is_unused, ..)| *is_unused);
        let describe = |(_, option, what)| {
            format!("{option} has no effect: a prompt in {format} has no place for the {what}")
        };
        options.map(describe).collect()
    }

    /// The options for the system message, if any were given.
    pub(crate) fn of_system(&self) -> Vec<&'static str> {
        let options = [
            (self.date.is_some(), "--date"),
            (self.reasoning_effort.is_some(), "--reasoning-effort"),
            (self.identity.is_some(), "--identity"),
            (!self.builtin_tools.is_empty(), "--builtin-tools"),
        ];
        options.into_iter().filter(|option| option.0).map(|option| option.1).collect()
    }

    /// The date.
    pub(crate) fn date(&self) -> Option<&str> {
        self.date.as_deref()
    }

    /// The content that a Harmony prompt gets if the conversation does not have it.
    pub(crate) fn prompt(&self) -> PromptOptions {
        let mut prompt = PromptOptions::default();
        prompt.system = self.system();
        prompt
    }

    /// The system message for a conversation without one, if an option other than the date was
    /// given.
    fn system(&self) -> Option<SystemContent<'static>> {
        let says_something = self.reasoning_effort.is_some()
            || self.identity.is_some()
            || !self.builtin_tools.is_empty();
        if !says_something {
            return None;
        }
        let mut system = SystemContent::default();
        if let Some(effort) = self.reasoning_effort {
            system.reasoning_effort = Some(match effort {
                EffortArg::Low => Effort::Low,
                EffortArg::Medium => Effort::Medium,
                EffortArg::High => Effort::High,
            });
        }
        if let Some(identity) = &self.identity {
            system.model_identity = Some(identity.clone().into());
        }
        let tools = [
            (BuiltinArg::Browser, Namespace::browser as fn() -> Namespace<'static>),
            (BuiltinArg::Python, Namespace::python),
        ];
        let wanted = tools.into_iter().filter(|(tool, _)| self.builtin_tools.contains(tool));
        system.tools = wanted.map(|(_, namespace)| namespace()).collect();
        Some(system)
    }
}

/// Returns today's date, or that of the environment variable for reproducible output, in seconds
/// since 1970 (<https://reproducible-builds.org/specs/source-date-epoch/>).
fn today() -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|it| it.parse().ok());
    let fixed = fixed.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let now = fixed.map(|at| at.to_zoned(jiff::tz::TimeZone::UTC));
    now.unwrap_or_else(jiff::Zoned::now).date().to_string()
}

/// Parses a date.
fn date(text: &str) -> Result<String, String> {
    if text == "today" {
        return Ok(today());
    }
    match text.parse::<jiff::civil::Date>() {
        Ok(date) if date.to_string() == text => Ok(text.to_owned()),
        _ if is_written_like_a_date(text) => Err("there is no such day".to_owned()),
        _ => Err("write the date as YYYY-MM-DD".to_owned()),
    }
}

/// Whether a text is digits in the places of YYYY-MM-DD.
fn is_written_like_a_date(text: &str) -> bool {
    let is_in_place = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(is_in_place)
}
