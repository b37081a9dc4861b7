//! The text of a header, collected until the header is complete.

use crate::model::{Raw, Role};
use crate::reading::{Keep, Kept};
use crate::{Control, Span};

/// The text of a header as it is read, apart by the control tokens in it. It is used again for the
/// next one.
#[derive(Debug, Default)]
pub(super) struct Opening<'a> {
    /// The control token that opened it.
    pub(super) span: Span,
    /// The role, where it was said before this text began.
    pub(super) role: Option<Role>,
    /// Whether the control token that opens a message is missing.
    pub(super) is_orphan: bool,
    /// The text after `<|start|>`, and where it begins.
    pub(super) first: Kept<'a>,
    pub(super) first_at: usize,
    /// The text after the first `<|channel|>` or `<|constrain|>`, and after those that follow.
    regions: Vec<Region<'a>>,
    /// Its control tokens, and where they stand.
    tokens: Vec<(Control, Span)>,
    /// How many of the regions are in use.
    used: usize,
    bytes: usize,
    /// Whether places in its texts are not places in the input: a text stands for something else, or
    /// has pieces that are apart.
    is_inexact: bool,
    /// Where it ends so far.
    pub(super) end: usize,
    /// What was no header, if it lost its `<|message|>`.
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
    /// Begins a header with the control token at `span`, or one whose role was said before.
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

    /// How much text it has, in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing but white space follows the control token that opened it.
    pub(super) fn is_bare(&self) -> bool {
        self.used == 0 && self.first.as_str().trim_ascii().is_empty()
    }

    /// The text after each control token in it, in their order.
    pub(super) fn regions(&self) -> &[Region<'a>] {
        &self.regions[..self.used]
    }

    /// It up to byte `end` of the input, as it stands there, if that is at hand.
    pub(super) fn raw(&self, end: usize, keep: Keep<'a>) -> Option<Raw<'a>> {
        let start = self.span.end;
        let text = keep.slice(Span::new(start, end))?;
        let place = |(control, at): &(Control, Span)| (*control, at.start - start..at.end - start);
        Some(Raw::new(text.into(), self.tokens.iter().map(place).collect()))
    }

    /// What of it was no header.
    pub(super) fn take_rest(&mut self) -> Kept<'a> {
        std::mem::take(&mut self.rest)
    }
}
