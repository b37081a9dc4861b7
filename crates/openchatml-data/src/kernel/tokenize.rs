//! Conversations as token ids.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int8Array, Int32Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use openchatml::convert::{Loss, Lost, Weighed, prepare};
use openchatml::{
    Code, Control, Conversation, Diagnostic, Document, Message, RenderError, Severity, Span,
    Weight, lint,
};
use openchatml_tokens::{Rendered, Tokenizer, TruncateError, Truncated, Truncation};

use super::columns::{Cell, Offsets, Structs, item, list_field, number, structs_field, word};
use super::convert::pair;
use super::options::{KernelOptions, SharedEncoding, TokenizeOptions, TooLong};
use super::task::{Columns, Outcome, ReadDocument};
use crate::record::{KeptMessages, add_lints, finding};

/// The encoding of a thread.
pub(super) type OneTokenizer = Tokenizer<Box<dyn SharedEncoding>>;

/// The columns `ids`, `mask`, `weights` and `spans`.
pub(super) struct Ids<'k> {
    options: &'k KernelOptions,
    tokenize: &'k TokenizeOptions,
    tokenizer: &'k OneTokenizer,
    ids: Vec<i32>,
    mask: Vec<i8>,
    weights: Vec<f32>,
    /// The weights are null if the mask says everything.
    has_weights: NullBufferBuilder,
    ends: Offsets,
    ends_of_weights: Offsets,
    spans: Structs,
}

/// The reason why a conversation has no ids.
enum Refused {
    Render(RenderError),
    Found(Box<Diagnostic>),
}

impl From<RenderError> for Refused {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

/// The ids of a conversation.
struct Written {
    rendered: Rendered,
    mask: Vec<bool>,
    weights: Option<Vec<f64>>,
    losses: Vec<Loss>,
}

fn span_fields() -> Fields {
    let numbers = ["start", "end", "header", "body", "body_end"].map(|it| number(it, false));
    let mut fields = vec![number("message", true)];
    fields.extend(numbers);
    fields.extend([word("role", true), word("channel", true)]);
    fields.into()
}

impl<'k> Ids<'k> {
    pub(super) fn new(
        options: &'k KernelOptions,
        tokenize: &'k TokenizeOptions,
        tokenizer: &'k OneTokenizer,
    ) -> Self {
        Self {
            options,
            tokenize,
            tokenizer,
            ids: Vec::new(),
            mask: Vec::new(),
            weights: Vec::new(),
            has_weights: NullBufferBuilder::new(0),
            ends: Offsets::new(),
            ends_of_weights: Offsets::new(),
            spans: Structs::new(span_fields()),
        }
    }

    pub(super) fn fields() -> Vec<Field> {
        vec![
            list_field("ids", item(DataType::Int32), false),
            list_field("mask", item(DataType::Int8), false),
            list_field("weights", item(DataType::Float32), true),
            structs_field("spans", span_fields()),
        ]
    }

    /// Writes a conversation as ids; drops its oldest exchanges if it is too long and that is
    /// wanted.
    fn write(
        &mut self,
        document: &mut Document<'_>,
        kept: &mut KeptMessages,
    ) -> Result<Written, Refused> {
        let mut written = self.rendered(document, kept)?;
        let Some(most) = self.tokenize.max_length else { return Ok(written) };
        let count = written.rendered.ids.len();
        if count <= most {
            return Ok(written);
        }
        let too_long = |count| {
            let text = format!("the conversation has {count} ids, but the limit is {most}");
            Refused::Found(Box::new(finding(Code::Limit, Span::at(0), text)))
        };
        let (TooLong::Truncate, Document::Conversation(conversation)) =
            (self.tokenize.too_long, &mut *document)
        else {
            return Err(too_long(count));
        };
        let last = conversation.messages.len().saturating_sub(1);
        let mut losses = self.truncate(conversation, most)?;
        let dropped: Vec<_> = losses.iter().filter_map(|loss| loss.message).collect();
        if dropped.contains(&last) {
            // Without its last answer, it is another sample.
            return Err(too_long(count));
        }
        losses.iter_mut().for_each(|loss| kept.name(loss));
        kept.leave_out(&dropped);
        written = self.rendered(document, kept)?;
        if written.rendered.ids.len() > most {
            return Err(too_long(written.rendered.ids.len()));
        }
        losses.append(&mut written.losses);
        written.losses = losses;
        Ok(written)
    }

    /// Drops the oldest exchanges of a conversation. No message is cut.
    fn truncate(
        &self,
        conversation: &mut Conversation<'_>,
        most: usize,
    ) -> Result<Vec<Loss>, Refused> {
        let mut truncation = Truncation::new(most);
        truncation.message = None;
        let truncated = truncation.truncate(self.tokenizer, conversation, &self.options.render);
        let truncated = truncated.map_err(|error| match error {
            TruncateError::Render(error) => Refused::Render(error),
            error => {
                let found = finding(Code::Limit, Span::at(0), error.to_string());
                Refused::Found(Box::new(found))
            }
        })?;
        let Truncated { conversation: left, dropped, .. } = truncated;
        let loss = |at: usize| Loss::new(Some(at), conversation.messages[at].span, Lost::Truncated);
        let losses = dropped.into_iter().map(loss).collect();
        *conversation = left;
        Ok(losses)
    }

    fn rendered(
        &mut self,
        document: &Document<'_>,
        kept: &KeptMessages,
    ) -> Result<Written, Refused> {
        let options = &self.options.render;
        let mut prepared = prepare(document, self.tokenize.tokens.format.into(), options)?;
        let weighed = prepared.weighed(document);
        let mut losses = std::mem::take(&mut prepared.losses);
        let rendered = self.tokenizer.render_prepared(&prepared, options)?;
        if !self.tokenize.tokens.may_spell {
            refuse_spelled(&rendered.spelled, self.tokenize)?;
        }
        let nothing = Conversation::default();
        let conversation = match &weighed {
            None => prepared.document.as_conversation().unwrap_or(&nothing),
            Some(Weighed { conversation, joined, .. }) => {
                // The mask contains the weights, except for joined messages.
                let joined = |loss: &Loss| loss.message.is_some_and(|at| joined.contains(&at));
                losses.retain(|loss| !loss.lost.is_of_weights() || joined(loss));
                conversation
            }
        };
        losses.iter_mut().for_each(|loss| kept.name(loss));
        let mask = self.tokenize.mask.mask(conversation, &rendered);
        let is_fraction = |message: &Message<'_>| {
            message.weight.is_some_and(|it| it != Weight::ZERO && it != Weight::ONE)
        };
        let weights = conversation.messages.iter().any(is_fraction);
        let weights = weights.then(|| self.tokenize.mask.weights(conversation, &rendered));
        let origins = |at: usize| prepared.origins.parts(at).find_map(|part| kept.number(part));
        self.spans_of(&rendered, conversation, origins);
        Ok(Written { rendered, mask, weights, losses })
    }

    /// Replaces the spans of the current row.
    fn spans_of(
        &mut self,
        rendered: &Rendered,
        conversation: &Conversation<'_>,
        origin: impl Fn(usize) -> Option<usize>,
    ) {
        self.spans.restart_row();
        for span in &rendered.spans {
            let ids = span.ids();
            let message = conversation.messages.get(span.message);
            let number = message.and_then(|_| origin(span.message));
            let at = |at: usize| Cell::Number(Some(at));
            self.spans.push([
                Cell::Number(number),
                at(ids.start),
                at(ids.end),
                at(span.header.start),
                at(span.body.start),
                at(span.body.end),
                Cell::Word(message.map(|message| message.role.as_str())),
                Cell::Word(message.and_then(|it| it.channel).map(|channel| channel.as_str())),
            ]);
        }
    }

    fn append(&mut self, written: &Written) {
        let as_number = |id: &u32| i32::try_from(*id).unwrap_or(i32::MAX);
        self.ids.extend(written.rendered.ids.iter().map(as_number));
        self.mask.extend(written.mask.iter().map(|trained| i8::from(*trained)));
        self.ends.end(self.ids.len());
        self.has_weights.append(written.weights.is_some());
        #[expect(
            clippy::cast_possible_truncation,
            reason = "weights of training are single floats"
        )]
        for weight in written.weights.iter().flatten() {
            self.weights.push(*weight as f32);
        }
        self.ends_of_weights.end(self.weights.len());
        self.spans.end_row();
    }
}

impl Columns for Ids<'_> {
    fn push(&mut self, mut read: ReadDocument<'_>) -> Outcome {
        self.spans.restart_row();
        if read.is_lost(self.options) {
            let _ = self.options.consent.judge(&mut read.found, &mut Vec::new());
            return Outcome::refused(read.found);
        }
        if matches!(read.document, Document::Pair(_)) {
            return read.refuse_for(pair("a row of ids has one"));
        }
        read.found.extend(read.slot.dropped_fields());
        add_lints(&read.document, lint::OF_TOKENS, &mut read.found);
        let format = self.tokenize.tokens.format.into();
        let (mut document, mut losses, mut kept) = read.prepare(format, self.options);
        let mut written = match self.write(&mut document, &mut kept) {
            Ok(written) => written,
            Err(Refused::Found(found)) => return read.refuse_for(*found),
            Err(Refused::Render(error)) => {
                read.document = document;
                return read.refuse(error, &kept);
            }
        };
        losses.append(&mut written.losses);
        // A model would learn what is wrong in it.
        let is_wrong = read
            .found
            .iter()
            .any(|found| found.severity == Severity::Error && !lint::PAIRING.contains(&found.code));
        let mut outcome = read.judge(losses, self.options);
        outcome.is_written &= !is_wrong;
        if outcome.is_written {
            self.append(&written);
        }
        outcome
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError> {
        self.spans.restart_row();
        let ids = Arc::new(Int32Array::from(self.ids));
        let mask = Arc::new(Int8Array::from(self.mask));
        let ends = self.ends.again();
        let weights = Arc::new(Float32Array::from(self.weights));
        let nulls = self.has_weights.finish();
        Ok(vec![
            ends.list(ids, item(DataType::Int32), None)?,
            self.ends.list(mask, item(DataType::Int8), None)?,
            self.ends_of_weights.list(weights, item(DataType::Float32), nulls)?,
            self.spans.finish()?,
        ])
    }
}

/// Refuses a document for which control tokens were written as ordinary text.
fn refuse_spelled(spelled: &[Control], options: &TokenizeOptions) -> Result<(), Refused> {
    if spelled.is_empty() {
        return Ok(());
    }
    let controls = options.tokens.format.controls();
    let names: Vec<_> = spelled
        .iter()
        .filter_map(|control| controls.spelling(*control))
        .map(|it| format!("`{it}`"))
        .collect();
    let text = format!(
        "this document needs {}, but the encoding can only write it as ordinary text",
        names.join(", ")
    );
    let help = "name an encoding with ids for all control tokens with `--encoding`, or allow ordinary text with `--spell-control-tokens`";
    let found = finding(Code::RenderUnsupported, Span::at(0), text).help(help);
    Err(Refused::Found(Box::new(found)))
}
