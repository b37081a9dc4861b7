//! Files in which each line is a document, worked on by all cores.

use std::num::NonZeroUsize;
use std::sync::Arc;

use openchatml::{Code, Diagnostic, Format, Span};

use crate::args::{Choice, JsonlArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{
    Batch, Batches, Decoded, Opened, Page, Slot, document_of_line, finding, format_of_lines,
};
use crate::jobs;

/// A JSONL file of which the format is known.
pub(crate) struct Feed {
    batches: Batches,
    jobs: Option<NonZeroUsize>,
    lines: Lines,
}

/// How the lines of a file are read.
struct Lines {
    name: Arc<str>,
    format: Format,
    /// Whether that was detected: then a line may be in another one.
    is_auto: bool,
    most: usize,
}

/// A line of a JSONL file that is not blank.
pub(crate) struct Entry<'e> {
    /// The line.
    pub(crate) page: &'e Page<'e>,
    /// The line as it stands in the file, with the line break.
    pub(crate) raw: &'e [u8],
    /// What is wrong with the line itself.
    pub(crate) found: Vec<Diagnostic>,
    /// The document that it holds, if it holds one.
    pub(crate) slot: Option<Slot<'e>>,
    /// The format to read it in.
    pub(crate) format: Format,
}

impl Feed {
    /// Begins to read lines. `None` if there are none.
    ///
    /// # Errors
    ///
    /// It cannot be read, or nobody can say which format its first lines are in.
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
        let is_auto = from == Choice::Auto;
        let lines = |format| Lines { name: name.into(), format, is_auto, most };
        Ok(format.map(|format| Self { batches, jobs: args.jobs, lines: lines(format) }))
    }

    /// The format that was named, or the one of most lines.
    pub(crate) fn format(&self) -> Format {
        self.lines.format
    }

    /// Works on all lines at once, batch by batch, and takes the results in order.
    ///
    /// `line` is given each line that is not blank, and `blank` each that is, as it stands there.
    ///
    /// # Errors
    ///
    /// What reading or `take` failed with.
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
    /// Looks at each line of a batch; at nothing but the line if it is blank.
    fn each(&self, batch: &Batch, mut visit: impl FnMut(Result<Entry<'_>, &[u8]>)) {
        for line in batch.lines() {
            if line.is_blank() {
                visit(Err(line.raw));
                continue;
            }
            let decoded = Decoded::new(line.bytes, line.offset);
            let page = Page::new(&self.name, &decoded, line.number);
            let mut found = decoded.found.clone();
            let (mut slot, mut format) = (None, self.format);
            if batch.is_too_long || line.bytes.len() > self.most {
                let message = format!("the line exceeds the limit `input_bytes` of {}", self.most);
                found.push(finding(Code::Limit, Span::at(0), message));
            } else if !decoded.is_no_text() {
                match self.document(page.text) {
                    Ok(document) => (slot, format) = (Some(document.0), document.1),
                    Err(wrong) => found.push(*wrong),
                }
            }
            visit(Ok(Entry { page: &page, raw: line.raw, found, slot, format }));
        }
    }

    /// The document in a line, and the format to read it in: its own if that is certain.
    fn document<'l>(&self, line: &'l str) -> Result<(Slot<'l>, Format), Box<Diagnostic>> {
        match self.is_auto {
            true => document_of_line(line, self.format),
            false => Ok((Slot::of_line(line, self.format)?, self.format)),
        }
    }
}
