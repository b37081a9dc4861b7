//! `models`: which format belongs to the folder of a model, and why.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::model::{Model, StopToken};
use crate::output::Target;
use crate::visible::visible;

/// Tell which format the folder of a model has, and why
///
/// The chat template of the model writes a few short conversations, and each format reads them. The
/// format that reads the most back is that of the model. `--model FOLDER` uses it in any command.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml models ~/models/Qwen3-8B
  ocml models --json ~/models/*
  ocml render --model ~/models/Qwen3-8B --generation-prompt chat.json")]
pub(crate) struct ModelsArgs {
    /// The folders of models, with `chat_template.jinja` or `tokenizer_config.json`,
    /// `tokenizer.json`, `generation_config.json` and `config.json`
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Write one JSON object for each folder
    #[arg(long)]
    json: bool,
}

/// Runs `models`.
pub(crate) fn run(args: &ModelsArgs, console: &Console) -> Result<Status, Failure> {
    let mut status = Status::Fine;
    let mut out = Target::stdout();
    for (index, folder) in args.folders.iter().enumerate() {
        let model = Model::read(folder, console)?;
        if model.format().is_none() {
            status = Status::Found;
        }
        let (misfit, stops) = (model.misfit(console)?, model.stops(console)?);
        let text = match args.json {
            true => format!("{}\n", object(&model, misfit.as_deref(), &stops)),
            false => {
                let gap = if index == 0 { "" } else { "\n" };
                [gap, &table(&model, misfit.as_deref(), &stops)].concat()
            }
        };
        out.write(text.as_bytes())?;
    }
    out.finish()?;
    Ok(status)
}

/// Describes a model for people.
fn table(model: &Model, misfit: Option<&str>, stops: &[StopToken]) -> String {
    let mut out = format!("{}\n", visible(&model.folder.display().to_string()));
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "  {name:13} {}", visible(text));
    };
    if let Some(architecture) = &model.architecture {
        row("architecture", architecture);
    }
    match (model.fits.first(), &model.trouble) {
        (Some(fit), _) => {
            row("format", &fit.format.to_string());
            let reads = [
                (true, "answers"),
                (fit.reads_reasoning, "reasoning"),
                (fit.reads_calls, "calls and replies"),
            ];
            let reads: Vec<_> = reads.iter().filter(|it| it.0).map(|it| it.1).collect();
            let mut why = format!("reads {} of its chat template back", reads.join(", "));
            why.push_str(match fit.prompts_equally {
                true => ", and writes the same prompt",
                false => "; its prompt differs: render prompts with --template",
            });
            row("why", &why);
        }
        (None, Some(trouble)) => row("format", &format!("unknown: {trouble}")),
        (None, None) => row("format", "unknown"),
    }
    let others: Vec<_> = model.fits.iter().skip(1).map(|fit| fit.format.to_string()).collect();
    if !others.is_empty() {
        row("also read by", &others.join(", "));
    }
    row("template", &named(model.template.as_ref()));
    row("encoding", &named(model.encoding.as_ref()));
    if let Some(misfit) = misfit {
        row("", misfit);
    }
    let stops: Vec<_> = stops.iter().map(stop).collect();
    let named = stops.join(", ");
    row(
        "stop tokens",
        if stops.is_empty() { "unknown: no `generation_config.json`" } else { &named },
    );
    out
}

fn named(path: Option<&PathBuf>) -> String {
    let name = path.and_then(|path| path.file_name());
    name.map_or_else(|| "none".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn stop(token: &StopToken) -> String {
    match &token.spelling {
        Some(spelling) => format!("{spelling} ({})", token.id),
        None => token.id.to_string(),
    }
}

/// Describes a model for programs.
fn object(model: &Model, misfit: Option<&str>, stops: &[StopToken]) -> Value {
    let fits = model.fits.iter().map(|fit| {
        json!({
            "format": fit.format.to_string(),
            "reads_reasoning": fit.reads_reasoning,
            "reads_calls": fit.reads_calls,
            "prompts_equally": fit.prompts_equally,
        })
    });
    let stops = stops.iter().map(|it| json!({"id": it.id, "token": it.spelling}));
    let path = |path: &Option<PathBuf>| path.as_ref().map(|it| it.display().to_string());
    json!({
        "folder": model.folder.display().to_string(),
        "architecture": model.architecture,
        "format": model.format().map(|format| format.to_string()),
        "fits": fits.collect::<Vec<_>>(),
        "trouble": model.trouble,
        "template": path(&model.template),
        "encoding": path(&model.encoding),
        "encoding_trouble": misfit,
        "stop_tokens": stops.collect::<Vec<_>>(),
    })
}
