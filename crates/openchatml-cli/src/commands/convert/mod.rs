//! `parse`, `render` and `convert`: the same code with different defaults.

mod beside;
pub(super) mod converter;
mod document;
mod job;
pub(super) mod response_formats;
mod template;
pub(super) mod tokens;
mod truncate;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use openchatml::{Format, TextFormat};
use openchatml_data::record::Purpose;

use self::beside::BesideArgs;
use self::converter::{Converter, purpose_of_convert, purpose_of_render};
use self::job::Job;
use self::template::Templated;
use self::tokens::{MaskArgs, TokenOutput};
pub(crate) use self::truncate::{TruncateArgs, truncate};
use crate::args::{
    BareArgs, DenyArgs, FilesArgs, FormArg, JsonlArgs, OutArgs, ReadArgs, RenderArgs, ResponseArgs,
    TemplateArgs, Written, text_format, written,
};
use crate::console::Console;
use crate::encodings::Encodings;
use crate::failure::{Failure, Status};
use crate::input::{JSON, Origin};
use crate::model::encoding_beside;

/// The options of all commands that write conversations.
#[derive(Args, Debug)]
struct WorkArgs {
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    jsonl: JsonlArgs,
    #[command(flatten)]
    render: RenderArgs,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    deny: DenyArgs,
}

impl WorkArgs {
    /// Returns the converter for the options.
    ///
    /// # Errors
    ///
    /// A named file is invalid: an encoding, tools or response formats.
    fn converter(
        &self,
        to: Written,
        purpose: Purpose,
        encodings: Option<Encodings>,
        console: &Console,
    ) -> Result<Converter, Failure> {
        let mut converter = Converter::new(&self.read, to, purpose, encodings, console)?;
        converter.set(&self.render, console)?;
        Ok(converter)
    }

    fn job(&self) -> Job<'_> {
        Job::new(&self.read, &self.jsonl, &self.out, self.deny)
    }
}

#[derive(Args, Debug)]
#[command(after_help = PARSE_EXAMPLES, after_long_help = format!("{PARSE_EXAMPLES}\n\n{JSONL_HELP}"))]
pub(crate) struct ParseArgs {
    /// File to read (`-` or none: standard input)
    file: Option<PathBuf>,
    /// Also write the token ids that each message was read from
    #[arg(long)]
    keep_ids: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    response: ResponseArgs,
    #[command(flatten)]
    jsonl: JsonlArgs,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    deny: DenyArgs,
}

/// Write messages as a prompt for a model
///
/// Reads messages in any format. A prompt does not contain the reasoning before earlier
/// answers: it is dropped without --keep-reasoning or --training. A prompt of Harmony or Apertus
/// begins with the system message that the model expects: --bare leaves it out. With --template,
/// the chat template of a model writes the messages and decides this and everything else.
#[derive(Args, Debug)]
#[command(after_help = RENDER_EXAMPLES, after_long_help = format!("{RENDER_EXAMPLES}\n\n{JSONL_HELP}"))]
pub(crate) struct RenderCommandArgs {
    /// The format of the prompt
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = written())]
    #[arg(required_unless_present = "template", conflicts_with = "template")]
    to: Option<Written>,
    /// File to read (`-` or none: standard input)
    file: Option<PathBuf>,
    #[command(flatten)]
    template: TemplateArgs,
    #[command(flatten)]
    bare: BareArgs,
    #[command(flatten)]
    work: WorkArgs,
}

/// Write conversations as token ids
///
/// Writes each conversation as one JSON array of ids. A prompt does not contain the reasoning
/// before earlier answers: it is dropped without --keep-reasoning or --training. A prompt of
/// Harmony or Apertus begins with the system message that the model expects: --bare leaves it out.
#[derive(Args, Debug)]
#[command(after_help = TOKENS_EXAMPLES, after_long_help = format!("{TOKENS_EXAMPLES}\n\n{JSONL_HELP}"))]
pub(crate) struct TokensArgs {
    /// The text format of the ids
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: TextFormat,
    #[command(flatten)]
    files: FilesArgs,
    /// Write the number of ids instead of the ids
    #[arg(long, conflicts_with = "mask")]
    count: bool,
    /// Also write which ids a model is trained on and where each message is: an object with `ids`,
    /// `mask` and `spans`, and a `sidecar` with what the format cannot express; implies --training
    ///
    /// --training is not implied with --generation-prompt, --continue-final or --keep-reasoning.
    ///
    /// A span names its message by the number in the input, or `null` if the format adds the
    /// message.
    #[arg(long)]
    mask: bool,
    /// Write a table for people (default on a terminal)
    #[arg(long, conflicts_with_all = ["count", "mask"])]
    table: bool,
    #[command(flatten)]
    training: MaskArgs,
    #[command(flatten)]
    bare: BareArgs,
    #[command(flatten)]
    work: WorkArgs,
}

/// Convert between any two formats
///
/// Drops what the target format cannot express and reports it on standard error; with --no-loss, it
/// refuses the document instead. Nothing else changes. Reasoning is kept, except with
/// --generation-prompt and without --keep-reasoning.
#[derive(Args, Debug)]
#[command(after_help = CONVERT_EXAMPLES, after_long_help = format!("{CONVERT_EXAMPLES}\n\n{JSONL_HELP}"))]
pub(crate) struct ConvertArgs {
    /// The format of the output
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = written())]
    to: Written,
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    beside: BesideArgs,
    #[command(flatten)]
    response: ResponseArgs,
    #[command(flatten)]
    work: WorkArgs,
}

const PARSE_EXAMPLES: &str = "\
Examples:
  ocml parse chat.txt
  ocml parse --role assistant -f openchatml-2.2 completion.txt | jq .messages
  zcat data.jsonl.gz | ocml parse --jsonl -f chatml > parsed.jsonl";

const RENDER_EXAMPLES: &str = "\
Examples:
  ocml render -t openchatml-2.2 --generation-prompt messages.json
  ocml render -t chatml --continue-final draft.json
  ocml render -t harmony --reasoning-effort high --generation-prompt messages.json
  ocml render -t openchatml-2.2 --training samples.jsonl -o samples.2.2.jsonl
  ocml render --template Qwen3-8B/tokenizer_config.json --generation-prompt messages.json";

const TOKENS_EXAMPLES: &str = "\
Examples:
  ocml tokens -t harmony --generation-prompt messages.json
  ocml tokens -t harmony --count chat.json
  ocml tokens -t chatml --encoding Qwen3-8B/tokenizer.json chat.json
  ocml tokens -t harmony --mask samples.jsonl -o samples.ids.jsonl";

const CONVERT_EXAMPLES: &str = "\
Examples:
  ocml convert -t chatml-wire:text chat.txt
  ocml convert -f chatml -t openchatml-2.2 train.jsonl -o train.2.2.jsonl
  ocml convert -t json *.txt -o all.jsonl";

const JSONL_HELP: &str = "\
JSONL:
  A file named *.jsonl, or any input with --jsonl, is read line by line, on all cores and with
  bounded memory. The output has one line for each line of the input, in the same order, except
  for refused lines.
  Input in a JSON format: the line is the document. Input in a text format: the line is a JSON
  string with the text, or an object with the text in its field `text`.
  Output in a JSON format: the document. Output in a text format: an object with the text in its
  field `text`; if the input was such an object, its other fields are kept.
  Token ids, input and output: an array of numbers, or an object with such an array as `ids`.
  A refused line is dropped; --rejects FILE keeps it, with its number and its diagnostics.
  An empty line stays empty. Several input files also give JSONL: one line for each file.

Of malformed text, everything that can be read is written, and the exit status is 1. If input
would be dropped, nothing is written without --allow-loss. With --strict, input
with errors is refused.";

/// Runs `parse`.
pub(crate) fn parse(mut args: ParseArgs, console: &Console) -> Result<Status, Failure> {
    args.response.apply(&mut args.read);
    let to = Written { format: JSON, tokens: false };
    let encodings = Encodings::wanted(&args.read, false, console)?;
    let converter = Converter::new(&args.read, to, Purpose::Faithful, encodings, console)?;
    let mut converter = converter.read_response(&args.response, console)?;
    converter.keep_ids(args.keep_ids);
    let job = Job::new(&args.read, &args.jsonl, &args.out, args.deny);
    job.run(&converter, &one(args.file.as_ref()), console)
}

/// Runs `render`.
pub(crate) fn render(args: &RenderCommandArgs, console: &Console) -> Result<Status, Failure> {
    // The output of a template is in none of our formats. This format must only carry everything.
    let to = args.to.unwrap_or(Written { format: JSON, tokens: false });
    let purpose = match args.template.template {
        Some(_) => Purpose::Faithful,
        None => purpose_of_render(&args.work.render),
    };
    let writes_ids = to.tokens || args.template.form == FormArg::Ids;
    let mut read = args.work.read.clone();
    if read.encoding.is_none() {
        let file = encoding_beside(args.template.template.as_deref());
        read.encoding = file.map(|file| file.display().to_string());
    }
    let encodings = Encodings::wanted(&read, writes_ids, console)?;
    let template =
        Templated::new(&args.template, &args.work.render, args.bare, encodings.clone(), console)?;
    if args.template.template.is_none() {
        warn_without_effect(&args.work.render, to.format, console);
    }
    let mut converter = args.work.converter(to, purpose, encodings, console)?;
    converter.begin_prompts(args.bare);
    converter.set_template(template);
    args.work.job().run(&converter, &one(args.file.as_ref()), console)
}

/// Runs `tokens`.
pub(crate) fn tokens(args: &TokensArgs, console: &Console) -> Result<Status, Failure> {
    let is_for_people = args.work.out.output.is_none() && io::stdout().is_terminal();
    let shape = match () {
        () if args.count => TokenOutput::Count,
        () if args.mask => TokenOutput::Mask(args.training.policy()),
        () if args.table || is_for_people => {
            TokenOutput::Table { colors: console.colors_output(), policy: args.training.policy() }
        }
        () => TokenOutput::Ids,
    };
    let to = Written { format: args.to.into(), tokens: true };
    warn_without_effect(&args.work.render, to.format, console);
    let purpose = purpose_of_tokens(args);
    let encodings = Encodings::wanted(&args.work.read, true, console)?;
    let mut converter = args.work.converter(to, purpose, encodings, console)?;
    converter.begin_prompts(args.bare);
    converter.set_token_output(shape);
    args.work.job().run_files(&converter, &args.files, console)
}

/// Returns the purpose of the ids. A mask is for training, unless the options are those of a prompt.
fn purpose_of_tokens(args: &TokensArgs) -> Purpose {
    let render = &args.work.render;
    let is_prompt = render.generation_prompt || render.continue_final || render.keep_reasoning;
    match args.mask && !is_prompt {
        true => Purpose::Training,
        false => purpose_of_render(render),
    }
}

/// Runs `convert`.
pub(crate) fn convert(mut args: ConvertArgs, console: &Console) -> Result<Status, Failure> {
    args.response.apply(&mut args.work.read);
    warn_without_effect(&args.work.render, args.to.format, console);
    let purpose = purpose_of_convert(&args.work.render);
    let encodings = Encodings::wanted(&args.work.read, args.to.tokens, console)?;
    let converter = args.work.converter(args.to, purpose, encodings, console)?;
    let mut converter = converter.read_response(&args.response, console)?;
    converter.set_beside(&args.beside, console)?;
    let job = args.work.job().beside(args.beside.sidecar.as_deref());
    job.run_files(&converter, &args.files, console)
}

fn one(file: Option<&PathBuf>) -> [Origin; 1] {
    [file.map_or(Origin::Stdin, |path| Origin::of(path))]
}

/// Warns about options that change nothing in prompts of this format.
fn warn_without_effect(args: &RenderArgs, format: Format, console: &Console) {
    for text in args.harmony.without_effect(format) {
        console.warning(&text);
    }
    if args.open_reasoning && !format.dialect().prompts_in_reasoning(None, &args.options()) {
        let text = format!("a prompt in {format} cannot end inside of reasoning");
        console.warning(&format!("--open-reasoning has no effect: {text}"));
    }
}
