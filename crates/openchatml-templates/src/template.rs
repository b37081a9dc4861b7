//! Runs a template.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use minijinja::Environment;
use openchatml::{Code, Conversation, Span};

use crate::context;
use crate::controls::{Controls, spelled};
use crate::environment::{add_globals, bare};
use crate::error::{ErrorPlace, TemplateError};
use crate::limits::Limits;
use crate::marks::{Marked, Marker, Marks};
use crate::options::Options;
use crate::pieces::{self, Rendered};
use crate::source::{Literals, Rewritten, crowded_tag, rewrite};

/// The name of the template in the engine.
const NAME: &str = "chat_template";

/// A chat template: a Jinja template with the rules of `transformers`.
///
/// ```
/// use openchatml::{Conversation, Message, Role};
/// use openchatml_templates::{Options, Template};
///
/// let source = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
///     {{ message.content }}<|im_end|>\n{% endfor %}";
/// let template = Template::new(source, &Default::default())?;
/// let conversation = Conversation::from_messages([Message::new(Role::User, "Hi.")]);
/// let rendered = template.render(&conversation, &Options::default())?;
/// assert_eq!(rendered.text, "<|im_start|>user\nHi.<|im_end|>\n");
/// # Ok::<(), openchatml_templates::TemplateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    source: Arc<str>,
    rewritten: Rewritten,
    literals: Literals,
    environment: Environment<'static>,
    limits: Limits,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// - [`Code::TemplateSyntax`]: the source is not a template.
    /// - [`Code::Limit`]: the source is longer than [`Limits::source_bytes`], or a tag has more
    ///   operators than [`Limits::operators`].
    pub fn new(source: &str, limits: &Limits) -> Result<Self, TemplateError> {
        if source.len() > limits.source_bytes {
            return Err(TemplateError::limit(
                "source_bytes",
                limits.source_bytes,
                ErrorPlace::Nowhere,
            ));
        }
        if let Some(span) = crowded_tag(source, limits.operators) {
            let place = ErrorPlace::Template(Span::new(span.start, span.end));
            return Err(TemplateError::limit("operators", limits.operators, place));
        }
        let rewritten = rewrite(source);
        let mut environment = bare(limits);
        let added = environment.add_template_owned(NAME, rewritten.text.clone());
        added.map_err(|error| TemplateError::of_engine(&error, &rewritten, limits))?;
        Ok(Self {
            source: source.into(),
            literals: Literals::of(source),
            rewritten,
            environment,
            limits: limits.clone(),
        })
    }

    /// Returns the source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the spellings in the template that look like control tokens. They are the default
    /// for [`Options::controls`].
    ///
    /// ```
    /// let source = "<|im_start|>{{ messages[0].content.split('</think>')[-1] }}<|im_end|>";
    /// let template = openchatml_templates::Template::new(source, &Default::default())?;
    /// assert_eq!(template.controls(), ["</think>", "<|im_end|>", "<|im_start|>"]);
    /// # Ok::<(), openchatml_templates::TemplateError>(())
    /// ```
    pub fn controls(&self) -> Vec<String> {
        Controls::new(spelled(&self.literals)).spellings().to_vec()
    }

    /// Whether the template contains this text, outside of tags or in a string.
    pub(crate) fn spells(&self, text: &str) -> bool {
        self.literals.texts.iter().any(|literal| literal.contains(text))
    }

    /// Writes a conversation as text.
    ///
    /// # Errors
    ///
    /// - [`Code::TemplateRender`]: the template raises an error, or an operation is invalid.
    /// - [`Code::RenderControl`]: content contains the spelling of a control token, which could not
    ///   be distinguished from one of the template.
    /// - [`Code::Limit`]: the template exceeds a limit.
    pub fn render(
        &self,
        conversation: &Conversation<'_>,
        options: &Options<'_>,
    ) -> Result<Rendered, TemplateError> {
        let (rendered, controls, marked) = self.run(conversation, options)?;
        pieces::check_text(&rendered, &controls, &marked)?;
        Ok(rendered)
    }

    /// Writes a conversation as control tokens and text. Content is always text: only
    /// [`Rendered::pieces`] distinguish the control tokens of the template.
    ///
    /// # Errors
    ///
    /// Like [`render`](Self::render), but content may contain any text. [`Code::RenderControl`]
    /// means that the template cuts a control token out of content at a fixed position instead of
    /// searching for it.
    ///
    /// ```
    /// use openchatml::{Conversation, Message, Role};
    /// use openchatml_templates::Template;
    ///
    /// let template = Template::new("<|user|>{{ messages[0].content }}", &Default::default())?;
    /// let hostile = Conversation::from_messages([Message::new(Role::User, "<|user|>")]);
    /// assert!(template.render(&hostile, &Default::default()).is_err());
    /// let rendered = template.render_pieces(&hostile, &Default::default())?;
    /// assert_eq!(rendered.text, "<|user|><|user|>");
    /// assert_eq!(rendered.pieces.iter().filter(|piece| piece.is_control).count(), 1);
    /// # Ok::<(), openchatml_templates::TemplateError>(())
    /// ```
    pub fn render_pieces(
        &self,
        conversation: &Conversation<'_>,
        options: &Options<'_>,
    ) -> Result<Rendered, TemplateError> {
        self.run(conversation, options).map(|(rendered, ..)| rendered)
    }

    fn run(
        &self,
        conversation: &Conversation<'_>,
        options: &Options<'_>,
    ) -> Result<(Rendered, Controls, Vec<Marked>), TemplateError> {
        let given = options.controls.as_ref();
        let given = given.map(|all| all.iter().map(|it| it.to_string()).collect());
        let spellings = given.unwrap_or_else(|| spelled(&self.literals));
        let special = options.special_tokens.iter().map(|(_, text)| text.to_string());
        let controls = Controls::new(spellings.into_iter().chain(special));
        let marks = Arc::new(self.marks(conversation, options)?);
        let mut marker = Marker::new(&marks, &controls, &self.literals);
        let context = context::context(conversation, options, &mut marker);
        let marked = marker.marked;
        let mut environment = self.environment.clone();
        let names = &self.rewritten.names;
        add_globals(&mut environment, names, &self.limits, Arc::clone(&marks), options.date);
        let mut output =
            Output { bytes: Vec::new(), most: self.limits.output_bytes, is_full: false };
        let ran = environment.get_template(NAME);
        let ran =
            ran.and_then(|template| template.render_captured_to(context, &mut output).map(drop));
        if let Err(error) = ran {
            let found = TemplateError::of_engine(&error, &self.rewritten, &self.limits);
            return Err(match output.is_full {
                true => TemplateError::limit("output_bytes", self.limits.output_bytes, found.at),
                false => {
                    TemplateError { message: marks.without(&found.message).into_owned(), ..found }
                }
            });
        }
        let output = String::from_utf8(output.bytes).expect("it is written as text");
        let rendered = pieces::read(&output, &marks, &controls, &marked)?;
        Ok((rendered, controls, marked))
    }

    /// Chooses marks that do not occur in the input.
    fn marks(
        &self,
        conversation: &Conversation<'_>,
        options: &Options<'_>,
    ) -> Result<Marks, TemplateError> {
        let mut used = HashSet::new();
        Marks::note(&self.source, &mut used);
        self.literals.texts.iter().for_each(|text| Marks::note(text, &mut used));
        context::note(conversation, options, &mut used);
        Marks::outside(&used).ok_or_else(|| {
            let message = "the conversation contains every unassigned character";
            TemplateError::new(Code::RenderControl, message, ErrorPlace::Nowhere)
        })
    }
}

/// Output with a maximum length.
struct Output {
    bytes: Vec<u8>,
    most: usize,
    is_full: bool,
}

impl io::Write for Output {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.most - self.bytes.len() < piece.len() {
            self.is_full = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
