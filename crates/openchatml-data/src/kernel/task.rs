//! What the tasks of a kernel have in common.

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use openchatml::convert::{Loss, Lost};
use openchatml::{Diagnostic, Document, Format, Mode, RenderError};

use super::options::KernelOptions;
use crate::record::{KeptMessages, Slot, is_empty};

/// A document that was read, with everything that was found in its record.
pub(super) struct ReadDocument<'r> {
    pub(super) document: Document<'r>,
    pub(super) found: Vec<Diagnostic>,
    pub(super) slot: Slot<'r>,
    /// Whether the reader has reported errors.
    pub(super) has_errors: bool,
}

/// What became of a record.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) found: Vec<Diagnostic>,
    pub(super) losses: Vec<Loss>,
    pub(super) is_written: bool,
}

/// Writes the columns of a task, row by row.
pub(super) trait Columns {
    /// Adds a row for a document, or nothing if the outcome is not written.
    fn push(&mut self, read: ReadDocument<'_>) -> Outcome;

    /// Adds a row for a record that has no document, or nothing if the outcome is not written.
    fn push_unread(&mut self, found: Vec<Diagnostic>) -> Outcome {
        Outcome { found, ..Outcome::default() }
    }

    /// Returns the columns.
    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError>;
}

impl Outcome {
    /// A record that is written.
    pub(super) fn written(found: Vec<Diagnostic>) -> Self {
        Self { found, losses: Vec::new(), is_written: true }
    }

    /// A record that is not written because of these errors.
    pub(super) fn refused(found: Vec<Diagnostic>) -> Self {
        Self { found, ..Self::default() }
    }
}

impl<'r> ReadDocument<'r> {
    /// Whether there is nothing to write: the document is empty because of errors, or errors are
    /// refused.
    pub(super) fn is_lost(&self, options: &KernelOptions) -> bool {
        self.has_errors && (options.read.mode == Mode::Strict || is_empty(&self.document))
    }

    /// Adds the diagnostic of a document that cannot be written.
    pub(super) fn refuse(mut self, error: RenderError, kept: &KeptMessages) -> Outcome {
        let nothing = openchatml::Conversation::default();
        let conversation = self.document.as_conversation().unwrap_or(&nothing);
        let mut found = error.to_diagnostic(conversation);
        found.message = kept.error(error).to_string();
        self.slot.place(&mut found);
        self.found.push(found);
        Outcome::refused(self.found)
    }

    /// Adds a diagnostic, and refuses the document.
    pub(super) fn refuse_for(mut self, mut found: Diagnostic) -> Outcome {
        self.slot.place(&mut found);
        self.found.push(found);
        Outcome::refused(self.found)
    }

    /// Returns the document for the purpose of the output in a format, with its losses and the
    /// messages that are left.
    pub(super) fn prepare(
        &mut self,
        to: Format,
        options: &KernelOptions,
    ) -> (Document<'r>, Vec<Loss>, KeptMessages) {
        let mut document = std::mem::take(&mut self.document);
        if let (Some(tools), Document::Conversation(conversation)) = (&options.tools, &mut document)
        {
            conversation.tools.clone_from(tools);
        }
        options.purpose.prepare(document, to, &options.render)
    }

    /// Decides whether the document is written: whether everything that would be lost is allowed.
    pub(super) fn judge(mut self, mut losses: Vec<Loss>, options: &KernelOptions) -> Outcome {
        for loss in &mut losses {
            loss.span = self.slot.span(loss.span);
        }
        losses.extend(self.slot.lost_fields());
        if options.column.is_none() && !options.keep.is_empty() {
            let is_kept = |it: &str| options.keep.iter().any(|name| name == it);
            let is_column = |it: &Loss| it.lost == Lost::Field && it.message.is_none();
            losses.retain(|it| !(is_column(it) && it.detail.as_deref().is_some_and(is_kept)));
        }
        let refused = options.consent.judge(&mut self.found, &mut losses);
        let is_strict = options.read.mode == Mode::Strict;
        let is_error = |found: &Diagnostic| found.severity == openchatml::Severity::Error;
        let is_written = refused.is_empty() && !(is_strict && self.found.iter().any(is_error));
        Outcome { found: self.found, losses, is_written }
    }
}
