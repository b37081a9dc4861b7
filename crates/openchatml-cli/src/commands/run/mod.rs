//! `run`: runs the calls of a transcript, and lets a model continue it.

mod approve;
mod console_report;
mod doubts;
mod events;
mod most;
pub(super) mod process;
pub(super) mod tools;
mod transcript;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use openchatml::convert::{Loss, Lost};
use openchatml::{Format, RenderOptions, Repair, TextFormat};
use openchatml_grammars::{Language, Requirement};
use openchatml_tools::{
    CallDecision, CancellationToken, Completions, CompletionsOptions, ConstraintOptions, Engine,
    Model, Router, RouterOptions, Session, SessionError, StopReason, Toolbox, TranscriptStore,
};

use self::approve::ApproveArg;
use self::events::{Events, EventsArgs};
use self::most::{MostArgs, seconds};
use self::process::{contain, make_non_dumpable, stop_on_interrupt};
use self::transcript::RunTranscript;
use super::convert::response_formats;
use super::grammar;
use crate::args::{BareArgs, Choice, HarmonyArgs, O200K_HARMONY, choice, text_format};
use crate::console::Console;
use crate::encodings::{Encodings, Use};
use crate::failure::{Failure, Status};
use crate::input::Origin;
use crate::output::Target;
use crate::report::count;
use crate::visible::visible_line;

/// Run the tool calls of a transcript, and let a model continue it
///
/// Runs each call without a reply with the tools of a file and appends the replies. With
/// `--upstream`, it asks a model to continue, runs its calls as soon as they are complete, and
/// repeats this until the model answers.
///
/// The answer goes to standard output. A terminal also shows the calls and replies.
///
/// The transcript is written only with `--in-place` (to its own file) or `-o` (to another file, or
/// `-` for standard output). It is written before and after calls run: after an interruption, run
/// the command again to continue. A call that was running at the interruption runs again only if
/// its tool is idempotent.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml run --tools tools.toml --in-place chat.ocml      make the calls that have no reply
  ocml run --tools tools.toml --upstream http://localhost:8080 -t harmony chat.json      ask for an answer
  ocml run --tools tools.toml --upstream http://localhost:8000 --ids -f harmony --in-place chat.txt
  ocml run --tools tools.toml --upstream http://localhost:8080 --json --user chat.ocml
  ocml run --tools tools.toml -o - - < chat.ocml > answered.ocml")]
pub(crate) struct RunArgs {
    /// The transcript; `-` for standard input
    #[arg(value_name = "TRANSCRIPT")]
    transcript: PathBuf,

    /// The tools: a `tools.toml`
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,

    /// Write the transcript to this file; `-` is standard output. An existing file must contain a
    /// continuation of this transcript
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Repair the arguments of calls that are almost JSON, and run these calls; each repair is reported
    #[arg(long)]
    repair: bool,

    /// Write the transcript to its own file
    #[arg(long, conflicts_with = "output")]
    in_place: bool,

    /// The format of the transcript
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(default_value = "auto", value_parser = choice())]
    from: Choice,

    /// Print the calls that would run, with their arguments, and run nothing
    #[arg(long)]
    dry_run: bool,

    /// Ask at the terminal before a call runs, for tools without their own `approve` setting
    #[arg(long, value_name = "WHICH")]
    approve: Option<ApproveArg>,

    #[command(flatten)]
    upstream: UpstreamArgs,

    #[command(flatten)]
    most: MostArgs,

    #[command(flatten)]
    events: EventsArgs,

    #[command(flatten)]
    harmony: HarmonyArgs,

    #[command(flatten)]
    bare: BareArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct UpstreamArgs {
    /// The URL of a server with raw completions (`/v1/completions`), such as vLLM or llama.cpp
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// The name of the model: the value of the option of all commands.
    #[arg(skip)]
    model: Option<String>,

    /// The text format of prompts and completions (default: the format of the transcript, if that
    /// is a text format)
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: Option<TextFormat>,

    /// Whether the model should think before it answers, in formats that can say it
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", requires = "upstream")]
    thinking: Option<bool>,

    /// End prompts with the token that opens reasoning, such as `<think>`, for models that always
    /// think
    #[arg(long, requires = "upstream", conflicts_with = "thinking")]
    open_reasoning: bool,

    /// The kind of server (default: detect it from `/v1/models`)
    ///
    /// Requests contain only fields that this kind of server supports.
    #[arg(long, value_name = "ENGINE", value_parser = engine())]
    engine: Option<Engine>,

    /// More fields for the request, as a JSON object or as @FILE with one: {"temperature": 0.7}
    #[arg(long, value_name = "JSON|@FILE", value_parser = object)]
    sampling: Option<serde_json::Map<String, serde_json::Value>>,

    /// With --ids: constrain completions with a grammar of the format and the tools, in this
    /// language or in the one that the server supports (auto)
    #[arg(long, value_name = "LANGUAGE", requires = "ids")]
    grammar: Option<GrammarArg>,

    /// How the first completion must end: auto, none (no call), required (a call), or the name of
    /// the tool to call
    #[arg(long, value_name = "CHOICE", default_value = "auto", requires = "grammar")]
    choice: String,

    /// Fail if the server sends nothing of a completion for this time
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    idle_timeout: Duration,

    /// Fail if a completion takes longer than this
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    completion_timeout: Option<Duration>,

    /// Repeat a request for this time while the server is busy or loads its model (429, 503)
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    patience: Duration,

    /// The environment variable with the API key of the server
    #[arg(long, value_name = "NAME", default_value = "OCML_API_KEY")]
    api_key_env: String,

    /// Send prompts and read completions as token ids, so that text is never read as a control
    /// token. A server that returns no ids is refused
    #[arg(long)]
    ids: bool,

    /// The encoding of the ids: o200k_harmony, or a file (a `tokenizer.json`, or a tiktoken rank
    /// file)
    #[arg(long, value_name = "NAME|FILE", default_value = O200K_HARMONY, requires = "ids")]
    encoding: String,

    /// Write control tokens without an id in the encoding as ordinary text, and read them from
    /// ordinary text
    #[arg(long, requires = "ids")]
    spell_control_tokens: bool,
}

/// A grammar language.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum GrammarArg {
    /// The language that the server supports
    Auto,
    /// The grammars of llama.cpp
    Gbnf,
    /// The grammars of llguidance
    Lark,
    /// The structural tags of xgrammar
    StructuralTag,
}

fn engine() -> impl TypedValueParser<Value = Engine> {
    let names: Vec<_> = Engine::ALL.iter().map(|engine| engine.as_str()).collect();
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Engine>())
}

fn object(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    let read;
    let text = match text.strip_prefix('@') {
        None => text,
        Some(path) => {
            read = std::fs::read_to_string(path).map_err(|error| format!("`{path}`: {error}"))?;
            &read
        }
    };
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

/// Runs `run`, with a model of this name.
pub(crate) fn run(
    mut args: RunArgs,
    model: Option<String>,
    console: &Console,
) -> Result<Status, Failure> {
    args.upstream.model = model;
    let args = &args;
    let mut events = Events::new(&args.events, &args.upstream.model, args.kept(), console)?;
    args.check()?;
    let config = tools::read(&args.tools, console)?;
    make_non_dumpable()?;
    contain(console);
    let Some(work) = RunTranscript::open(args, console)? else { return Ok(Status::Found) };
    let config = if work.has_python_replies() { config.continued() } else { config };
    let model = args.model(work.format, console)?;
    let cancel = CancellationToken::new();
    stop_on_interrupt(&cancel)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Io(format!("cannot start threads: {error}")))?;
    let work = async {
        // Do not wait longer for a silent server than the user wants.
        let (tools, mut options) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Status::Interrupted),
            opened = tools::open(config, &args.tools, console) => opened?,
        };
        options.clock = Some(std::sync::Arc::new(|| jiff::Timestamp::now().to_string()));
        approve::set(args.approve, args.transcript.as_os_str() == "-", &mut options)?;
        let mut session = session(args, work, model, &tools, options)?;
        if args.dry_run {
            return dry_run(&session, args.events.json());
        }
        events.expect(&session);
        if args.output.is_some() {
            session.keep().await.map_err(|error| failed(&error, args))?;
        }
        let left = session.abandoned_calls();
        if left > 0 {
            let calls = count(left, "call");
            console.loss(&format!("{calls} not run, because the user continued without a reply"));
        }
        let ended = session.run(&cancel, |event| events.add(&event, &cancel)).await;
        #[cfg(unix)]
        openchatml_tools::kinds::process::ended().await;
        tell_unsaid(args, &session, console);
        tell(args, &mut session, console)?;
        let cut_off = events.cut_off();
        events.finish()?;
        let ended = ended.map_err(|error| failed(&error, args))?;
        Ok(status(ended, cut_off.as_deref(), args, console).max(doubts::tell(&session, console)))
    };
    let status = runtime.block_on(async {
        let status = work.await;
        tools::closed().await;
        status
    });
    // Do not wait for tools that cannot be stopped.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    status
}

/// Where the transcript is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept<'a> {
    Nowhere,
    Stdout,
    File(&'a Path),
}

impl RunArgs {
    /// Returns where the transcript is stored.
    fn kept(&self) -> Kept<'_> {
        match &self.output {
            Some(path) if path.as_os_str() == "-" => Kept::Stdout,
            Some(path) => Kept::File(path),
            None if self.in_place => Kept::File(&self.transcript),
            None => Kept::Nowhere,
        }
    }

    /// Returns the file of the transcript, if there is one.
    fn target(&self) -> Option<&Path> {
        match self.kept() {
            Kept::File(path) => Some(path),
            Kept::Nowhere | Kept::Stdout => None,
        }
    }

    /// Rejects combinations of options that make no sense.
    fn check(&self) -> Result<(), Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if self.in_place && self.transcript.as_os_str() == "-" {
            return usage("`--in-place` cannot rewrite standard input: use `-o`");
        }
        let comes_out = self.dry_run
            || self.upstream.upstream.is_some()
            || self.events.protocol().is_some()
            || self.kept() != Kept::Nowhere;
        if !comes_out {
            return usage(
                "the replies would be lost: write the transcript with `--in-place` or `-o`",
            );
        }
        Ok(())
    }

    /// Returns the model that continues a transcript of this format, if there is one.
    fn model(&self, format: Format, console: &Console) -> Result<Option<Model>, Failure> {
        let args = &self.upstream;
        let Some(url) = &args.upstream else { return Ok(None) };
        let mut options = CompletionsOptions::default();
        options.model = args.model.clone();
        options.api_key = std::env::var(&args.api_key_env).ok().filter(|key| !key.is_empty());
        options.sampling = args.sampling.clone().unwrap_or_default();
        options.engine = args.engine;
        options.idle_timeout = args.idle_timeout;
        options.total_timeout = args.completion_timeout;
        options.patience = args.patience;
        let usage = |error: &dyn std::error::Error| Failure::Usage(error.to_string());
        let upstream = Completions::new(url, options).map_err(|error| usage(&error))?;
        let format = args.to.map_or_else(|| TextFormat::try_from(format), Ok).map_err(|error| {
            Failure::Usage(format!("{error}: name the format of the model with `--to`"))
        })?;
        for text in self.harmony.without_effect(format.into()) {
            console.warning(&text);
        }
        let model = Model::new(upstream, format);
        let mut render = RenderOptions::default();
        render.thinking = args.thinking;
        render.open_reasoning = args.open_reasoning;
        if args.open_reasoning && !format.dialect().prompts_in_reasoning(None, &render) {
            let text =
                format!("`--open-reasoning`: prompts in {format} cannot end inside of reasoning");
            return Err(Failure::Usage(text));
        }
        let mut prompt = self.harmony.prompt();
        if let Some(path) = &self.harmony.response_format {
            prompt.response_formats = response_formats::read(path, console)?;
        }
        render.date = self.harmony.date().map(|date| date.to_owned().into());
        render.set(prompt);
        self.bare.complete(model.format().into(), &mut render);
        let model = model.with_options(render);
        if !args.ids {
            return Ok(Some(model));
        }
        let encodings = Encodings::open(&args.encoding, args.spell_control_tokens, console)?;
        encodings.tokenizer(model.format(), Use::Reading)?;
        Ok(Some(model.with_encoding(encodings.one())))
    }
}

impl UpstreamArgs {
    /// Returns the constraint of completions, if there is one.
    fn constrained(&self, tools: &Toolbox) -> Option<ConstraintOptions> {
        let mut constrained = ConstraintOptions::new(tools.callable());
        constrained.language = match self.grammar? {
            GrammarArg::Auto => None,
            GrammarArg::Gbnf => Some(Language::Gbnf),
            GrammarArg::Lark => Some(Language::Lark),
            GrammarArg::StructuralTag => Some(Language::StructuralTag),
        };
        constrained.options.choice = grammar::choice(&self.choice);
        Some(constrained)
    }
}

/// Creates the session.
fn session(
    args: &RunArgs,
    work: RunTranscript,
    model: Option<Model>,
    tools: &Toolbox,
    options: RouterOptions,
) -> Result<Session, Failure> {
    if let Some(model) = &model {
        let has_calls = |format: Format| format.carries().recipients;
        let is_lacking = has_calls(model.format().into()) && !has_calls(work.format);
        if is_lacking && !tools.callable().is_empty() {
            let format = work.format;
            let text = format!(
                "`{format}` has no tool calls, so the transcript cannot contain those of the model: convert it to another format first"
            );
            return Err(Failure::Refused(format!("{}: {text}", args.transcript.display())));
        }
    }
    let guarded = work.store.as_ref().map(|store: &TranscriptStore| store.record_calls(tools));
    let router = Router::new(guarded.unwrap_or_else(|| tools.clone()), options)
        .map_err(|error| Failure::Refused(format!("{}: {error}", args.tools.display())))?;
    let mut session = Session::new(work.conversation, work.format, router).with_layout(work.layout);
    if let Some(model) = model {
        let model = match args.upstream.constrained(tools) {
            Some(constrained) => model.with_constraints(constrained),
            None => model,
        };
        session = session.with_model(model).declare(tools);
    }
    if let Some(store) = work.store {
        session = session.with_store(store);
    }
    let mut options = args.most.options();
    options.read.repair = args.repair.then_some(Repair::Accept);
    Ok(session.with_options(options))
}

/// Lists the calls that would run: as text, or as JSON with one call per line.
fn dry_run(session: &Session, as_json: bool) -> Result<Status, Failure> {
    let mut text = String::new();
    for (call, decision) in session.pending_calls() {
        let name = call.recipient.as_deref().unwrap_or_default();
        let arguments = call.body.text();
        if as_json {
            let refused = match &decision {
                CallDecision::Refuse(failure) => {
                    serde_json::json!({"code": failure.code.as_str(), "message": failure.message})
                }
                _ => serde_json::Value::Null,
            };
            let line = serde_json::json!({
                "call_id": call.call_id,
                "name": name,
                "arguments": arguments,
                "refused": refused,
                "asks": decision == CallDecision::AskApproval,
                "later": decision == CallDecision::Defer,
            });
            text.push_str(&format!("{line}\n"));
            continue;
        }
        text.push_str(&format!("{} {}\n", visible_line(name), visible_line(&arguments)));
        match decision {
            CallDecision::Refuse(failure) => {
                let code = failure.code;
                text.push_str(&format!("  refused[{code}]: {}\n", visible_line(&failure.message)));
            }
            CallDecision::AskApproval => text.push_str("  requires approval\n"),
            CallDecision::Defer => text.push_str("  not in this run (--max-calls)\n"),
            _ => {}
        }
    }
    Target::stdout().write(text.as_bytes())?;
    Ok(Status::Fine)
}

/// Warns of requirements that grammars did not express, losses of prompts, and a limit that did not
/// apply.
fn tell_unsaid(args: &RunArgs, session: &Session, console: &Console) {
    for unenforced in session.unenforced() {
        let text = format!("the grammar cannot express: {unenforced}");
        match unenforced.requirement {
            // These apply to every tool, and the reader checks them.
            Requirement::Controls | Requirement::CallId => console.detail(&text),
            _ => console.loss(&text),
        }
    }
    if args.most.max_total_tokens.is_some() && session.has_uncounted_tokens() {
        console.warning(
            "the server does not report token counts, so `--max-total-tokens` has no effect",
        );
    }
    for loss in session.prompt_losses().iter().filter(|loss| is_of_content(loss)) {
        console.loss(&format!("prompts: {}", loss.lost));
    }
}

/// Whether the model receives less information without this. Other losses change only the form.
fn is_of_content(loss: &Loss) -> bool {
    matches!(
        loss.lost,
        Lost::Tools
            | Lost::Declaration
            | Lost::HostedTool
            | Lost::Call
            | Lost::Reply
            | Lost::LateSystem
            | Lost::Image
            | Lost::Audio
            | Lost::Video
            | Lost::File
            | Lost::Part
            | Lost::Item
            | Lost::Hosted
            | Lost::Reference
    )
}

/// Writes the transcript if no store does it, and reports its losses.
fn tell(args: &RunArgs, session: &mut Session, console: &Console) -> Result<(), Failure> {
    if args.kept() == Kept::Stdout {
        let text = session.text().map_err(|error| Failure::Refused(error.to_string()))?;
        Target::stdout().write(text.as_bytes())?;
    }
    if args.kept() == Kept::Nowhere {
        return Ok(());
    }
    // How the format of a model spells the end of an answer and the type of arguments is not
    // content.
    let is_said =
        |loss: &&Loss| !matches!(loss.lost, Lost::Return | Lost::Constraint | Lost::ContentType);
    let reported = session.losses().iter().filter(is_said);
    let mut losses: Vec<String> = reported.map(|loss| loss.lost.to_string()).collect();
    losses.sort();
    losses.dedup();
    losses.iter().for_each(|lost| console.loss(lost));
    Ok(())
}

/// Converts the end of the session to an exit status and a message.
fn status(ended: StopReason, cut_off: Option<&str>, args: &RunArgs, console: &Console) -> Status {
    let found = |text: &str| {
        console.error(text);
        Status::Found
    };
    match ended {
        StopReason::Answered | StopReason::Replied => Status::Fine,
        StopReason::StepLimit => {
            let steps = count(args.most.max_steps, "step");
            found(&format!("stopped after {steps} without an answer (--max-steps)"))
        }
        StopReason::CallLimit => {
            let calls = count(args.most.max_calls.unwrap_or_default(), "call");
            found(&format!(
                "stopped after {calls}; the next run continues with the rest (--max-calls)"
            ))
        }
        StopReason::TokenLimit => found("stopped: the token limit is reached (--max-total-tokens)"),
        StopReason::TimeLimit => found("stopped: the time limit is reached (--max-time)"),
        StopReason::CutOff => {
            let why = cut_off.map_or_else(String::new, |reason| format!(" (the server: {reason})"));
            found(&format!("the completion is incomplete{why}: the next run requests it again"))
        }
        StopReason::NoMessage => found("the completion has no certain message (see -v)"),
        StopReason::Cancelled => Status::Interrupted,
        _ => found("the session ended early"),
    }
}

/// Returns the reason why the session could not continue.
fn failed(error: &SessionError, args: &RunArgs) -> Failure {
    match error {
        SessionError::Upstream(_) => Failure::Io(error.to_string()),
        SessionError::Io(io) => {
            let target = args.target().unwrap_or(&args.transcript);
            Failure::write(&Origin::of(target).name(), io)
        }
        _ => Failure::Refused(error.to_string()),
    }
}
