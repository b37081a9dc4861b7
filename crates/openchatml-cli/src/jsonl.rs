//! Files with one document per line, processed on all cores.

use std::num::NonZeroUsize;
use std::sync::Arc;

use openchatml::{Code, Diagnostic, Format, Span};

use crate::args::{Choice, JsonlArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{
    Batch, Batches, Decoded, Opened, Page, RecordFormat, Slot, document_of_record, finding,
    format_of_lines,
};
use crate::jobs;

/// A JSONL file whose format is known.
pub(crate) struct LineReader {
    batches: Batches,
    jobs: Option<NonZeroUsize>,
    lines: Lines,
}

/// How to read the lines of a file.
struct Lines {
    name: Arc<str>,
    format: RecordFormat,
    most: usize,
}

/// A line of a JSONL file that is not blank.
pub(crate) struct Entry<'e> {
    /// The line.
    pub(crate) page: &'e Page<'e>,
    /// The line with its line break, unchanged.
    pub(crate) raw: &'e [u8],
    /// The diagnostics of the line itself.
    pub(crate) found: Vec<Diagnostic>,
    /// The document of the line, if there is one.
    pub(crate) slot: Option<Slot<'e>>,
    /// The format to read it in.
    pub(crate) format: Format,
}

impl LineReader {
    /// Starts to read lines. Returns `None` if there are none.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the format of its first lines is unknown.
    pub(crate) fn open(
        name: String,
        opened: Opened,
        from: Choice,
        most: usize,
        args: &JsonlArgs,
        console: &Console,
    ) -> Result<Option<Self>, Failure> {
        let mut batches = Batches::new(opened, most);
        let format = format_of_lines(from, &mut batches, &name, console)?;
        let lines = |format| Lines { name: name.into(), format, most };
        Ok(format.map(|format| Self { batches, jobs: args.jobs, lines: lines(format) }))
    }

    /// The named format, that of most lines, or that of the first line.
    pub(crate) fn format(&self) -> Format {
        self.lines.format.first()
    }

    /// Processes all lines, batch by batch, and returns the results in order.
    ///
    /// `line` receives each line that is not blank, and `blank` each blank line, unchanged.
    ///
    /// # Errors
    ///
    /// Reading or `take` failed.
    pub(crate) fn run<T: Default + Send + 'static>(
        self,
        console: &Console,
        line: impl Fn(&Entry<'_>, &mut T) + Send + Sync + 'static,
        blank: fn(&[u8], &mut T),
        take: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { batches, jobs, lines } = self;
        let work = move |batch: &Batch| {
            let mut result = T::default();
            lines.each(batch, |entry| match entry {
                Ok(entry) => line(&entry, &mut result),
                Err(raw) => blank(raw, &mut result),
            });
            result
        };
        let done = jobs::run(batches, jobs, work, take);
        console.stop_progress();
        done
    }
}

impl Lines {
    /// Processes each line of a batch. For a blank line, only the line is used.
    fn each(&self, batch: &Batch, mut visit: impl FnMut(Result<Entry<'_>, &[u8]>)) {
        for line in batch.lines() {
            if line.is_blank() {
                visit(Err(line.raw));
                continue;
            }
            let decoded = Decoded::new(line.bytes, line.offset);
            let page = Page::new(&self.name, &decoded, line.number);
            let mut found = decoded.found.clone();
            let (mut slot, mut format) = (None, self.format.first());
            if batch.is_too_long || line.bytes.len() > self.most {
                let message = format!("the line exceeds the limit `input_bytes` of {}", self.most);
                found.push(finding(Code::Limit, Span::at(0), message));
            } else if !decoded.is_no_text() {
                match document_of_record(page.text, self.format) {
                    Ok(document) => (slot, format) = (Some(document.0), document.1),
                    Err(wrong) => found.push(*wrong),
                }
            }
            visit(Ok(Entry { page: &page, raw: line.raw, found, slot, format }));
        }
    }
}
