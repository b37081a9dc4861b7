//! The option `--model`: what the folder of a model says stands for other options.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory as _};

use super::Cli;
use crate::console::Console;
use crate::failure::Failure;
use crate::model::Model;

/// Returns the arguments with those that `--model` stands for, and these alone: the format of the
/// model as the format of the output, or of the input if there is no other; and its encoding.
///
/// # Errors
///
/// The value is no folder of a model, or no format fits it.
pub(crate) fn expand(arguments: Vec<OsString>) -> Result<(Vec<OsString>, String), Failure> {
    if !arguments.iter().any(|it| it.to_string_lossy().starts_with("--model")) {
        return Ok((arguments, String::new()));
    }
    let top = Cli::command();
    let Ok(matches) = top.clone().ignore_errors(true).try_get_matches_from(&arguments) else {
        return Ok((arguments, String::new()));
    };
    let Some(folder) = model(&matches) else { return Ok((arguments, String::new())) };
    let (command, given) = chosen(&top, &matches);
    let takes = |long: &str| {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long))?;
        let source = given.value_source(arg.get_id().as_str());
        Some(source == Some(ValueSource::CommandLine))
    };
    // Servers and events have a name for the model, which is not always its folder.
    let has_name = takes("upstream").is_some() || takes("events").is_some();
    if has_name && !Path::new(&folder).is_dir() {
        return Ok((arguments, String::new()));
    }
    let model = Model::read(Path::new(&folder), &Console::new(&Default::default()))?;
    let mut added = Vec::new();
    // A response template stands in the place of the format.
    let reads_response = takes("response-template") == Some(true);
    let is_free = |long: &&str| takes(long) == Some(false) && !(*long == "from" && reads_response);
    // A template writes prompts itself.
    let written = ["for", "to"].into_iter().find(|it| takes(it).is_some());
    let long = match written {
        Some("to") if takes("template") == Some(true) => None,
        Some(long) if is_free(&long) => Some(long),
        Some(_) => Some("from").filter(|_| command.get_name() == "convert"),
        None => Some("from"),
    };
    if let Some(long) = long.filter(|it| is_free(it)) {
        let Some(format) = model.format() else {
            let why = model.trouble.unwrap_or_default();
            return Err(Failure::Usage(format!(
                "the format of the model in `{folder}` is unknown: {why}; name it with --{long}"
            )));
        };
        added.extend([format!("--{long}"), format.to_string()]);
    }
    let with = |added: &[String]| {
        let end = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
        let mut all = arguments.clone();
        all.splice(end..end, added.iter().map(OsString::from));
        all
    };
    // Some commands take an encoding only beside ids.
    if let Some(path) = model.encoding.filter(|_| is_free(&"encoding")) {
        let encoding = ["--encoding".to_owned(), path.to_string_lossy().into_owned()];
        let all = [added.clone(), encoding.to_vec()].concat();
        if top.try_get_matches_from(with(&all)).is_ok() {
            added = all;
        }
    }
    let note = match added.is_empty() {
        true => format!("--model {folder} stands for no other option here"),
        false => format!("--model {folder} stands for: {}", added.join(" ")),
    };
    Ok((with(&added), note))
}

/// Returns the value of the option.
fn model(matches: &ArgMatches) -> Option<String> {
    let here = matches.try_get_one::<String>("model").ok().flatten().cloned();
    here.or_else(|| model(matches.subcommand()?.1))
}

/// Returns the chosen command, and its arguments.
fn chosen<'c>(command: &'c Command, matches: &'c ArgMatches) -> (&'c Command, &'c ArgMatches) {
    match matches
        .subcommand()
        .and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner)))
    {
        Some((inner, matches)) => chosen(inner, matches),
        None => (command, matches),
    }
}
