//! Options for chat templates.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::{Limits, Value};

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Chat templates")]
pub(crate) struct TemplateArgs {
    /// Write with this chat template: a Jinja template, a `tokenizer_config.json` or
    /// `chat_template.json` that contains one, or the folder of a model
    ///
    /// In a folder, `chat_template.jinja`, `chat_template.json` or `tokenizer_config.json` is the
    /// template, special tokens come from `tokenizer_config.json`, and `tokenizer.json` is the
    /// encoding for `--form ids`.
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) template: Option<PathBuf>,

    /// The name of the template in the file (default: `default`, or `tool_use` if there are tools)
    #[arg(long, value_name = "NAME")]
    pub(crate) template_name: Option<String>,

    /// Also read bos_token, eos_token, … and the control tokens from this file: a
    /// `tokenizer_config.json` or a `tokenizer.json`
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer_config: Vec<PathBuf>,

    /// Set a variable of the template; can be repeated
    #[arg(long = "template-arg", value_name = "KEY=JSON", value_parser = variable)]
    pub(crate) variables: Vec<(String, Value<'static>)>,

    /// What to write
    #[arg(long, value_name = "FORM", default_value = "text")]
    #[arg(hide_default_value = true)]
    pub(crate) form: FormArg,

    /// Pass the arguments of calls to the template as text, not as data
    #[arg(long)]
    pub(crate) arguments_as_text: bool,
}

impl TemplateArgs {
    /// The first option that applies only to templates.
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

/// The form of the output of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// The prompt; content that contains a control token is refused (default)
    #[default]
    Text,
    /// A JSON object: the control tokens, the text between them, and which parts the model
    /// generates
    Pieces,
    /// A JSON object: the token ids of --encoding, and which of them the model generates
    Ids,
}

/// Parses `KEY=JSON`.
fn variable(text: &str) -> Result<(String, Value<'static>), String> {
    let Some((key, json)) = text.split_once('=') else {
        return Err("write the variable as KEY=JSON".to_owned());
    };
    match Value::from_json(json, &Limits::default()) {
        Ok(value) => Ok((key.to_owned(), value.into_owned())),
        Err(found) => Err(format!("{}; write a string as {key}='\"…\"'", found.message)),
    }
}
