//! Converts the text of one document to another format.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openchatml::convert::{
    Loss, Lost, Sidecar, convert, convert_with_sidecar, join_losses, prepare,
};
use openchatml::harmony::has_system_message;
use openchatml::render::Profile;
use openchatml::{
    Carrier, Code, Conversation, Diagnostic, Document, Dropped, Format, Mode, Pair, Parsed,
    RenderOptions, Severity, Span, Tool, lint,
};
use openchatml_data::record::{KeptMessages, Purpose, add_lints, is_empty};

use super::beside::{self, BesideArgs};
use super::response_formats;
use super::template::Templated;
use super::tokens::{Refused, TokenOutput, Tokens};
use super::truncate::Budget;
use crate::args::{BareArgs, ReadArgs, RenderArgs, ResponseArgs, Written};
use crate::console::Console;
use crate::encodings::Encodings;
use crate::failure::Failure;
use crate::file_name;
use crate::input::{JSON, finding, is_json};
use crate::output::escape;
use crate::reader::Reader;

/// Returns the purpose of `render`.
pub(in crate::commands) fn purpose_of_render(args: &RenderArgs) -> Purpose {
    match (args.training, args.keep_reasoning) {
        (true, _) => Purpose::Training,
        (_, true) => Purpose::PromptWithReasoning,
        _ => Purpose::Prompt,
    }
}

/// Returns the purpose of `convert`.
pub(in crate::commands) fn purpose_of_convert(args: &RenderArgs) -> Purpose {
    match (args.training, args.generation_prompt) {
        (false, false) => Purpose::Faithful,
        _ => purpose_of_render(args),
    }
}

/// Converts documents, one by one.
#[derive(Clone, Debug)]
pub(super) struct Converter {
    reader: Reader,
    target: Format,
    purpose: Purpose,
    render: RenderOptions,
    /// The given options for the system message of a prompt.
    system_options: Vec<&'static str>,
    tools: Option<Vec<Tool<'static>>>,
    /// Writes ids instead of text.
    tokens: Option<Tokens>,
    /// The sidecar that is restored after reading.
    beside: Option<Sidecar>,
    /// Whether data that the target format cannot express is kept for a sidecar.
    wants_sidecar: bool,
    /// The truncation.
    budget: Option<Budget>,
    /// The format of most of the input, if it is known.
    reads: Option<Format>,
    /// Whether the target format is that of the input.
    keeps_format: bool,
    /// The chat template that writes instead of the target format.
    template: Option<Arc<Templated>>,
}

/// A written document.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) losses: Vec<Loss>,
    /// The data that the output does not contain, if it was requested.
    pub(super) sidecar: Option<Sidecar>,
}

/// The result of a document.
#[derive(Debug, Default)]
pub(super) struct Converted {
    /// The document in the target format, unless it is rejected.
    pub(super) output: Option<String>,
    /// The diagnostics, with their places.
    pub(super) found: Vec<Diagnostic>,
    /// The losses.
    pub(super) losses: Vec<Loss>,
    /// The lost data that is kept for a sidecar.
    pub(super) sidecar: Option<Sidecar>,
    /// Whether the output is a JSON object with both sides of a pair, in any format.
    pub(super) is_pair: bool,
    /// Whether the document is a raw completion of the assistant of which text was dropped.
    pub(super) is_completion: bool,
}

impl Converter {
    /// Creates a converter from this reader to this format, with the encodings for token ids.
    ///
    /// # Errors
    ///
    /// The encoding lacks control tokens of a format whose ids are read or written; or the file with
    /// the tools cannot be used.
    pub(super) fn new(
        read: &ReadArgs,
        target: Written,
        purpose: Purpose,
        encodings: Option<Encodings>,
        console: &Console,
    ) -> Result<Self, Failure> {
        let reader = Reader::with(read, Mode::Lenient, encodings.as_ref(), console)?;
        let Written { format: target, tokens } = target;
        let tokens = encodings.filter(|_| tokens);
        let tokens = tokens.map(|encodings| {
            let format = target.text().map_err(|error| Failure::Usage(error.to_string()))?;
            Tokens::new(format, TokenOutput::Ids, encodings)
        });
        let tools = read.reader.tools.is_some().then(|| reader.options().tools.to_vec());
        Ok(Self {
            reader,
            target,
            purpose,
            render: RenderOptions::default(),
            system_options: Vec::new(),
            tools,
            tokens: tokens.transpose()?,
            beside: None,
            wants_sidecar: false,
            budget: None,
            reads: None,
            keeps_format: false,
            template: None,
        })
    }

    /// Reads the output of a model with its response template, if there is one.
    ///
    /// # Errors
    ///
    /// The template cannot be read, or is invalid.
    pub(super) fn read_response(
        mut self,
        args: &ResponseArgs,
        console: &Console,
    ) -> Result<Self, Failure> {
        self.reader = self.reader.with_response(args, console)?;
        Ok(self)
    }

    /// Sets a template, if there is one.
    pub(super) fn set_template(&mut self, template: Option<Templated>) {
        self.template = template.map(Arc::new);
    }

    /// Truncates conversations. They are written in the format of the input if `keeps_format` is
    /// set.
    pub(super) fn fit(&mut self, budget: Budget, keeps_format: bool) {
        self.budget = Some(budget);
        self.keeps_format = keeps_format;
    }

    /// Returns the converter for input in this format.
    ///
    /// # Errors
    ///
    /// The ids of this format are counted, and the encoding lacks some of its control tokens.
    pub(super) fn reading(&self, format: Format) -> Result<Cow<'_, Self>, Failure> {
        // Canonical JSON contains ids only because the user requested them.
        let keeps_ids = format == JSON && self.target == JSON && !self.reader.reads_ids();
        if self.reads == Some(format) {
            return Ok(Cow::Borrowed(self));
        }
        let mut converter = self.clone();
        converter.reads = Some(format);
        converter.render.ids |= keeps_ids;
        if self.keeps_format {
            converter.target = format;
        }
        if let Some(budget) = &mut converter.budget {
            budget.count_for(converter.target)?;
        }
        Ok(Cow::Owned(converter))
    }

    /// Sets the sidecar to restore, and whether lost data is kept for a sidecar.
    ///
    /// # Errors
    ///
    /// The sidecar cannot be read, or is malformed.
    pub(super) fn set_beside(
        &mut self,
        args: &BesideArgs,
        console: &Console,
    ) -> Result<(), Failure> {
        self.wants_sidecar = args.sidecar.is_some();
        let beside = args.with_sidecar.as_deref().map(|path| beside::read(path, console));
        self.beside = beside.transpose()?;
        Ok(())
    }

    /// Sets the options of rendering.
    ///
    /// # Errors
    ///
    /// The response formats cannot be read, or the template does not support an
    /// option.
    pub(super) fn set(&mut self, args: &RenderArgs, console: &Console) -> Result<(), Failure> {
        if args.keep_reasoning && args.profile.is_template() {
            let text = "the template decides which reasoning it keeps: remove --keep-reasoning";
            return Err(Failure::Usage(text.to_owned()));
        }
        self.render = args.options();
        if self.target.dialect().has_opening() {
            self.system_options = args.harmony.of_system();
        }
        self.render.keep_reasoning = self.purpose != Purpose::Prompt;
        if let Some(path) = &args.harmony.response_format {
            let mut prompt = args.harmony.prompt();
            prompt.response_formats = response_formats::read(path, console)?;
            self.render.set(prompt);
        }
        Ok(())
    }

    /// Begins prompts with the system message that the model expects, unless the user wants none.
    pub(super) fn begin_prompts(&mut self, bare: BareArgs) {
        bare.complete(self.target, &mut self.render);
    }

    /// Writes the ids of messages in JSON.
    pub(super) fn keep_ids(&mut self, keep: bool) {
        self.render.ids = keep;
    }

    /// Returns the form of token ids, if ids are written.
    pub(super) fn set_token_output(&mut self, shape: TokenOutput) {
        if let Some(tokens) = &mut self.tokens {
            tokens.shape = shape;
        }
    }

    /// Whether ids are written.
    pub(super) fn writes_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Whether it writes prompts, which nobody trains a model on.
    pub(super) fn writes_prompts(&self) -> bool {
        matches!(self.purpose, Purpose::Prompt | Purpose::PromptWithReasoning)
    }

    /// The carrier of the output.
    pub(super) fn carrier(&self) -> Carrier {
        match &self.template {
            Some(template) if template.is_json() => Carrier::Json,
            Some(_) => Carrier::Text,
            None if self.tokens.is_some() => Carrier::Json,
            None => self.target.carrier(),
        }
    }

    /// Returns the name of the output for an input file of this name, in a folder of outputs.
    pub(super) fn name_of_output(&self, input: &Path) -> PathBuf {
        let is_kept = self.keeps_format || file_name::is_jsonl(input);
        file_name::rename_unpacked(input, |name| match self.carrier() {
            _ if is_kept => name,
            Carrier::Json => name.with_extension("json"),
            _ if file_name::ends_with(&name, &["json"]) => name.with_extension("txt"),
            _ => name,
        })
    }

    /// Returns the written document and its losses.
    fn write(&self, document: &Document<'_>, kept: &KeptMessages) -> Result<Output, Refused> {
        if let Some(template) = &self.template {
            let written = template.write(document).map_err(|found| Refused::Found(Box::new(found)));
            return written.map(|(text, losses)| Output { text, losses, sidecar: None });
        }
        if let Some(tokens) = &self.tokens {
            let prepared = prepare(document, self.target, &self.render)?;
            return tokens.write(document, kept, prepared, &self.render, self.wants_sidecar);
        }
        let (conversion, sidecar) = match self.wants_sidecar {
            true => {
                let (conversion, sidecar) =
                    convert_with_sidecar(document, self.target, &self.render)?;
                (conversion, Some(sidecar))
            }
            false => (convert(document, self.target, &self.render)?, None),
        };
        Ok(Output { text: conversion.output, losses: conversion.losses, sidecar })
    }

    /// Converts the document `text`.
    pub(super) fn convert(&self, text: &str, format: Format) -> Converted {
        let (parsed, own) = self.reader.parse_as(text, format);
        let converted = if own == self.reads.unwrap_or(own) {
            self.converted(parsed)
        } else {
            match self.reading(own) {
                Ok(other) => other.converted(parsed),
                Err(failure) => {
                    let found = finding(Code::RenderUnsupported, Span::at(0), failure.to_string());
                    Converted { found: vec![found], ..Converted::default() }
                }
            }
        };
        // Only what was dropped makes a difference.
        let drops_text = converted.found.iter().any(|it| it.dropped == Some(Dropped::Text));
        let is_completion = drops_text && self.reader.is_completion(text, own);
        Converted { is_completion, ..converted }
    }

    /// Converts a parsed document.
    fn converted(&self, parsed: Parsed<'_>) -> Converted {
        let has_errors = parsed.has_errors();
        let mut converted = Converted { found: parsed.diagnostics, ..Converted::default() };
        let is_lost = self.reader.options().mode == Mode::Strict || is_empty(&parsed.document);
        if has_errors && is_lost {
            return converted;
        }
        let mut document = parsed.document;
        if let (Some(beside), Document::Conversation(conversation)) = (&self.beside, &mut document)
            && let Err(other) = beside.restore(conversation)
        {
            let help = "it does not belong to this conversation, so it is ignored";
            let found = finding(Code::ParseJson, Span::at(0), other.to_string());
            converted.found.push(found.help(help));
        }
        converted.found.extend(self.unused_options(&document));
        if self.tokens.is_some() {
            add_lints(&document, lint::OF_TOKENS, &mut converted.found);
        }
        let (mut document, left_out, mut kept) = self.prepare(document);
        converted.losses = left_out;
        if let Some(budget) = &self.budget
            && let Err(found) = self.fit_document(budget, &mut document, &mut kept, &mut converted)
        {
            converted.found.push(found);
            return converted;
        }
        if self.wants_sidecar && matches!(document, Document::Pair(_)) {
            let text = "a sidecar belongs to one conversation, and this is a pair of conversations";
            converted.found.push(finding(Code::RenderUnsupported, Span::at(0), text));
            return converted;
        }
        if let Document::Pair(pair) = &document
            && !self.writes_pairs()
        {
            self.convert_sides(pair, &mut converted);
            return converted;
        }
        match self.write(&document, &kept) {
            Ok(Output { text, mut losses, sidecar }) => {
                if self.writes_prompts() {
                    losses.retain(|loss| loss.lost != Lost::Untrained);
                }
                converted.output = Some(text);
                losses.iter_mut().for_each(|loss| kept.name(loss));
                converted.losses.extend(losses.into_iter().map(|loss| self.named(loss)));
                converted.sidecar = sidecar;
            }
            Err(Refused::Render(error)) => {
                let nothing = Conversation::default();
                let conversation = document.as_conversation().unwrap_or(&nothing);
                let mut found = error.to_diagnostic(conversation);
                found.message = kept.error(error).to_string();
                converted.found.push(found);
            }
            Err(Refused::Found(found)) => converted.found.push(*found),
        }
        converted
    }

    /// Reports options for the system message of a conversation that keeps its own.
    fn unused_options(&self, document: &Document<'_>) -> Option<Diagnostic> {
        let keeps_own = document.conversations().into_iter().any(has_system_message);
        if !keeps_own || self.system_options.is_empty() {
            return None;
        }
        let options = self.system_options.join(", ");
        let text = format!("no effect of {options}: the conversation has its own system message");
        let mut found = finding(Code::RenderUnsupported, Span::at(0), text);
        found.severity = Severity::Warning;
        Some(found)
    }

    /// Whether the output can contain a pair.
    fn writes_pairs(&self) -> bool {
        self.template.is_none() && self.tokens.is_none() && is_json(self.target)
    }

    /// Truncates a document.
    ///
    /// # Errors
    ///
    /// Truncation is impossible.
    fn fit_document(
        &self,
        budget: &Budget,
        document: &mut Document<'_>,
        kept: &mut KeptMessages,
        converted: &mut Converted,
    ) -> Result<(), Diagnostic> {
        let Document::Conversation(conversation) = document else {
            let text = "only a single conversation can be truncated";
            let found = finding(Code::RenderUnsupported, Span::at(0), text);
            return Err(found.help("convert the sides of a pair one by one"));
        };
        let mut losses = budget.fit(conversation, &self.render)?;
        let dropped = messages(&losses, |lost| lost == Lost::Truncated);
        losses.iter_mut().for_each(|loss| kept.name(loss));
        kept.leave_out(&dropped);
        converted.losses.extend(losses);
        Ok(())
    }

    /// Converts each side of a pair. The output is an object with both: `chosen` and `rejected`.
    fn convert_sides(&self, pair: &Pair<'_>, converted: &mut Converted) {
        // A sidecar belongs to one conversation.
        let converter = match self.wants_sidecar || self.beside.is_some() {
            true => Cow::Owned(Self { wants_sidecar: false, beside: None, ..self.clone() }),
            false => Cow::Borrowed(self),
        };
        let [chosen, mut rejected] = pair
            .sides()
            .map(|(_, side)| converter.converted(Parsed::new(side.clone().into(), Vec::new())));
        rejected.found.retain(|found| !chosen.found.contains(found));
        converted.found.extend(chosen.found.into_iter().chain(rejected.found));
        converted.losses.extend(join_losses(pair, chosen.losses, rejected.losses));
        let (Some(chosen), Some(rejected)) = (chosen.output, rejected.output) else { return };
        if let Some(tokens) = &self.tokens
            && matches!(tokens.shape, TokenOutput::Table { .. })
        {
            converted.output =
                Some(format!("== chosen ==\n{chosen}\n\n== rejected ==\n{rejected}"));
            return;
        }
        converted.is_pair = true;
        let mut output = String::with_capacity(chosen.len() + rejected.len() + 32);
        for (key, text) in [("{\"chosen\":", chosen), (",\"rejected\":", rejected)] {
            output.push_str(key);
            match self.carrier() {
                Carrier::Json => output.push_str(&text),
                _ => {
                    output.push('"');
                    escape(&text, &mut output);
                    output.push('"');
                }
            }
        }
        output.push('}');
        converted.output = Some(output);
    }

    /// Reports a loss. The loss of earlier reasoning in a prompt has the same name for all writers.
    fn named(&self, mut loss: Loss) -> Loss {
        let is_template =
            matches!(self.render.profile, Profile::HfTemplate | Profile::HfTemplateStrings);
        let is_history = matches!(loss.lost, Lost::Analysis | Lost::Commentary);
        if self.purpose == Purpose::Prompt && is_template && is_history {
            loss.lost = Lost::History;
        }
        loss
    }

    /// Returns the document for the purpose, the losses of this step, and the indices of the
    /// remaining messages.
    fn prepare<'t>(&self, mut document: Document<'t>) -> (Document<'t>, Vec<Loss>, KeptMessages) {
        if let (Some(tools), Document::Conversation(conversation)) = (&self.tools, &mut document) {
            conversation.tools.clone_from(tools);
        }
        self.purpose.prepare(document, self.target, &self.render)
    }
}

/// Returns the messages of the losses of this kind.
fn messages(losses: &[Loss], is_such: impl Fn(Lost) -> bool) -> Vec<usize> {
    losses.iter().filter(|loss| is_such(loss.lost)).filter_map(|loss| loss.message).collect()
}
