//! What a chat template is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::{Limits, Value};

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Chat templates")]
pub(crate) struct TemplateArgs {
    /// Write with this chat template: a Jinja template, or a `tokenizer_config.json` or
    /// `chat_template.json` that has one
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,

    /// Which template of the file: default, or tool_use where there are tools, if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) template_name: Option<String>,

    /// Take bos_token, eos_token, … and the control tokens from this file, too: a
    /// `tokenizer_config.json`, or a `tokenizer.json`
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer_config: Vec<PathBuf>,

    /// A variable for the template; may be repeated
    #[arg(long = "template-arg", value_name = "KEY=JSON", value_parser = variable)]
    pub(crate) variables: Vec<(String, Value<'static>)>,

    /// What is written
    #[arg(long, value_name = "FORM", default_value = "text")]
    #[arg(hide_default_value = true)]
    pub(crate) form: FormArg,

    /// Give the arguments of calls to the template as text, and not as data
    #[arg(long)]
    pub(crate) arguments_as_text: bool,
}

impl TemplateArgs {
    /// The first option that says something about a template.
    pub(crate) fn option(&self) -> Option<&'static str> {
        let options = [
            (self.template_name.is_some(), "--template-name"),
            (!self.tokenizer_config.is_empty(), "--tokenizer-config"),
            (!self.variables.is_empty(), "--template-arg"),
            (self.form != FormArg::Text, "--form"),
            (self.arguments_as_text, "--arguments-as-text"),
        ];
        options.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }
}

/// What is written of what a template writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// The prompt; content that spells a control token is refused (default)
    #[default]
    Text,
    /// A JSON object: the control tokens, the text between them, and what the model says
    Pieces,
    /// A JSON object: the token ids of --encoding, and which of them the model says
    Ids,
}

/// Reads `KEY=JSON`.
fn variable(text: &str) -> Result<(String, Value<'static>), String> {
    let Some((key, json)) = text.split_once('=') else {
        return Err("a variable is given as KEY=JSON".to_owned());
    };
    match Value::from_json(json, &Limits::default()) {
        Ok(value) => Ok((key.to_owned(), value.into_owned())),
        Err(found) => Err(format!("{}; a text is given as {key}='\"…\"'", found.message)),
    }
}
