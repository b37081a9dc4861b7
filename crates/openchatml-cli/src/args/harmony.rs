//! What a prompt in Harmony begins with.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::harmony::{Effort, Namespace, PromptOptions, SystemContent};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Prompts of Harmony and Apertus")]
pub(crate) struct HarmonyArgs {
    /// Put in a system message that says this date, if there is none: YYYY-MM-DD, or `today`
    /// (Harmony, Apertus). A chat template is told it
    #[arg(long, value_name = "DATE", value_parser = date)]
    date: Option<String>,

    /// Put in a system message that says how hard to think, if there is none
    #[arg(long, value_name = "EFFORT")]
    reasoning_effort: Option<EffortArg>,

    /// Put in a system message that says who the model is, if there is none
    #[arg(long, value_name = "TEXT")]
    identity: Option<String>,

    /// Put in a system message that declares built-in tools, if there is none
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    builtin_tools: Vec<BuiltinArg>,

    /// Ask for an answer of the form in this JSON file: a `response_format` of OpenAI's APIs, or a
    /// list of such
    #[arg(long, value_name = "FILE")]
    pub(crate) response_format: Option<PathBuf>,
}

/// How hard the model thinks.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum EffortArg {
    Low,
    Medium,
    High,
}

/// A tool that gpt-oss was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BuiltinArg {
    /// Searches, opens pages, finds text in them
    Browser,
    /// Runs code
    Python,
}

impl HarmonyArgs {
    /// The date.
    pub(crate) fn date(&self) -> Option<&str> {
        self.date.as_deref()
    }

    /// What a prompt in Harmony says where the conversation does not.
    pub(crate) fn prompt(&self) -> PromptOptions {
        let mut prompt = PromptOptions::default();
        prompt.system = self.system();
        prompt
    }

    /// The system message of a conversation that has none, if more than the date is said about it.
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

/// Reads a date.
fn date(text: &str) -> Result<String, String> {
    if text == "today" {
        return Ok(jiff::Zoned::now().date().to_string());
    }
    match text.parse::<jiff::civil::Date>() {
        Ok(date) if date.to_string() == text => Ok(text.to_owned()),
        _ => Err("a date is written YYYY-MM-DD".to_owned()),
    }
}
