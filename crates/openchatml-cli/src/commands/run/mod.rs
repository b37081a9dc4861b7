//! `run`: the calls of a transcript are made, and a model goes on with it.

mod events;
mod tools;
mod work;

use std::path::PathBuf;

use clap::Args;
use openchatml::{Format, RenderOptions};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Desk, Ended, Model, Router, RouterOptions,
    Session, SessionError, SessionOptions, Toolbox,
};

use self::events::{Events, EventsArgs};
use self::work::Work;
use super::convert::response_formats;
use crate::args::{Choice, HarmonyArgs, choice, text_format};
use crate::console::Console;
use crate::encodings::{Encodings, O200K_HARMONY, Use};
use crate::failure::{Failure, Status};
use crate::input::Origin;
use crate::output::Target;
use crate::report::count;

/// Make the calls of a transcript, and let a model go on with it
///
/// Calls that have no reply are made with the tools of a file, and their replies appended. With
/// `--upstream`, a model is asked to go on, its calls are made as soon as they are complete, and so
/// on until it answers.
///
/// The transcript itself is rewritten, unless `-o` names another file; `-` reads standard input and
/// writes standard output. It is written before calls are made and after they were: whenever the
/// command is interrupted, running it again goes on where it was. A call that was being made then
/// is not made again, unless its tool is idempotent.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml run --tools tools.toml chat.ocml                 make the calls that have no reply
  ocml run --tools tools.toml --upstream http://localhost:8000 --model openai/gpt-oss-20b -f harmony --ids chat.txt
  ocml run --tools tools.toml --upstream http://localhost:8080 --events openchatml --user chat.ocml
  ocml run --tools tools.toml -o answered.json -t harmony --upstream http://localhost:8080 chat.json
  ocml run --tools tools.toml - < chat.ocml > answered.ocml")]
pub(crate) struct RunArgs {
    /// The transcript; `-` for standard input
    #[arg(value_name = "TRANSCRIPT")]
    transcript: PathBuf,

    /// The tools: a `tools.toml`
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,

    /// Keep the transcript in this file instead. If it is there already, it must be this transcript
    /// gone on with
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The format of the transcript
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(default_value = "auto", value_parser = choice())]
    from: Choice,

    #[command(flatten)]
    upstream: UpstreamArgs,

    #[command(flatten)]
    events: EventsArgs,

    #[command(flatten)]
    harmony: HarmonyArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct UpstreamArgs {
    /// A server of raw completions (`/v1/completions`), as vLLM and llama.cpp are
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// The name of the model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// The format of prompts and completions; that of the transcript, if it is text
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: Option<Format>,

    /// Ask the model so many times at most
    #[arg(long, value_name = "N", default_value_t = 32)]
    max_steps: usize,

    /// What else is sent to the server, as a JSON object: {"temperature": 0.7, "max_tokens": 4096}
    #[arg(long, value_name = "JSON", value_parser = object)]
    sampling: Option<serde_json::Map<String, serde_json::Value>>,

    /// The environment variable with the key that the server wants
    #[arg(long, value_name = "NAME", default_value = "OCML_API_KEY")]
    api_key_env: String,

    /// Write prompts as token ids, and read completions as such if the server tells ids: no text is
    /// taken for a control token then
    #[arg(long)]
    ids: bool,

    /// The encoding of the ids: o200k_harmony, or a file: a `tokenizer.json`, or a rank file of
    /// tiktoken
    #[arg(long, value_name = "NAME|FILE", default_value = O200K_HARMONY, requires = "ids")]
    encoding: String,

    /// Write control tokens that the encoding has no id for as ordinary text, and read them there
    #[arg(long, requires = "ids")]
    spell_control_tokens: bool,
}

fn object(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON object: {error}"))
}

/// Runs `run`.
pub(crate) fn run(args: &RunArgs, console: &Console) -> Result<Status, Failure> {
    let mut events =
        Events::new(&args.events, &args.upstream.model, args.writes_stdout(), console)?;
    let config = tools::read(&args.tools, console)?;
    let Some(work) = Work::open(args, console)? else { return Ok(Status::Found) };
    let model = args.model(work.format, console)?;
    let cancel = CancellationToken::new();
    stop_on_interrupt(&cancel)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Io(format!("no threads: {error}")))?;
    let status = runtime.block_on(async {
        let (tools, mut options) = tools::open(config, &args.tools, console).await?;
        options.clock = Some(std::sync::Arc::new(|| jiff::Timestamp::now().to_string()));
        let mut session = session(args, work, model, &tools, options)?;
        if args.output.is_some() {
            session.keep().await.map_err(|error| failed(&error, args))?;
        }
        let left = session.left_behind();
        if left > 0 {
            let calls = count(left, "call");
            console.loss(&format!("{calls} that the user left behind without a reply not made"));
        }
        let ended = session.run(&cancel, |event| events.add(&event, &cancel)).await;
        tell(args, &mut session, console)?;
        events.finish()?;
        let ended = ended.map_err(|error| failed(&error, args))?;
        Ok(status(ended, args, console))
    });
    // Tools that cannot be stopped are not waited for.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    status
}

impl RunArgs {
    /// Whether the transcript goes to standard output.
    fn writes_stdout(&self) -> bool {
        let is_dash = |path: &PathBuf| path.as_os_str() == "-";
        self.output.as_ref().map_or(is_dash(&self.transcript), is_dash)
    }

    /// The file that has the transcript, if there is one.
    fn target(&self) -> Option<&PathBuf> {
        (!self.writes_stdout()).then(|| self.output.as_ref().unwrap_or(&self.transcript))
    }

    /// The model that goes on with a transcript of this format, if any does.
    fn model(&self, format: Format, console: &Console) -> Result<Option<Model>, Failure> {
        let args = &self.upstream;
        let Some(url) = &args.upstream else { return Ok(None) };
        let mut options = CompletionsOptions::default();
        options.model = args.model.clone();
        options.api_key = std::env::var(&args.api_key_env).ok().filter(|key| !key.is_empty());
        options.sampling = args.sampling.clone().unwrap_or_default();
        let usage = |error: &dyn std::error::Error| Failure::Usage(error.to_string());
        let upstream = Completions::new(url, options).map_err(|error| usage(&error))?;
        let model = Model::new(upstream, args.to.unwrap_or(format)).map_err(|error| {
            Failure::Usage(format!("{error}: name that of the model with `--to`"))
        })?;
        let mut render = RenderOptions::default();
        render.system = self.harmony.system();
        if let Some(path) = &self.harmony.response_format {
            render.response_formats = response_formats::read(path, console)?;
        }
        let model = model.with_options(render);
        if !args.ids {
            return Ok(Some(model));
        }
        let encodings = Encodings::open(&args.encoding, args.spell_control_tokens, console)?;
        encodings.tokenizer(model.format(), Use::Reading)?;
        Ok(Some(model.with_encoding(encodings.one())))
    }
}

/// The session.
fn session(
    args: &RunArgs,
    work: Work,
    model: Option<Model>,
    tools: &Toolbox,
    options: RouterOptions,
) -> Result<Session, Failure> {
    let guarded = work.desk.as_ref().map(|desk: &Desk| desk.guard(tools));
    let router = Router::new(guarded.unwrap_or_else(|| tools.clone()), options)
        .map_err(|error| Failure::Refused(format!("{}: {error}", args.tools.display())))?;
    let mut session = Session::new(work.conversation, work.format, router);
    if let Some(model) = model {
        session = session.with_model(model).declare(tools);
    }
    if let Some(desk) = work.desk {
        session = session.with_desk(desk);
    }
    let mut options = SessionOptions::default();
    options.most_steps = args.upstream.max_steps;
    Ok(session.with_options(options))
}

/// Writes the transcript where nobody else does, and says what it lost.
fn tell(args: &RunArgs, session: &mut Session, console: &Console) -> Result<(), Failure> {
    if args.writes_stdout() {
        let text = session.text().map_err(|error| Failure::Refused(error.to_string()))?;
        Target::stdout().write(text.as_bytes())?;
    }
    let mut losses: Vec<String> =
        session.losses().iter().map(|loss| loss.lost.to_string()).collect();
    losses.sort();
    losses.dedup();
    losses.iter().for_each(|lost| console.loss(lost));
    Ok(())
}

/// What an end means for whoever called the command.
fn status(ended: Ended, args: &RunArgs, console: &Console) -> Status {
    let found = |text: &str| {
        console.error(text);
        Status::Found
    };
    match ended {
        Ended::Answered | Ended::Replied => Status::Fine,
        Ended::Steps => {
            let steps = count(args.upstream.max_steps, "step");
            found(&format!("stopped after {steps} without an answer (--max-steps)"))
        }
        Ended::CutOff => found("the completion broke off: what is complete of it was kept"),
        Ended::Nothing => found("the completion has no message that is certain (see -v)"),
        Ended::Cancelled => Status::Interrupted,
        _ => found("the session ended early"),
    }
}

/// Why the session could not go on.
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

/// An interrupt ends the session in good order, and a second one at once.
fn stop_on_interrupt(cancel: &CancellationToken) -> Result<(), Failure> {
    let cancel = cancel.clone();
    let handler = move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Io(format!("no signals: {error}")))
}
