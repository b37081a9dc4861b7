//! Prompts: the conversation that the model gets next.

use crate::convert::{self, Conversion, convert};
use crate::declare::{Style, ToolPlace};
use crate::dialect::Format;
use crate::history;
use crate::model::{Conversation, Document, End, Message};
use crate::options::RenderOptions;
use crate::rules::{History, Loss, Lost, Origins, Prepared, declare_as_text};
use crate::writing::RenderError;

/// The conversation that the model gets next. It omits the reasoning that prompts of its format do
/// not contain, and declares tools where the format supports it.
///
/// The format and the profile decide what is omitted and how tools are written. Losses and origins
/// refer to messages of the original conversation.
///
/// ```
/// use openchatml::prompt::Prompt;
/// use openchatml::{Conversation, Message, RenderOptions, Role};
///
/// let conversation = Conversation::from_messages([
///     Message::new(Role::User, "What is 2 + 2?"),
///     Message::reasoning("Easy."),
///     Message::answer("4."),
///     Message::new(Role::User, "And times 3?"),
/// ]);
/// let mut options = RenderOptions::default();
/// options.generation_prompt = Some(Role::Assistant);
/// let prompt = Prompt::new(&conversation, "harmony".parse()?, &options);
/// let converted = prompt.convert(&options)?;
/// assert!(!converted.output.contains("Easy.") && converted.output.ends_with("<|start|>assistant"));
/// assert_eq!(converted.losses[0].to_string(), "message 1: earlier reasoning dropped");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    /// The conversation of the prompt.
    document: Document<'a>,
    format: Format,
    /// What was dropped or changed.
    losses: Vec<Loss>,
    /// The positions of the messages in the original conversation.
    origins: Origins,
}

impl<'a> Prompt<'a> {
    /// Creates the prompt of a conversation in a format. With [`RenderOptions::keep_reasoning`], it
    /// keeps all reasoning.
    pub fn new(conversation: &Conversation<'a>, format: Format, options: &RenderOptions) -> Self {
        let form = format.dialect().text;
        let rule = form.map_or(History::Answered, |form| (form.history)(options.profile));
        let mut next = match options.keep_reasoning {
            true => {
                let mut all = conversation.clone();
                all.messages.iter_mut().for_each(store);
                all
            }
            false => history::by_rule(conversation, rule),
        };
        let left = left(&conversation.messages, &next.messages);
        let mut losses = losses(&conversation.messages, &left);
        let mut origins = Origins::default();
        if left.len() < conversation.messages.len() {
            origins = origins.of_kept(&left);
        }
        let place = format.dialect().tools;
        let carries = format.carries();
        let is_text = !carries.tools && !carries.declared_tools && place != ToolPlace::Conversation;
        if is_text && !next.tools.is_empty() {
            let (inserted, mut more) = declare_as_text(&mut next, place, Style::Documented);
            losses.append(&mut more);
            if let Some(at) = inserted {
                origins.insert(at, next.messages.len());
            }
        }
        Self { document: next.into(), format, losses, origins }
    }

    /// Returns the conversation of the prompt, to change it before it is written. The messages can
    /// get [ids](Message::ids), but messages must not be added or removed.
    pub fn conversation_mut(&mut self) -> Option<&mut Conversation<'a>> {
        match &mut self.document {
            Document::Conversation(conversation) => Some(conversation),
            _ => None,
        }
    }

    /// Returns the document of the prompt.
    pub fn document(&self) -> &Document<'a> {
        &self.document
    }

    /// Returns the document of the prompt, the losses, and the positions of its messages in the
    /// original conversation, for further preparation.
    pub fn into_parts(self) -> (Document<'a>, Vec<Loss>, Origins) {
        (self.document, self.losses, self.origins)
    }

    /// Prepares the prompt for its format, to write it as ids.
    ///
    /// # Errors
    ///
    /// The format cannot express the prompt.
    pub fn prepare(&self, options: &RenderOptions) -> Result<Prepared<'_>, RenderError> {
        let prepared = convert::prepare(&self.document, self.format, options);
        let mut prepared = prepared.map_err(|error| self.origins.place(error))?;
        prepared.origins = prepared.origins.after(&self.origins);
        prepared.losses = self.with_losses(prepared.losses);
        Ok(prepared)
    }

    /// Writes the prompt as text or JSON.
    ///
    /// # Errors
    ///
    /// The format cannot express the prompt.
    pub fn convert(&self, options: &RenderOptions) -> Result<Conversion, RenderError> {
        let converted = convert(&self.document, self.format, options);
        let Conversion { output, losses } = converted.map_err(|error| self.origins.place(error))?;
        Ok(Conversion { output, losses: self.with_losses(losses) })
    }

    /// Returns the losses of the prompt and of its writing.
    fn with_losses(&self, mut more: Vec<Loss>) -> Vec<Loss> {
        self.origins.place_all(&mut more);
        let mut losses = self.losses.clone();
        losses.append(&mut more);
        losses.sort_by_key(|loss| loss.message);
        losses
    }
}

/// Makes a message stored history: it no longer ends its completion.
fn store(message: &mut Message<'_>) {
    if message.end == End::Return {
        message.end = End::End;
    }
}

/// Returns the positions of the prompt's messages in the conversation.
fn left(messages: &[Message<'_>], next: &[Message<'_>]) -> Vec<usize> {
    let same = |one: &Message<'_>, two: &Message<'_>| one.span == two.span && one.body == two.body;
    let mut next = next.iter().peekable();
    let mut is_left = |message: &Message<'_>| next.next_if(|next| same(message, next)).is_some();
    messages.iter().enumerate().filter(|(_, it)| is_left(it)).map(|(at, _)| at).collect()
}

/// Returns the losses of the messages that the prompt does not contain.
fn losses(messages: &[Message<'_>], left: &[usize]) -> Vec<Loss> {
    let all = messages.iter().enumerate();
    let out = all.filter(|(at, _)| left.binary_search(at).is_err());
    let lost = out.map(|(at, message)| {
        let lost = if message.foreign { Lost::Foreign } else { Lost::History };
        Loss::new(Some(at), message.span, lost)
    });
    lost.collect()
}
