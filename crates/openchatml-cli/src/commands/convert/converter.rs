//! From the text of one document to that of another.

use openchatml::convert::{Loss, convert, prepare};
use openchatml::render::Profile;
use openchatml::{
    Carrier, Conversation, Diagnostic, Document, End, Format, Mode, ReadOptions, RenderError,
    RenderOptions, Tool, history, parse,
};

use super::tokens::Tokens;
use super::{response_formats, tools};
use crate::args::{ReadArgs, RenderArgs};
use crate::console::Console;
use crate::failure::Failure;

/// What the output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To say the same in another format.
    Faithful,
    /// To be the next prompt of a model.
    Prompt,
    /// To be the next prompt, with all reasoning in it.
    PromptWithReasoning,
    /// To train a model.
    Training,
}

impl Purpose {
    /// What `render` is for.
    pub(super) fn of_render(args: &RenderArgs) -> Self {
        match (args.training, args.keep_reasoning) {
            (true, _) => Self::Training,
            (_, true) => Self::PromptWithReasoning,
            _ => Self::Prompt,
        }
    }

    /// What `convert` is for.
    pub(super) fn of_convert(args: &RenderArgs) -> Self {
        match (args.training, args.generation_prompt) {
            (false, false) => Self::Faithful,
            _ => Self::of_render(args),
        }
    }
}

/// Converts documents, one by one.
#[derive(Clone, Debug)]
pub(super) struct Converter {
    read: ReadOptions,
    target: Format,
    purpose: Purpose,
    render: RenderOptions,
    tools: Option<Vec<Tool<'static>>>,
    /// Ids are written, and not text.
    tokens: Option<Tokens>,
}

/// What came of a document.
#[derive(Debug, Default)]
pub(super) struct Converted {
    /// The document in the target format, unless it is refused.
    pub(super) output: Option<String>,
    /// What was found in it, in its places.
    pub(super) found: Vec<Diagnostic>,
    /// What the target format cannot carry.
    pub(super) losses: Vec<Loss>,
}

impl Converter {
    pub(super) fn new(read: &ReadArgs, target: Format, purpose: Purpose) -> Self {
        let render = RenderOptions::default();
        let read = read.reader.options(Mode::Lenient);
        Self { read, target, purpose, render, tools: None, tokens: None }
    }

    /// Takes the options of rendering, and reads the tools that they name.
    ///
    /// # Errors
    ///
    /// The tools or the response formats cannot be read, or the template cannot do what is wanted.
    pub(super) fn set(&mut self, args: &RenderArgs, console: &Console) -> Result<(), Failure> {
        if args.keep_reasoning && args.profile.is_template() {
            let text = "the template decides which reasoning it keeps; leave out --keep-reasoning";
            return Err(Failure::Usage(text.to_owned()));
        }
        self.render = args.options();
        if let Some(path) = &args.harmony.response_format {
            self.render.response_formats = response_formats::read(path, console)?;
        }
        self.tools = args.tools.as_deref().map(|path| tools::read(path, console)).transpose()?;
        Ok(())
    }

    /// Writes ids of the target format.
    pub(super) fn write_tokens(&mut self, tokens: Tokens) {
        self.tokens = Some(tokens);
    }

    /// Whether ids are written.
    pub(super) fn writes_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// The carrier of the output.
    pub(super) fn carrier(&self) -> Carrier {
        if self.tokens.is_some() { Carrier::Json } else { self.target.carrier() }
    }

    /// The document as it is written, and what is lost.
    fn write(&self, document: &Document<'_>) -> Result<(String, Vec<Loss>), RenderError> {
        let Some(tokens) = &self.tokens else {
            let conversion = convert(document, self.target, &self.render)?;
            return Ok((conversion.output, conversion.losses));
        };
        let prepared = prepare(document, self.target, &self.render)?;
        match tokens.write(&prepared.document, &self.render) {
            Ok(output) => Ok((output, prepared.losses)),
            Err(error) => Err(prepared.origins.place(error)),
        }
    }

    /// Converts the document `text`.
    pub(super) fn convert(&self, text: &str, format: Format) -> Converted {
        let parsed = parse(text, format, &self.read);
        let has_errors = parsed.has_errors();
        let mut converted = Converted { found: parsed.diagnostics, ..Converted::default() };
        let is_lost = self.read.mode == Mode::Strict || is_empty(&parsed.document);
        if has_errors && is_lost {
            return converted;
        }
        let document = self.prepare(parsed.document);
        match self.write(&document) {
            Ok((output, losses)) => {
                converted.output = Some(output);
                converted.losses = losses;
            }
            Err(error) => {
                let nothing = Conversation::default();
                let conversation = document.as_conversation().unwrap_or(&nothing);
                converted.found.push(error.to_diagnostic(conversation));
            }
        }
        converted
    }

    /// The document as its purpose wants it.
    fn prepare<'t>(&self, mut document: Document<'t>) -> Document<'t> {
        if let Document::Conversation(conversation) = &mut document {
            match self.purpose {
                Purpose::Faithful => {}
                Purpose::Prompt => {
                    *conversation = match self.render.harmony {
                        Profile::Reference | Profile::OssHarmony => {
                            history::reference_prompt(conversation)
                        }
                        // The template drops what it drops.
                        Profile::HfTemplate | Profile::HfTemplateStrings => {
                            history::drop_foreign(conversation)
                        }
                        _ => history::next_prompt(conversation),
                    }
                }
                Purpose::PromptWithReasoning | Purpose::Training => self.ends(conversation),
            }
            if let Some(tools) = &self.tools {
                conversation.tools.clone_from(tools);
            }
        }
        document
    }

    /// Sampling ended by `<|return|>`; what is stored ends by `<|end|>`, but for the last answer
    /// of a training sample.
    fn ends(&self, conversation: &mut Conversation<'_>) {
        for message in &mut conversation.messages {
            if message.end == End::Return {
                message.end = End::End;
            }
        }
        if self.purpose == Purpose::Training
            && self.target.carries().ends.contains(&End::Return)
            && let Some(answer) =
                conversation.messages.iter_mut().rfind(|message| message.is_answer())
            && answer.end == End::End
        {
            answer.end = End::Return;
        }
    }
}

/// Whether nothing was saved of a document.
fn is_empty(document: &Document<'_>) -> bool {
    document.as_conversation().is_some_and(|conversation| {
        conversation.header.is_none()
            && conversation.tools.is_empty()
            && conversation.messages.is_empty()
    })
}
