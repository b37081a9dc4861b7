//! `grammar`: the allowed output of a model, for constrained decoding.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::harmony::Namespace;
use openchatml::{Control, TextFormat};
use openchatml_grammars::{Calls, Choice, Language, Options, Presence, grammar};

use crate::args::{OutArgs, text_format};
use crate::console::Console;
use crate::encodings::Encodings;
use crate::failure::{Failure, Status};
use crate::output::Target;
use crate::tools;

/// Write the grammar of a model's completions, for constrained decoding
///
/// The grammar describes the completion of a prompt from `ocml render --generation-prompt`:
/// messages on their channels, calls to the declared tools with arguments that match their JSON
/// Schema, and the end. What the grammar language cannot express is reported.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml grammar -t harmony --tools tools.json --for lark
  ocml grammar -t openchatml-2.2 --tools tools.json --for gbnf --choice get_weather
  ocml grammar -t harmony --builtin browser --for structural-tag -o tag.json")]
pub(crate) struct GrammarArgs {
    /// The text format of the model
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: TextFormat,
    /// The language of the grammar
    #[arg(long = "for", value_name = "LANGUAGE")]
    language: LanguageArg,
    /// A JSON file with the functions that the prompt declares
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// A built-in tool that the prompt declares; can be repeated
    #[arg(long, value_name = "TOOL")]
    builtin: Vec<BuiltinArg>,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    out: OutArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Completions")]
struct ShapeArgs {
    /// How the completion must end: auto, none (no call), required (a call), or the name of the
    /// tool to call
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    choice: String,
    /// Allow several calls; without this, the first call ends the completion
    #[arg(long)]
    parallel: bool,
    /// Whether the completion contains reasoning
    #[arg(long, value_name = "WHETHER", default_value = "allowed")]
    reasoning: PresenceArg,
    /// Whether the completion contains preambles
    #[arg(long, value_name = "WHETHER", default_value = "allowed")]
    preambles: PresenceArg,
    /// The maximum number of messages before the answer or the first call (at most 32)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=32))]
    before: Option<u8>,
    /// Require an answer in JSON that matches the JSON Schema in this file
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    /// The encoding of the model: o200k_harmony, or a file. Text then cannot contain any control
    /// token of the encoding, and structural tags contain ids instead of spellings
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "spelled")]
    encoding: Option<String>,
    /// The tokenizer of the model has no control tokens: write them as ordinary text
    #[arg(long)]
    spelled: bool,
    /// In Lark, do not allow escapes of ordinary characters in JSON strings (required before
    /// llguidance 1.8)
    #[arg(long)]
    no_unicode_escapes: bool,
    /// A control token at which the engine stops by itself, so that the grammar omits it; can be
    /// repeated
    #[arg(long = "stop", value_name = "TOKEN")]
    stops: Vec<StopArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LanguageArg {
    /// The grammars of llama.cpp
    Gbnf,
    /// The grammars of llguidance
    Lark,
    /// The structural tags of xgrammar
    StructuralTag,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BuiltinArg {
    /// browser.search, browser.open, browser.find
    Browser,
    /// python
    Python,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PresenceArg {
    /// It can contain some
    Allowed,
    /// It must contain some
    Required,
    /// It must not contain any
    Forbidden,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StopArg {
    /// The end of a call
    Call,
    /// The end of an answer
    Return,
    /// The end of a turn
    End,
    /// The engine does not stop by itself
    None,
}

/// Runs `grammar`.
pub(crate) fn run(args: &GrammarArgs, console: &Console) -> Result<Status, Failure> {
    let mut namespaces = Vec::new();
    if let Some(path) = &args.tools {
        namespaces.push(Namespace::functions(tools::read(path, console)?));
    }
    namespaces.extend(args.builtin.iter().map(|builtin| match builtin {
        BuiltinArg::Browser => Namespace::browser(),
        BuiltinArg::Python => Namespace::python(),
    }));
    let options = options(args, console)?;
    let language = match args.language {
        LanguageArg::Gbnf => Language::Gbnf,
        LanguageArg::Lark => Language::Lark,
        LanguageArg::StructuralTag => Language::StructuralTag,
    };
    let grammar = grammar(args.to, &namespaces, language, &options)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    for unenforced in &grammar.unenforced {
        if args.out.consent.consent().forbids_losses() {
            console.error(&unenforced.to_string());
        } else {
            console.loss(&unenforced.to_string());
        }
    }
    if args.out.consent.consent().forbids_losses() && !grammar.unenforced.is_empty() {
        return Ok(Status::Found);
    }
    let mut target = Target::open(args.out.output.as_deref())?;
    target.write(grammar.text.as_bytes())?;
    target.finish()?;
    Ok(Status::Fine)
}

/// The end of a completion: a word, or the name of a tool.
pub(super) fn choice(word: &str) -> Choice {
    match word {
        "auto" => Choice::Auto,
        "none" => Choice::None,
        "required" => Choice::Required,
        name => Choice::Named(name.to_owned()),
    }
}

fn options(args: &GrammarArgs, console: &Console) -> Result<Options, Failure> {
    let shape = &args.shape;
    let presence = |presence| match presence {
        PresenceArg::Allowed => Presence::Allowed,
        PresenceArg::Required => Presence::Required,
        PresenceArg::Forbidden => Presence::Forbidden,
    };
    let mut options = Options::default();
    options.choice = choice(&shape.choice);
    options.unicode_escapes = !shape.no_unicode_escapes;
    if let Some(name) = &shape.encoding {
        let encoding = Encodings::open(name, true, console)?.one();
        let controls = encoding.controls().into_iter();
        options.vocabulary = controls.map(|(spelling, id)| (spelling.to_owned(), id)).collect();
    }
    options.calls = if shape.parallel { Calls::Many } else { Calls::One };
    options.reasoning = presence(shape.reasoning);
    options.preambles = presence(shape.preambles);
    options.before = shape.before.map(usize::from);
    if let Some(path) = &shape.answer {
        options.answer = Some(tools::schema(path, console)?);
    }
    if shape.spelled {
        let entries = args.to.controls().entries().iter();
        options.spelled = entries.map(|(control, _)| *control).collect();
    }
    if !shape.stops.is_empty() {
        let stop = |stop: &StopArg| match stop {
            StopArg::Call => Some(Control::Call),
            StopArg::Return => Some(Control::Return),
            StopArg::End => Some(Control::End),
            StopArg::None => None,
        };
        options.stops = Some(shape.stops.iter().filter_map(stop).collect());
    }
    Ok(options)
}
