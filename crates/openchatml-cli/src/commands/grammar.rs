//! `grammar`: what a model may say, for engines that let it say nothing else.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::harmony::Namespace;
use openchatml::{Control, TextFormat};
use openchatml_grammars::{Calls, Choice, Language, Options, Presence, grammar};

use super::convert::tools;
use crate::args::{OutArgs, text_format};
use crate::console::Console;
use crate::encodings::Encodings;
use crate::failure::{Failure, Status};
use crate::output::Target;

/// Write the grammar of a model's completions, for constrained decoding
///
/// The grammar is of what follows a prompt that `ocml render --generation-prompt` writes: messages
/// on their channels, calls of the declared tools with arguments as their JSON Schema wants them,
/// and the end. What the language cannot say is reported.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml grammar -t harmony --tools tools.json --for lark
  ocml grammar -t openchatml-2.2 --tools tools.json --for gbnf --choice get_weather
  ocml grammar -t harmony --builtin browser --for structural-tag -o tag.json")]
pub(crate) struct GrammarArgs {
    /// The format that the model speaks; a text format
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: TextFormat,
    /// The language of the grammar
    #[arg(long = "for", value_name = "LANGUAGE")]
    language: LanguageArg,
    /// The functions that the prompt declares: a JSON file
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// A built-in tool that the prompt declares; may be repeated
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
    /// How it ends: auto, none (no call), required (a call), or the tool that is called
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    choice: String,
    /// There may be several calls; otherwise one ends the completion
    #[arg(long)]
    parallel: bool,
    /// Whether there is reasoning
    #[arg(long, value_name = "WHETHER", default_value = "allowed")]
    reasoning: PresenceArg,
    /// Whether there are preambles
    #[arg(long, value_name = "WHETHER", default_value = "allowed")]
    preambles: PresenceArg,
    /// How many messages may stand before the answer or the first call: 32 at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=32))]
    before: Option<u8>,
    /// The answer is JSON as the JSON Schema in this file wants it
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    /// The encoding of the model: o200k_harmony, or a file. Then text holds none of its control tokens,
    /// those of the format or others, and structural tags have ids instead of spellings
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "spelled")]
    encoding: Option<String>,
    /// The tokenizer of the model has no control tokens: they are spelled
    #[arg(long)]
    spelled: bool,
    /// JSON strings hold no escapes of ordinary characters in Lark: llguidance before 1.8 has no word for
    /// them
    #[arg(long)]
    no_unicode_escapes: bool,
    /// A control token at which the engine stops by itself, which the grammar then leaves out; may
    /// be repeated
    #[arg(long = "stop", value_name = "TOKEN")]
    stops: Vec<StopArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LanguageArg {
    /// Of llama.cpp
    Gbnf,
    /// Of llguidance
    Lark,
    /// Of xgrammar
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
    /// There may be
    Allowed,
    /// There is
    Required,
    /// There is none
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
    /// It stops nowhere by itself
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
    for unsaid in &grammar.unsaid {
        if args.out.consent.consent().forbids_losses() {
            console.error(&unsaid.to_string());
        } else {
            console.loss(&unsaid.to_string());
        }
    }
    if args.out.consent.consent().forbids_losses() && !grammar.unsaid.is_empty() {
        return Ok(Status::Found);
    }
    let mut target = Target::open(args.out.output.as_deref())?;
    target.write(grammar.text.as_bytes())?;
    target.finish()?;
    Ok(Status::Fine)
}

/// How a completion ends, in a word or as the name of a tool.
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
