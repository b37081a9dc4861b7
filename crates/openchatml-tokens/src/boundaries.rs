//! A text that several parts share, such as the list of an assistant's calls in Apertus.
//!
//! It is encoded as one text, so that its ids are those of who encodes the whole text of a prompt.
//! A token can then stand on both sides of a seam: it belongs to the part in which it begins. A
//! model can have sampled it only after all that stands before its first byte.

use openchatml::render::Part;
use openchatml::{Message, Span};

use crate::encoding::Encoding;
use crate::sampled::Sampled;

/// Where in a text the next parts begin.
#[derive(Debug, Default)]
pub(crate) struct Boundaries {
    marks: Vec<(usize, Part)>,
}

/// The ids of a text, and where in it each of them begins.
#[derive(Debug, Default)]
pub(crate) struct TextIds {
    pub(crate) ids: Vec<u32>,
    starts: Vec<usize>,
}

impl Boundaries {
    /// A part begins at this byte.
    pub(crate) fn push(&mut self, at: usize, part: Part) {
        self.marks.push((at, part));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// What is marked, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (usize, Part)> {
        self.marks.drain(..)
    }

    /// What each message says of a text of so many bytes, the first of which belong to the message
    /// `from`.
    fn spans(&self, bytes: usize) -> impl Iterator<Item = (Option<usize>, Span)> {
        let opens = |(at, part): &(usize, Part)| match part {
            Part::Opening(message) => Some((Some(*message), *at)),
            _ => None,
        };
        let begins = std::iter::once((None, 0)).chain(self.marks.iter().filter_map(opens));
        let ends = self.marks.iter().filter_map(opens).map(|it| it.1).chain([bytes]);
        begins.zip(ends).map(|((message, start), end)| (message, Span::new(start, end)))
    }

    /// Encodes a text. What messages are known to have as ids is used where it says what the text
    /// says; the rest is encoded by `encode`.
    pub(crate) fn sew<'m, E: Encoding>(
        &self,
        encoding: &E,
        text: &str,
        sampled: &mut Sampled<'m>,
        messages: &'m [Message<'m>],
        mut encode: impl FnMut(&str, &mut Vec<u32>),
    ) -> TextIds {
        let mut ids = Vec::new();
        // What has no ids yet.
        let mut from = 0;
        for (message, span) in self.spans(text.len()) {
            if let Some(message) = message {
                *sampled = Sampled::of(messages.get(message).and_then(Message::ids));
                sampled.after_opening();
            }
            let mut at = span.start;
            if from > at {
                // The last token stands in this message as well, and both know it.
                at = from;
                ids.last().into_iter().for_each(|id| sampled.control(*id));
            }
            let is_last = span.end == text.len();
            if at < span.end
                && let Some((known, bytes)) =
                    sampled.stretch(encoding, &text[at..], span.end - at, is_last)
            {
                if from < at {
                    encode(&text[from..at], &mut ids);
                }
                ids.extend_from_slice(known);
                from = at + bytes;
            }
        }
        if from < text.len() {
            encode(&text[from..], &mut ids);
        }
        self.place(encoding, text, ids, encode)
    }

    /// Finds where the ids begin in the text.
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
        // The encoding changes text: only what is encoded apart can be told apart.
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
    /// How many ids begin before this byte.
    pub(crate) fn before(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start < at)
    }
}
