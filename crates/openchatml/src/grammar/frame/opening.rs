//! Collects the text of a header until it is complete.

use crate::model::{Raw, Role};
use crate::reading::{Keep, Kept};
use crate::{Control, Span};

/// The text of a header while it is read, split by its control tokens. The memory is used again for
/// the next header.
#[derive(Debug, Default)]
pub(super) struct Opening<'a> {
    /// The span of the control token that opened it.
    pub(super) span: Span,
    /// The role, if it is known before this text.
    pub(super) role: Option<Role>,
    /// Whether the control token that opens a message is missing.
    pub(super) is_orphan: bool,
    /// The text after `<|start|>`, and its start.
    pub(super) first: Kept<'a>,
    pub(super) first_at: usize,
    /// The text after each `<|channel|>` and `<|constrain|>`.
    regions: Vec<Region<'a>>,
    /// The control tokens of the header, and their spans.
    tokens: Vec<(Control, Span)>,
    /// The number of used regions.
    used: usize,
    bytes: usize,
    /// Whether places in its texts differ from places in the input: a text replaces other input, or
    /// its parts are not adjacent.
    is_inexact: bool,
    /// The end so far.
    pub(super) end: usize,
    /// The text that is not header, if `<|message|>` is missing.
    pub(super) rest: Kept<'a>,
}

/// The text after one of the control tokens of a header.
#[derive(Debug)]
pub(super) struct Region<'a> {
    pub(super) control: Control,
    pub(super) text: Kept<'a>,
    pub(super) at: usize,
}

impl<'a> Opening<'a> {
    /// Begins a header with the control token at `span`, or one whose role is already known.
    #[inline]
    pub(super) fn begin(&mut self, role: Option<Role>, span: Span) {
        self.span = span;
        self.role = role;
        self.is_orphan = false;
        self.first.clear();
        self.first_at = span.end;
        self.end = span.end;
        self.used = 0;
        self.tokens.clear();
        self.bytes = 0;
        self.is_inexact = false;
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        self.bytes += text.len();
        self.end = span.end;
        let (region, at) = match self.used {
            0 => (&mut self.first, &mut self.first_at),
            used => {
                let region = &mut self.regions[used - 1];
                (&mut region.text, &mut region.at)
            }
        };
        if region.is_empty() {
            *at = span.start;
        }
        self.is_inexact |= *at + region.len() != span.start || span.len() != text.len();
        region.push(text, span, keep);
    }

    #[inline]
    pub(super) fn control(&mut self, control: Control, span: Span) {
        self.end = span.end;
        self.tokens.push((control, span));
        match self.regions.get_mut(self.used) {
            Some(region) => {
                region.control = control;
                region.text.clear();
                region.at = span.end;
            }
            None => self.regions.push(Region { control, text: Kept::default(), at: span.end }),
        }
        self.used += 1;
    }

    /// Adds a control token that is text in a header.
    pub(super) fn marker(&mut self, control: Control, text: &str, span: Span, keep: Keep<'a>) {
        self.tokens.push((control, span));
        self.text(text, span, keep);
    }

    /// Whether places in its texts are places in the input.
    pub(super) fn is_exact(&self) -> bool {
        !self.is_inexact
    }

    /// Returns the length of the text in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Whether only white space follows the control token that opened it.
    pub(super) fn is_bare(&self) -> bool {
        self.used == 0 && self.first.as_str().trim_ascii().is_empty()
    }

    /// Returns the text after each control token, in order.
    pub(super) fn regions(&self) -> &[Region<'a>] {
        &self.regions[..self.used]
    }

    /// The header up to byte `end` of the input, in its original form, if it is available.
    pub(super) fn raw(&self, end: usize, keep: Keep<'a>) -> Option<Raw<'a>> {
        let start = self.span.end;
        let text = keep.slice(Span::new(start, end))?;
        let place = |(control, at): &(Control, Span)| (*control, at.start - start..at.end - start);
        Some(Raw::new(text.into(), self.tokens.iter().map(place).collect()))
    }

    /// Takes the text that is not header.
    pub(super) fn take_rest(&mut self) -> Kept<'a> {
        std::mem::take(&mut self.rest)
    }
}
