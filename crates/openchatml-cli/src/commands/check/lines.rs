//! Checks a file line by line.

use openchatml::{Applicability, Code, Diagnostic, Format, fix, lint};

use super::findings::{Findings, Manner};
use super::lints::Lints;
use crate::input::{Decoded, Page, Slot};
use crate::jsonl::Entry;
use crate::reader::Reader;

/// How to check each line of a file.
pub(super) struct Plan {
    pub(super) reader: Reader,
    pub(super) manner: Manner,
    pub(super) lints: Lints,
    /// The maximum applicability of the fixes to apply, if lines are fixed.
    pub(super) fixes: Option<Applicability>,
    pub(super) telling: Reporting,
}

/// Whether diagnostics are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reporting {
    All,
    Nothing,
}

/// A line with a conversation.
#[derive(Debug)]
pub(super) struct OneLine {
    pub(super) fingerprint: u128,
    pub(super) number: usize,
    /// The position of the line in the file.
    pub(super) offset: usize,
    /// The beginning of the line.
    pub(super) beginning: String,
}

/// The number of bytes of a line that identify it for people.
const BEGINNING: usize = 120;

/// The result of checking some lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The fixed lines, if lines are fixed.
    pub(super) text: Vec<u8>,
    pub(super) findings: Findings,
    /// The conversations, to find those that occur twice.
    pub(super) conversations: Vec<OneLine>,
    /// The number of fixed problems.
    pub(super) fixed: usize,
}

impl Plan {
    /// Checks one more line.
    pub(super) fn line(&self, entry: &Entry<'_>, lines: &mut Lines) {
        let Entry { page, raw, found, slot, format } = entry;
        let mended = slot.as_ref().and_then(|slot| Some((slot, self.mended(entry, slot, lines)?)));
        let Some((slot, (mended, format))) = mended else {
            if self.fixes.is_some() {
                lines.text.extend_from_slice(raw);
            }
            return self.tell(page, found.clone(), slot.as_ref(), *format, lines);
        };
        lines.text.extend_from_slice(mended.as_bytes());
        lines.text.push(b'\n');
        let decoded = Decoded::new(mended.as_bytes(), page.offset());
        let page = Page::new(page.name, &decoded, page.first_line());
        match slot.again(page.text) {
            Ok(slot) => self.tell(&page, Vec::new(), Some(&slot), format, lines),
            Err(wrong) => self.tell(&page, vec![*wrong], None, format, lines),
        }
    }

    /// Returns the fixed line and its format, if lines are fixed and the line can be fixed.
    fn mended(
        &self,
        entry: &Entry<'_>,
        slot: &Slot<'_>,
        lines: &mut Lines,
    ) -> Option<(String, Format)> {
        let most = self.fixes.filter(|_| entry.found.is_empty())?;
        let (parsed, format) = self.reader.parse_as(&slot.text, entry.format);
        if parsed.diagnostics.iter().any(|found| found.code == Code::FormatUnknown) {
            return None;
        }
        let fixed = fix(&slot.text, format, &self.reader.options_for(&slot.text, format), most);
        let text = fixed.text?;
        lines.fixed += fixed.applied;
        let mut line = String::new();
        slot.replace(entry.page.text, &text, &mut line);
        Some((line, format))
    }

    /// Reports the diagnostics of a line.
    fn tell(
        &self,
        page: &Page<'_>,
        mut all: Vec<Diagnostic>,
        slot: Option<&Slot<'_>>,
        format: Format,
        lines: &mut Lines,
    ) {
        if self.telling == Reporting::Nothing {
            return;
        }
        if let Some(slot) = slot {
            let parsed = self.reader.parse(&slot.text, format);
            let mut own = parsed.diagnostics;
            self.lints.complete(&parsed.document, true, &mut own);
            for mut found in own {
                slot.place(&mut found);
                all.push(found);
            }
            all.extend(slot.dropped_fields());
            if self.lints.finds_duplicates
                && parsed.document.conversations().iter().any(|it| !it.messages.is_empty())
            {
                let end = page.text.floor_char_boundary(BEGINNING);
                lines.conversations.push(OneLine {
                    fingerprint: lint::fingerprint(&parsed.document),
                    number: page.first_line(),
                    offset: page.offset(),
                    beginning: page.text[..end].to_owned(),
                });
            }
        }
        lines.findings.add(page, &all, self.manner);
    }
}
