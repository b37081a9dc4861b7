//! Fill-in-the-middle tasks (SPEC 0.1 §5).

use crate::model::{Infill, InfillOrder};
use crate::reading::{Keep, Kept, Out};
use crate::{Code, Control, Dropped, Span};

/// A task while it is read: the tokens so far, and the text after each.
#[derive(Debug, Default)]
pub(super) struct Slots<'a> {
    start: usize,
    slots: Vec<(Control, Span, Kept<'a>)>,
    bytes: usize,
}

impl<'a> Slots<'a> {
    pub(super) fn new(at: usize) -> Self {
        Self { start: at, slots: Vec::new(), bytes: 0 }
    }

    pub(super) fn control(&mut self, control: Control, span: Span) {
        self.slots.push((control, span, Kept::default()));
    }

    pub(super) fn text(&mut self, text: &str, span: Span, keep: Keep<'a>) {
        if let Some((.., slot)) = self.slots.last_mut() {
            self.bytes += text.len();
            slot.push(text, span, keep);
        }
    }

    /// The byte at which the task begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The number of bytes of its text.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Removes the line break at the end, which belongs to the separator after it. Returns whether
    /// there was one.
    pub(super) fn take_line_break(&mut self) -> bool {
        self.slots.last_mut().is_some_and(|(.., slot)| slot.pop_line_break())
    }

    /// Returns the task, which ends at byte `end`.
    pub(super) fn finish(self, end: usize, out: &mut Out<'a, '_>) -> Infill<'a> {
        let span = Span::new(self.start, end);
        let order: Vec<_> = self.slots.iter().map(|(control, ..)| *control).collect();
        let known = match order.as_slice() {
            [Control::FimPrefix, Control::FimMiddle, Control::FimSuffix] => {
                Some(InfillOrder::PrefixMiddleSuffix)
            }
            [Control::FimPrefix, Control::FimSuffix, Control::FimMiddle] => {
                Some(InfillOrder::PrefixSuffixMiddle)
            }
            [Control::FimSuffix, Control::FimPrefix, Control::FimMiddle] => {
                Some(InfillOrder::SuffixPrefixMiddle)
            }
            _ => None,
        };
        if known.is_none() {
            let text = "a fill-in-the-middle task must have one prefix, one middle and one suffix, in this order";
            let help = "write the tokens in the order prefix, middle, suffix";
            let found = Code::ParseFrame.at(span, text).help(help);
            // If a token occurs twice, the text after the last one is used.
            let is_twice = |at: usize| order[..at].contains(&order[at]);
            let is_dropped = (0..order.len()).any(is_twice);
            out.malformed(if is_dropped { found.drops(Dropped::Text) } else { found });
        }
        let mut infill = Infill { order: known.unwrap_or_default(), span, ..Infill::default() };
        for (control, _, mut text) in self.slots {
            let text = text.take();
            match control {
                Control::FimPrefix => infill.prefix = text,
                Control::FimSuffix => infill.suffix = text,
                _ if text.is_empty() => {}
                _ => infill.middle = Some(text),
            }
        }
        infill
    }
}
