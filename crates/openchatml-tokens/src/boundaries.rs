//! Text that contains several parts, such as the list of an assistant's calls in Apertus.
//!
//! It is encoded as one text, so that the ids are the same as when the whole prompt is encoded. A
//! token can then cross the boundary between two parts. It belongs to the part in which it begins.
//! A model can have sampled it only after everything before its first byte.

use openchatml::render::Part;
use openchatml::{Message, Span};

use crate::encoding::Encoding;
use crate::sampled_ids::SampledIds;

/// The positions in a text at which parts begin.
#[derive(Debug, Default)]
pub(crate) struct Boundaries {
    marks: Vec<(usize, Part)>,
}

/// The ids of a text, with the position of each id.
#[derive(Debug, Default)]
pub(crate) struct TextIds {
    pub(crate) ids: Vec<u32>,
    starts: Vec<usize>,
}

impl Boundaries {
    /// Records that a part begins at this byte.
    pub(crate) fn push(&mut self, at: usize, part: Part) {
        self.marks.push((at, part));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Removes and returns the boundaries, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (usize, Part)> {
        self.marks.drain(..)
    }

    /// Splits a text of `bytes` bytes into the spans of its messages. The first span belongs to the
    /// message `from`.
    fn spans(&self, bytes: usize) -> impl Iterator<Item = (Option<usize>, Span)> {
        let opens = |(at, part): &(usize, Part)| match part {
            Part::Opening(message) => Some((Some(*message), *at)),
            _ => None,
        };
        let begins = std::iter::once((None, 0)).chain(self.marks.iter().filter_map(opens));
        let ends = self.marks.iter().filter_map(opens).map(|it| it.1).chain([bytes]);
        begins.zip(ends).map(|((message, start), end)| (message, Span::new(start, end)))
    }

    /// Encodes a text. Sampled ids of messages are used where they match the text, and `encode`
    /// encodes the rest.
    pub(crate) fn encode_shared<'m, E: Encoding>(
        &self,
        encoding: &E,
        text: &str,
        sampled: &mut SampledIds<'m>,
        messages: &'m [Message<'m>],
        mut encode: impl FnMut(&str, &mut Vec<u32>),
    ) -> TextIds {
        let mut ids = Vec::new();
        // The start of the text without ids.
        let mut from = 0;
        // The number of ids up to the last that ends between two characters, and where it ends.
        // Later ids are dropped if no sampled id completes the character in which they end.
        let mut complete = (0, 0);
        for (message, span) in self.spans(text.len()) {
            if let Some(message) = message {
                *sampled = SampledIds::of(messages.get(message).and_then(Message::ids));
                sampled.after_opening();
            }
            let mut at = span.start;
            if from > at {
                // The last token continues into this message, and the sampled ids of both messages
                // contain it.
                at = from;
                ids.last().into_iter().for_each(|id| sampled.control(*id));
            }
            if at >= span.end {
                continue;
            }
            let is_last = span.end == text.len();
            let rest = &text.as_bytes()[at..];
            let Some((known, bytes)) = sampled.stretch(encoding, rest, span.end - at, is_last)
            else {
                ids.truncate(complete.0);
                from = complete.1;
                continue;
            };
            if from < at {
                encode(&text[from..at], &mut ids);
            }
            ids.extend_from_slice(known);
            from = at + bytes;
            if text.is_char_boundary(from) {
                complete = (ids.len(), from);
            }
        }
        ids.truncate(complete.0);
        from = complete.1;
        if from < text.len() {
            encode(&text[from..], &mut ids);
        }
        self.place(encoding, text, ids, encode)
    }

    /// Determines the position of each id in the text.
    fn place(
        &self,
        encoding: &impl Encoding,
        text: &str,
        ids: Vec<u32>,
        mut encode: impl FnMut(&str, &mut Vec<u32>),
    ) -> TextIds {
        let mut bytes = Vec::with_capacity(text.len());
        let mut starts = Vec::with_capacity(ids.len());
        if encoding.decode(&ids, &mut bytes, &mut starts) == ids.len() && bytes == text.as_bytes() {
            return TextIds { ids, starts };
        }
        // The encoding changes the text, so positions are known only for texts that are encoded
        // separately.
        let mut text_ids = TextIds::default();
        let ends = self.marks.iter().map(|it| it.0).chain([text.len()]);
        let mut from = 0;
        for end in ends {
            encode(&text[from..end], &mut text_ids.ids);
            text_ids.starts.resize(text_ids.ids.len(), from);
            from = end;
        }
        text_ids
    }
}

impl TextIds {
    /// Returns the number of ids that begin before this byte.
    pub(crate) fn before(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start < at)
    }
}
