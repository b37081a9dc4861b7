//! Documents as token ids.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use openchatml::{Document, Format, RenderError, RenderOptions};
use openchatml_tokens::{MaskPolicy, MessageSpan, Rendered, Tokenizer};

use crate::encodings::{Encodings, OneEncoding};

/// Writes documents as token ids, on several threads at once.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    format: Format,
    shape: Shape,
    encodings: Encodings,
    /// Tokenizers that nobody uses at the moment: each may have a cache of its own.
    idle: Arc<Mutex<Vec<Tokenizer<OneEncoding>>>>,
}

/// What is written of the ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Ids,
    Mask,
    Count,
}

impl Tokens {
    pub(super) fn new(format: Format, shape: Shape, encodings: Encodings) -> Self {
        Self { format, shape, encodings, idle: Arc::default() }
    }

    /// The document as JSON on one line.
    ///
    /// # Errors
    ///
    /// What the format cannot say.
    pub(super) fn write(
        &self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<String, RenderError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let tokenizer = known.unwrap_or_else(|| {
            Tokenizer::new(self.format, self.encodings.one()).expect("a text format")
        });
        let rendered = tokenizer.render(document, options);
        idle().push(tokenizer);
        let rendered = rendered?;
        let mut out = String::with_capacity(rendered.ids.len() * 7);
        match self.shape {
            Shape::Ids => list(&mut out, &rendered.ids),
            Shape::Count => {
                let _ = write!(out, "{}", rendered.ids.len());
            }
            Shape::Mask => mask(&mut out, document, &rendered),
        }
        Ok(out)
    }
}

fn list(out: &mut String, ids: &[u32]) {
    out.push('[');
    for (index, id) in ids.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        let _ = write!(out, "{id}");
    }
    out.push(']');
}

fn mask(out: &mut String, document: &Document<'_>, rendered: &Rendered) {
    let conversation = document.as_conversation().cloned().unwrap_or_default();
    let mask = MaskPolicy::default().mask(&conversation, rendered);
    out.push_str("{\"ids\":");
    list(out, &rendered.ids);
    out.push_str(",\"mask\":");
    list(out, &mask.into_iter().map(u32::from).collect::<Vec<_>>());
    out.push_str(",\"spans\":[");
    for (index, span) in rendered.spans.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        self::span(out, span);
    }
    out.push_str("]}");
}

fn span(out: &mut String, span: &MessageSpan) {
    let ids = span.ids();
    let _ = write!(
        out,
        "{{\"message\":{},\"start\":{},\"end\":{},\"header\":{},\"body\":{},\"body_end\":{}}}",
        span.message, ids.start, ids.end, span.header.start, span.body.start, span.body.end,
    );
}
