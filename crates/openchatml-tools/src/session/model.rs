//! The model of a session.

use std::fmt;
use std::sync::Arc;

use openchatml::convert::Loss;
use openchatml::prompt::Prompt as NextPrompt;
use openchatml::{Conversation, RenderError, RenderOptions, Role, TextFormat};
use openchatml_grammars::Unenforced;
use openchatml_tokens::{Encoding, Tokenizer};

use super::constraints::ConstraintOptions;
use super::sampled_output::SampledOutput;
use crate::{Constraint, Prompt, Request, SessionError, Upstream};

/// An encoding that is shared between threads.
pub(super) type SharedEncoding = Arc<dyn Encoding + Send + Sync>;

/// A model: the upstream that completes prompts, and the format of prompts and completions.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_tools::{Completions, CompletionsOptions, Model};
///
/// let upstream = Completions::new("http://localhost:8000", CompletionsOptions::default())?;
/// let model = Model::new(upstream, TextFormat::HARMONY);
/// assert_eq!(model.format().to_string(), "harmony");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Model {
    upstream: Box<dyn Upstream>,
    format: TextFormat,
    tokenizer: Option<Tokenizer<SharedEncoding>>,
    /// The options for writing prompts.
    render: RenderOptions,
    /// The spellings of the control tokens.
    controls: Vec<&'static str>,
    stop_ids: Vec<u32>,
    /// The constraints of completions.
    constrained: Option<ConstraintOptions>,
}

impl Model {
    /// Creates a model whose prompts and completions are text in this format.
    pub fn new(upstream: impl Upstream + 'static, format: TextFormat) -> Self {
        let entries = format.controls().entries();
        Self {
            upstream: Box::new(upstream),
            format,
            tokenizer: None,
            render: RenderOptions::default(),
            controls: entries.iter().map(|(_, spelling)| *spelling).collect(),
            stop_ids: Vec::new(),
            constrained: None,
        }
    }

    /// Sends prompts as ids of this encoding. If the upstream returns ids, completions are ids as
    /// well. With ids, ordinary text that spells a control token is never read as the token.
    #[must_use]
    pub fn with_encoding(mut self, encoding: impl Encoding + Send + Sync + 'static) -> Self {
        let encoding: SharedEncoding = Arc::new(encoding);
        let tokenizer = Tokenizer::new(self.format, encoding);
        let stops = self.format.stops().iter();
        self.stop_ids = stops.filter_map(|stop| tokenizer.id(*stop)).collect();
        self.tokenizer = Some(tokenizer);
        self
    }

    /// Sets the options for writing prompts.
    #[must_use]
    pub fn with_options(mut self, options: RenderOptions) -> Self {
        self.render = options;
        self
    }

    /// Constrains completions to the grammar of the format. Without an
    /// [encoding](Self::with_encoding), the tokens that end a completion in the wrong way cannot be
    /// excluded.
    #[must_use]
    pub fn with_constraints(mut self, constrained: ConstraintOptions) -> Self {
        self.constrained = Some(constrained);
        self
    }

    /// Returns the constraint of the next completion, and the requirements that it does not
    /// enforce. `is_first` is true for the first completion of a run, `in_reasoning` if it begins
    /// inside of reasoning.
    pub(super) async fn constraint(
        &self,
        is_first: bool,
        in_reasoning: bool,
    ) -> Result<Option<(Constraint, Vec<Unenforced>)>, SessionError> {
        let Some(constrained) = &self.constrained else { return Ok(None) };
        let takes = self.upstream.grammar_support(constrained.language).await?;
        let tokenizer = self.tokenizer.as_ref();
        let found = constrained.constraint(self.format, tokenizer, takes, is_first, in_reasoning);
        found.map(Some).map_err(SessionError::Grammar)
    }

    /// Whether a prompt after a message of role `last` ends inside a reasoning section.
    pub(super) fn prompts_in_reasoning(&self, last: Option<Role>) -> bool {
        self.format.dialect().prompts_in_reasoning(last, &self.render)
    }

    /// Returns the format of prompts and completions.
    pub fn format(&self) -> TextFormat {
        self.format
    }

    pub(super) fn tokenizer(&self) -> Option<&Tokenizer<SharedEncoding>> {
        self.tokenizer.as_ref()
    }

    pub(super) fn upstream(&self) -> &dyn Upstream {
        self.upstream.as_ref()
    }

    /// Creates the request for the next completion, and returns the losses of its prompt. Messages
    /// of the model keep the ids in which they were `sampled`, if these are known.
    pub(super) fn request<'m>(
        &'m self,
        conversation: &Conversation<'_>,
        sampled: &SampledOutput,
        constraint: Option<&'m Constraint>,
    ) -> Result<(Request<'m>, Vec<Loss>), RenderError> {
        let mut options = self.render.clone();
        options.generation_prompt = Some(Role::Assistant);
        let mut next = NextPrompt::new(conversation, self.format.into(), &options);
        if let (true, Some(next)) = (self.tokenizer.is_some(), next.conversation_mut()) {
            sampled.tell(next, self.format.into());
        }
        let (prompt, losses) = match &self.tokenizer {
            None => {
                let converted = next.convert(&options)?;
                (Prompt::Text(converted.output), converted.losses)
            }
            Some(tokenizer) => {
                let prepared = next.prepare(&options)?;
                let written = tokenizer.render_prepared(&prepared, &options)?;
                (Prompt::Ids(written.ids), prepared.losses)
            }
        };
        let mut request = Request::new(prompt);
        request.controls = &self.controls;
        request.stop_ids = &self.stop_ids;
        request.constraint = constraint;
        Ok((request, losses))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("format", &self.format).finish_non_exhaustive()
    }
}
