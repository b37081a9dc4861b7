//! Rejected rows, with their places in the inputs.

use openchatml::{Code, Diagnostic, Dropped, Severity, Span};

use super::options::OnReject;
use crate::error::DataError;
use crate::input::{LongLine, RowPlace};
use crate::record::{Decoded, Page, finding, reject};

/// The rejected rows of a batch, as lines of JSON.
#[derive(Debug, Default)]
pub(crate) struct Rejects {
    pub(crate) lines: String,
    pub(crate) count: u64,
}

impl Rejects {
    /// Adds a rejected row.
    ///
    /// # Errors
    ///
    /// The user wants to stop.
    pub(crate) fn add(
        &mut self,
        file: &str,
        place: RowPlace,
        record: &[u8],
        found: &[Diagnostic],
        on_reject: OnReject,
    ) -> Result<(), DataError> {
        if on_reject == OnReject::Stop {
            let first = found.iter().find(|found| found.severity == Severity::Error);
            let what = first
                .or(found.first())
                .map_or(String::new(), |found| format!("{}: {}", found.code, found.message));
            return Err(DataError::Rejected { file: file.to_owned(), row: place.row, what });
        }
        let [row, byte] =
            [place.row, place.byte].map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        let decoded = Decoded::record(record, byte);
        let page = Page::new(file, &decoded, row);
        self.lines.push_str(&reject(&page, found));
        self.count += 1;
        Ok(())
    }

    /// Adds a line that is too long to be read.
    ///
    /// # Errors
    ///
    /// The user wants to stop.
    pub(crate) fn add_long(
        &mut self,
        file: &str,
        line: &LongLine,
        limit: usize,
        on_reject: OnReject,
    ) -> Result<Diagnostic, DataError> {
        let text = format!(
            "the record has {} bytes, which exceeds the limit of {limit}; only its beginning is kept",
            line.bytes
        );
        let mut found = finding(Code::Limit, Span::at(0), text);
        found.help = Some("raise the limit with `--memory`".to_owned());
        found.dropped = Some(Dropped::Limit);
        self.add(file, line.place, &line.beginning, std::slice::from_ref(&found), on_reject)?;
        Ok(found)
    }
}
