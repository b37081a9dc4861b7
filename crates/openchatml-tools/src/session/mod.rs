//! The loop of a session: a transcript, the tools that it calls, and optionally a model that
//! continues it.

mod calls;
mod completion_reader;
mod constraints;
mod event;
mod layout;
mod model;
mod partial;
mod plan;
mod respell;
mod run;
mod sampled_output;
mod store;
mod transcript;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use openchatml::convert::{Loss, convert};
use openchatml::{
    Carrier, Conversation, Document, Format, Message, ReadOptions, Recognized, RenderError,
    RenderOptions, Role, Settings, Tool, parse,
};
use openchatml_grammars::{GrammarError, Unenforced};

use self::calls::fingerprint;
pub use self::constraints::ConstraintOptions;
pub use self::event::SessionEvent;
pub use self::layout::TranscriptLayout;
pub use self::model::Model;
use self::plan::{CallIds, Next};
use self::sampled_output::SampledOutput;
use self::store::CallState;
pub use self::store::{TranscriptStore, TranscriptStoreError};
pub use self::transcript::Transcript;
use crate::{ApprovalPolicy, Failure, Router, Toolbox, UpstreamError};

/// A transcript, its tools, and optionally a model that continues it.
///
/// [`run`](Self::run) runs the calls without a reply. If there is a model, it then asks the model
/// to continue until the model answers. A call starts when its message is complete, while the rest
/// of the turn still arrives.
///
/// ```
/// use openchatml::{Format, ReadOptions, parse};
/// use openchatml_tools::{
///     CancellationToken, StopReason, Entry, Output, Router, Session, Toolbox, function,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut tools = Toolbox::default();
/// let now = function(|_| async { Ok(Output::text("12:00")) });
/// tools.insert("functions.now", Entry::new(now))?;
/// let router = Router::new(tools, Default::default())?;
///
/// let text = "\
/// version: 2.2
///
/// <|start|>user<|message|>How late is it?<|end|>
/// <|start|>assistant to=functions.now call_id=n1<|channel|>commentary<|constrain|>json<|message|>{}<|call|>
/// ";
/// let format: Format = "openchatml-2.2".parse()?;
/// let conversation = parse(text, format, &ReadOptions::default()).into_conversation();
/// let mut session = Session::new(conversation.into_owned(), format, router);
/// let ended = session.run(&CancellationToken::new(), |_| {}).await?;
/// assert_eq!(ended, StopReason::Replied);
/// let text = session.text()?;
/// assert!(text.contains(r#"<|start|>tool name=functions.now call_id=n1 to=assistant"#), "{text}");
/// # Ok(())
/// # }
/// ```
pub struct Session {
    conversation: Conversation<'static>,
    /// The format of the transcript.
    format: Format,
    router: Router,
    model: Option<Arc<Model>>,
    store: Option<Arc<TranscriptStore>>,
    options: SessionOptions,
    /// The losses of the writes of the transcript: the first of each kind.
    losses: Vec<Loss>,
    /// The index of the next message in the events.
    next_index: usize,
    /// The number of messages that are stored, in the transcript or in the journal. `None` before
    /// this session wrote the transcript, which may lack the declarations of tools.
    saved_messages: Option<usize>,
    /// The calls of the conversation, with their ids.
    names: CallIds,
    /// The output of the model, with the ids that it sampled.
    sampled: SampledOutput,
    /// The layout of the transcript, if the caller sets one.
    layout: Option<TranscriptLayout>,
    /// The usage of this run so far.
    spent: RunUsage,
    /// The requirements that the grammars of this run do not enforce.
    unenforced: Vec<Unenforced>,
    /// The losses in the prompts: the first of each kind.
    prompt_losses: Vec<Loss>,
    /// What a completion of this run is that cannot be read, if it is recognized.
    recognized: Option<Recognized>,
}

/// The usage of a run, for its limits.
#[derive(Clone, Copy, Debug, Default)]
struct RunUsage {
    /// The number of requests to the model.
    steps: usize,
    calls: usize,
    tokens: u64,
    /// Whether the tokens of some completion were not counted.
    is_uncounted: bool,
    /// Whether reasoning was emitted as visible text.
    has_shown_reasoning: bool,
    /// Whether a call of the model was left out.
    has_uncertain_call: bool,
    /// The number of failed requests in a row.
    failed_attempts: usize,
}

/// A call that may have been made before a crash.
struct KnownCall {
    fingerprint: u64,
    call_state: CallState,
}

/// Options of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The maximum number of requests to the model.
    pub most_steps: usize,
    /// The maximum number of calls in one run. `None`: no limit.
    pub most_calls: Option<usize>,
    /// The number of tokens of all prompts and completions of one run after which the model is not
    /// asked again. The server counts tokens. If it does not, only ids can be counted.
    pub most_tokens: Option<u64>,
    /// How often a failed request is repeated in a row: the server is down or fails, the connection
    /// breaks, or the completion has no certain message. Each attempt is a step. Calls of a broken
    /// completion run exactly once.
    pub most_retries: usize,
    /// The pause before the first repetition. Each further pause is twice as long, at most 30 s.
    pub backoff: Duration,
    /// The maximum time of one run. Then calls are cancelled, and their replies say so.
    pub most_time: Option<Duration>,
    /// The options for reading completions and the transcript.
    pub read: ReadOptions,
    /// The options for writing the transcript.
    pub render: RenderOptions,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let (read, render) = (ReadOptions::default(), RenderOptions::default());
        Self {
            most_steps: 32,
            most_calls: None,
            most_tokens: None,
            most_retries: 0,
            backoff: Duration::from_millis(500),
            most_time: None,
            read,
            render,
        }
    }
}

/// What the next run does with a call that has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallDecision {
    /// The run makes the call.
    Run,
    /// The run asks for approval, and makes the call if it is approved.
    AskApproval,
    /// The run refuses the call with this failure.
    Refuse(Failure),
    /// The call waits for a later run, because of [`most_calls`](SessionOptions::most_calls).
    Defer,
}

/// Why a run of a session stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The model answered.
    Answered,
    /// All calls have replies, and the session has no model that could continue.
    Replied,
    /// The maximum number of requests to the model is reached.
    StepLimit,
    /// The maximum number of calls is reached. The remaining calls have no replies yet.
    CallLimit,
    /// The maximum number of tokens is reached or exceeded.
    TokenLimit,
    /// The maximum time is reached. The replies of the calls that ran at that moment say so.
    TimeLimit,
    /// The last completion was cut off. Its complete messages are in the transcript.
    CutOff,
    /// The last completion contains no certain message.
    NoMessage,
    /// The session was cancelled. The replies of the calls that ran at that moment say so.
    Cancelled,
}

/// The error of a session that cannot continue. The transcript contains everything that was done.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// The upstream cannot be reached, or its completion failed.
    Upstream(UpstreamError),
    /// The prompt cannot be written in the format of the model.
    Prompt(RenderError),
    /// The grammar for the constraints cannot be created.
    Grammar(GrammarError),
    /// The transcript cannot be written in its format.
    Transcript(RenderError),
    /// A file cannot be written.
    Io(io::Error),
}

impl SessionError {
    /// The kind of the error, for traces.
    fn kind(&self) -> &'static str {
        match self {
            Self::Upstream(_) => "upstream",
            Self::Prompt(_) => "prompt",
            Self::Grammar(_) => "grammar",
            Self::Transcript(_) => "transcript",
            Self::Io(_) => "io",
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upstream(error) => error.fmt(f),
            Self::Prompt(error) => write!(f, "cannot write the prompt: {error}"),
            Self::Grammar(error) => write!(f, "cannot make the grammar: {error}"),
            Self::Transcript(error) => write!(f, "cannot write the transcript: {error}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<UpstreamError> for SessionError {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

impl From<io::Error> for SessionError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Session {
    /// Creates a session that continues this conversation. The transcript has this format.
    pub fn new(conversation: Conversation<'static>, format: Format, router: Router) -> Self {
        let next_index = conversation.messages.len();
        Self {
            conversation,
            format,
            router,
            model: None,
            store: None,
            options: SessionOptions::default(),
            losses: Vec::new(),
            next_index,
            saved_messages: None,
            names: CallIds::default(),
            sampled: SampledOutput::default(),
            layout: None,
            spent: RunUsage::default(),
            unenforced: Vec::new(),
            prompt_losses: Vec::new(),
            recognized: None,
        }
    }

    /// Adds a model that continues the transcript.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the store of the transcript. The router must have the tools that
    /// [`TranscriptStore::record_calls`] returns. Output of the model before a crash that is not in
    /// the transcript yet becomes part of the conversation.
    #[must_use]
    pub fn with_store(mut self, store: TranscriptStore) -> Self {
        let recovered = store.recover();
        self.next_index += recovered.len();
        self.conversation.messages.extend(recovered);
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the layout of a transcript in JSON.
    #[must_use]
    pub fn with_layout(mut self, layout: TranscriptLayout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// [Declares](Toolbox::declare_in) these tools in the transcript, unless it already declares
    /// tools.
    #[must_use]
    pub fn declare(mut self, tools: &Toolbox) -> Self {
        let functions = tools.declare();
        let says = |text: &str, tool: &Tool<'_>| text.contains(&format!("type {} = ", tool.name));
        let of_authority = |role| matches!(role, Role::System | Role::Developer);
        let messages = self.conversation.messages.iter();
        let is_declared = messages.filter(|message| of_authority(message.role)).any(|message| {
            let text = message.body.text();
            functions.iter().any(|tool| says(&text, tool))
        });
        if self.conversation.tools.is_empty() && !is_declared {
            tools.declare_in(&mut self.conversation, self.format.dialect());
        }
        self
    }

    /// Returns the requirements that the grammars of the last [run](Self::run) did not express, if
    /// the model is [constrained](Model::with_constraints).
    pub fn unenforced(&self) -> &[Unenforced] {
        &self.unenforced
    }

    /// Whether the tokens of some completion in the last [run](Self::run) were not counted. In that
    /// case, [`most_tokens`](SessionOptions::most_tokens) did not limit the run.
    pub fn has_uncounted_tokens(&self) -> bool {
        self.spent.is_uncounted
    }

    /// Whether the last [run](Self::run) emitted text as visible before a token showed that it is
    /// reasoning. This happens if a model begins inside of reasoning without the token that opens
    /// it: see [`RenderOptions::open_reasoning`](openchatml::RenderOptions::open_reasoning).
    pub fn has_shown_reasoning(&self) -> bool {
        self.spent.has_shown_reasoning
    }

    /// Whether the last [run](Self::run) left out a call because it is uncertain that the model makes
    /// it: it is malformed, or perhaps a part of reasoning or of quoted code.
    pub fn has_uncertain_call(&self) -> bool {
        self.spent.has_uncertain_call
    }

    /// Returns what the last completion of the last [run](Self::run) is, if it has no certain message
    /// but is recognized: a server has removed its control tokens. Another request would get the
    /// same, so the run ends with [`StopReason::NoMessage`].
    pub fn recognized(&self) -> Option<&Recognized> {
        self.recognized.as_ref()
    }

    /// Returns the first loss of each kind in the prompts of the last [run](Self::run).
    pub fn prompt_losses(&self) -> &[Loss] {
        &self.prompt_losses
    }

    /// Returns the conversation.
    pub fn conversation(&self) -> &Conversation<'static> {
        &self.conversation
    }

    /// Returns the calls that the next [`run`](Self::run) handles first, with what it does with
    /// each.
    pub fn pending_calls(&self) -> Vec<(Message<'static>, CallDecision)> {
        let messages = &self.conversation.messages;
        let Next::Answer(pending) = plan::next(&self.conversation) else { return Vec::new() };
        let header = self.conversation.header.as_ref();
        let settings = header.map(|header| Settings::read(header).0).unwrap_or_default();
        let mut names = CallIds::default();
        names.look(messages);
        let is_free =
            |id: &str| pending.iter().any(|call| call.repeated.is_none() && call.id == id);
        let taken = names.calls().iter().filter(|call| !is_free(&call.id));
        let mut taken: HashSet<String> = taken.map(|call| call.id.clone()).collect();
        let mut left = self.options.most_calls.unwrap_or(usize::MAX);
        let calls = pending.iter().map(|call| {
            let mut message = messages[call.at].clone();
            let id = call.repeated.as_ref().unwrap_or(&call.id);
            message.call_id = Some(id.clone().into());
            let checked = self.router.check(&message, &settings, &taken);
            taken.insert(call.id.clone());
            let decision = match checked {
                _ if left == 0 => CallDecision::Defer,
                Ok(ApprovalPolicy::Never) => CallDecision::Run,
                Ok(_) => CallDecision::AskApproval,
                Err(failure) => CallDecision::Refuse(failure),
            };
            left = left.saturating_sub(1);
            (message, decision)
        });
        calls.collect()
    }

    /// Returns the number of calls without a reply that do not run, because the user continued
    /// without one.
    pub fn abandoned_calls(&self) -> usize {
        plan::abandoned_calls(&self.conversation.messages)
    }

    /// Returns the losses of the writes of the transcript so far: the first of each kind. A session
    /// with a store continues with what it has written, so later writes do not lose it again.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Returns the text of the transcript.
    ///
    /// # Errors
    ///
    /// The format cannot represent the conversation.
    pub fn text(&mut self) -> Result<String, RenderError> {
        self.written().map(|text| self.laid_out(text))
    }

    /// Writes the transcript in the default layout, with everything that the format carries.
    fn written(&mut self) -> Result<String, RenderError> {
        let document = Document::from(std::mem::take(&mut self.conversation));
        let converted = convert(&document, self.format, &self.options.render);
        self.conversation = document.into_conversation();
        let converted = converted?;
        for loss in converted.losses {
            let is_known = |known: &Loss| (known.lost, &known.detail) == (loss.lost, &loss.detail);
            if !self.losses.iter().any(is_known) {
                self.losses.push(loss);
            }
        }
        Ok(converted.output)
    }

    fn laid_out(&self, written: String) -> String {
        let Some(layout) = &self.layout else {
            let is_json = self.format.carrier() == Carrier::Json && !written.ends_with('\n');
            return if is_json { written + "\n" } else { written };
        };
        layout.apply(written)
    }

    /// Writes the transcript to its store, if there is one. [`run`](Self::run) does this after each
    /// change.
    ///
    /// Each write converts, parses and saves the whole transcript. The time of a step therefore
    /// grows with the length of the transcript, about as fast as that of `parse` and `render`. If
    /// this is too slow, limit the length or the number of steps.
    ///
    /// # Errors
    ///
    /// The format cannot represent the conversation, or the file cannot be written.
    pub async fn keep(&mut self) -> Result<(), SessionError> {
        self.save(&HashMap::new()).await
    }

    /// Writes the transcript and continues with the conversation that is read from it, because a
    /// session after a crash has only this. If this changes the fingerprint of a call with a known
    /// state, the journal gets the new fingerprint.
    async fn save(&mut self, call_states: &HashMap<String, KnownCall>) -> Result<(), SessionError> {
        let Some(store) = self.store.clone() else { return Ok(()) };
        let written = self.written().map_err(SessionError::Transcript)?;
        let read = parse(&written, self.format, &self.options.read);
        self.conversation = read.into_conversation().into_owned();
        self.saved_messages = Some(self.conversation.messages.len());
        self.names = CallIds::default();
        self.names.look(&self.conversation.messages);
        let text = self.laid_out(written);
        let mut again = Vec::new();
        for call in self.names.calls() {
            let Some(known) = call_states.get(&call.id) else { continue };
            let fingerprint = fingerprint(&self.conversation.messages[call.at]);
            if known.fingerprint != fingerprint && known.call_state != CallState::NotStarted {
                again.push((call.id.clone(), fingerprint, known.call_state.clone()));
            }
        }
        blocking(move || {
            again.iter().try_for_each(|(id, fingerprint, call_state)| {
                store.change_fingerprint(id, *fingerprint, call_state)
            })?;
            store.save(&text)
        })
        .await
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("format", &self.format)
            .field("model", &self.model)
            .field("store", &self.store)
            .field("messages", &self.conversation.messages.len())
            .finish_non_exhaustive()
    }
}

/// Runs blocking file operations on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, SessionError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(io::Error::other)??)
}
