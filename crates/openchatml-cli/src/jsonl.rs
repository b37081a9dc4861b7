//! Files in which each line is a document, worked on by all cores.

use std::num::NonZeroUsize;
use std::sync::Arc;

use openchatml::{Code, Diagnostic, Format, Span, recognize};

use crate::args::{Choice, JsonlArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{
    Batch, Batches, Decoded, Opened, Page, Slot, finding, format_of_lines, of_line,
};
use crate::jobs;

/// A JSONL file of which the format is known.
pub(crate) struct Feed {
    name: Arc<str>,
    first: Batch,
    batches: Batches,
    format: Format,
    most: usize,
    jobs: Option<NonZeroUsize>,
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
        let Some(first) = batches.next()? else { return Ok(None) };
        let format = format_of_lines(from, &first, &name, console)?;
        Ok(Some(Self { name: name.into(), first, batches, format, most, jobs: args.jobs }))
    }

    /// The format of its documents.
    pub(crate) fn format(&self) -> Format {
        self.format
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
        line: impl Fn(&Entry<'_>, Format, &mut T) + Send + Sync + 'static,
        blank: fn(&[u8], &mut T),
        take: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { name, first, batches, format, most, jobs } = self;
        let work = move |batch: &Batch| {
            let mut result = T::default();
            each(batch, &name, format, most, |entry| match entry {
                Ok(entry) => line(&entry, format, &mut result),
                Err(raw) => blank(raw, &mut result),
            });
            result
        };
        let done = jobs::run(first, batches, jobs, work, take);
        console.stop_progress();
        done
    }
}

/// Looks at each line of a batch; at nothing but the line if it is blank.
fn each(
    batch: &Batch,
    name: &str,
    format: Format,
    most: usize,
    mut visit: impl FnMut(Result<Entry<'_>, &[u8]>),
) {
    for line in batch.lines() {
        if line.bytes.trim_ascii().is_empty() {
            visit(Err(line.raw));
            continue;
        }
        let decoded = Decoded::new(line.bytes, line.offset);
        let page = Page::new(name, &decoded, line.number);
        let mut found = decoded.found.clone();
        let slot = if batch.is_too_long || line.bytes.len() > most {
            let message = format!("the line exceeds the limit `input_bytes` of {most}");
            found.push(finding(Code::Limit, Span::at(0), message));
            None
        } else if decoded.is_no_text() {
            None
        } else {
            match Slot::of_line(page.text, format) {
                Ok(slot) => Some(slot),
                Err(mut wrong) => {
                    name_format(&mut wrong, page.text, format);
                    found.push(*wrong);
                    None
                }
            }
        };
        visit(Ok(Entry { page: &page, raw: line.raw, found, slot }));
    }
}

/// Says what a line is instead that does not hold a text in `format`.
fn name_format(wrong: &mut Diagnostic, line: &str, format: Format) {
    let other = match recognize([line]) {
        Some(recognized) => recognized.name.to_owned(),
        None => match of_line(line) {
            Some(best) => best.format.to_string(),
            None => return,
        },
    };
    wrong.message = format!("this line is {other}, and others are texts in {format}");
    wrong.help = Some("put such lines in a file of their own".to_owned());
}
