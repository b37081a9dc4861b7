//! Reads a transcript in order to continue it.

use openchatml::convert::convert;
use openchatml::{
    Code, Conversation, Diagnostic, Document, End, Format, ReadOptions, RenderOptions, Severity,
    Span, parse,
};

use super::completion_reader::is_partial;
use super::layout::TranscriptLayout;

/// A transcript that a session can continue.
///
/// A session rewrites its transcript. Some errors remain the same when the transcript is written
/// again, such as a call whose arguments are not JSON: the model received an error reply and
/// continued. Other errors would be lost or would look certain afterwards.
///
/// ```
/// use openchatml_tools::Transcript;
///
/// let format = "openchatml-2.2".parse()?;
/// let call = "<|start|>assistant to=functions.now call_id=n1<|channel|>commentary\
///     <|constrain|>json<|message|>oops";
/// let read = |end| Transcript::read(&format!("version: 2.2\n\n{call}{end}"), format, &Default::default());
/// let transcript = read("<|call|>\n");
/// assert!(transcript.has_errors() && transcript.is_faithful);
/// // It was cut off. Written again, it would have an end.
/// assert!(!read("").is_faithful);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transcript {
    /// The conversation. `None` for another kind of document.
    pub conversation: Option<Conversation<'static>>,
    /// The diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether a rewritten transcript has the same content and the same errors. Only then may a
    /// [`Session`](crate::Session) continue it.
    pub is_faithful: bool,
    /// The layout, if the transcript is JSON.
    pub layout: TranscriptLayout,
}

impl Transcript {
    /// Reads a transcript. If it has errors, it is written and read once more.
    pub fn read(text: &str, format: Format, options: &ReadOptions) -> Self {
        let parsed = parse(text, format, options);
        let has_errors = parsed.has_errors();
        let open_call = open_call(&parsed.document, text);
        let is_faithful = open_call.is_none()
            && (!has_errors || stays(&parsed.document, &parsed.diagnostics, format, options));
        let mut diagnostics = parsed.diagnostics;
        // Readers of text report it, those of data do not.
        diagnostics.extend(open_call.filter(|_| !has_errors));
        let conversation = match parsed.document {
            Document::Conversation(conversation) => Some(conversation.into_owned()),
            _ => None,
        };
        Self { conversation, diagnostics, is_faithful, layout: TranscriptLayout::of(text, format) }
    }

    /// Whether the last message is a truncated answer. A session asks for it again.
    pub fn is_answer_open(&self) -> bool {
        let conversation = self.conversation.as_ref();
        conversation.and_then(|it| it.messages.last()).is_some_and(is_partial)
    }

    /// Whether the transcript has errors.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }
}

/// Returns the diagnostic for a call that is incomplete, such as one inside of which a service
/// stopped. A reply would make it look complete.
fn open_call(document: &Document<'_>, text: &str) -> Option<Diagnostic> {
    let messages = &document.as_conversation()?.messages;
    let call = messages.iter().find(|message| message.is_call() && message.end == End::Open)?;
    let span = Span::new(call.span.start.min(text.len()), call.span.end.min(text.len()));
    let found = Code::StreamTruncated.at(span, "the call is incomplete");
    Some(found.help("it is not run: remove it, or request the response again"))
}

/// Whether the document and its errors stay the same when it is written and read again.
fn stays(
    document: &Document<'_>,
    found: &[Diagnostic],
    format: Format,
    options: &ReadOptions,
) -> bool {
    // A rewritten message would no longer look incomplete. Only an answer is requested again.
    let last = document.as_conversation().and_then(|it| it.messages.last());
    let is_answer = last.is_some_and(is_partial);
    let ends_it = |found: &Diagnostic| {
        found.dropped.is_some() || found.code == Code::StreamTruncated && !is_answer
    };
    if found.iter().any(ends_it) {
        return false;
    }
    let Ok(converted) = convert(document, format, &RenderOptions::default()) else { return false };
    if !converted.losses.is_empty() {
        return false;
    }
    let again = parse(&converted.output, format, options);
    errors(&again.diagnostics) == errors(found) && again.document == *document
}

fn errors(found: &[Diagnostic]) -> Vec<(Code, &str)> {
    let errors = found.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| (found.code, &*found.message)).collect()
}
