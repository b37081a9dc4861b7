//! The model that a session asks.

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

/// An encoding that threads share.
pub(super) type SharedEncoding = Arc<dyn Encoding + Send + Sync>;

/// The model that a session asks: who completes its prompts, and in which format they are.
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
    /// How prompts are written.
    render: RenderOptions,
    /// The spellings of the control tokens.
    controls: Vec<&'static str>,
    stop_ids: Vec<u32>,
    /// What its completions are held to.
    constrained: Option<ConstraintOptions>,
}

impl Model {
    /// A model whose prompts and completions are text of this format.
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

    /// The same model, whose prompts are ids of this encoding, and whose completions are, too, if
    /// the upstream tells ids. Then nothing that text spells is a control token.
    #[must_use]
    pub fn with_encoding(mut self, encoding: impl Encoding + Send + Sync + 'static) -> Self {
        let encoding: SharedEncoding = Arc::new(encoding);
        let tokenizer = Tokenizer::new(self.format, encoding);
        let stops = self.format.stops().iter();
        self.stop_ids = stops.filter_map(|stop| tokenizer.id(*stop)).collect();
        self.tokenizer = Some(tokenizer);
        self
    }

    /// The same model, whose prompts are written with these options.
    #[must_use]
    pub fn with_options(mut self, options: RenderOptions) -> Self {
        self.render = options;
        self
    }

    /// The same model, whose completions are held to the grammar of its format. Without an
    /// [encoding](Self::with_encoding), the tokens that end a completion in the wrong way cannot be
    /// excluded.
    #[must_use]
    pub fn with_constraints(mut self, constrained: ConstraintOptions) -> Self {
        self.constrained = Some(constrained);
        self
    }

    /// What its next completion is held to, the first of a run or another, and what that does not say.
    pub(super) async fn constraint(
        &self,
        is_first: bool,
    ) -> Result<Option<(Constraint, Vec<Unenforced>)>, SessionError> {
        let Some(constrained) = &self.constrained else { return Ok(None) };
        let takes = self.upstream.grammar_support(constrained.language).await?;
        let tokenizer = self.tokenizer.as_ref();
        let found = constrained.constraint(self.format, tokenizer, takes, is_first);
        found.map(Some).map_err(SessionError::Grammar)
    }

    /// Whether its prompts behind a message of `last` end inside of reasoning.
    pub(super) fn prompts_in_reasoning(&self, last: Option<Role>) -> bool {
        self.format.dialect().prompts_in_reasoning(last, &self.render)
    }

    /// The format of its prompts and completions.
    pub fn format(&self) -> TextFormat {
        self.format
    }

    pub(super) fn tokenizer(&self) -> Option<&Tokenizer<SharedEncoding>> {
        self.tokenizer.as_ref()
    }

    pub(super) fn upstream(&self) -> &dyn Upstream {
        self.upstream.as_ref()
    }

    /// What the model is asked, and what the format of prompts has no place for. The model's own messages
    /// are in the ids in which they were `sampled`, where these are known.
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
