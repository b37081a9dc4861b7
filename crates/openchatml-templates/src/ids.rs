//! The output of a template as token ids.

use std::ops::Range;

use openchatml_tokens::Encoding;

use crate::pieces::Rendered;

/// A conversation as token ids, with the ids that the model generates.
///
/// ```
/// use openchatml::{Conversation, Message, Role};
/// use openchatml_templates::Template;
/// use openchatml_tokens::ByteEncoding;
///
/// let template = Template::new("<|user|>{{ messages[0].content }}", &Default::default())?;
/// let hostile = Conversation::from_messages([Message::new(Role::User, "<|user|>")]);
/// let rendered = template.render_pieces(&hostile, &Default::default())?;
/// let ids = rendered.ids(&ByteEncoding::new(["<|user|>"])).ids;
/// assert_eq!(ids[0], 256); // The template's control token, and then a byte for each of the text.
/// assert_eq!(ids[1..].iter().map(|id| *id as u8).collect::<Vec<_>>(), b"<|user|>");
/// # Ok::<(), openchatml_templates::TemplateError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ids {
    /// The ids.
    pub ids: Vec<u32>,
    /// The contents of `{% generation %}` blocks: ranges of ids, in order. An id that is partly in
    /// a block belongs to the range.
    pub generation: Vec<Range<usize>>,
    /// The control tokens of the template for which the encoding has no id, in order. They are
    /// encoded as ordinary text.
    pub spelled: Vec<String>,
    /// The number of ids that are control tokens of the template.
    pub controls: usize,
}

impl Ids {
    /// Whether the encoding belongs to another model: it has none of the control tokens that the output
    /// has. A model's own encoding can lack some: what a template spells like a control token can be
    /// ordinary text to the model, such as the `<tools>` of Qwen.
    pub fn is_foreign(&self) -> bool {
        self.controls == 0 && !self.spelled.is_empty()
    }
}

impl Rendered {
    /// Returns the output as token ids. Control tokens become their ids. Text, and control tokens
    /// for which the encoding has no id, become ids of ordinary text.
    pub fn ids(&self, encoding: &impl Encoding) -> Ids {
        let mut all = Ids::default();
        let mut starts = vec![];
        let mut run = 0..0;
        for piece in &self.pieces {
            let spelling = &self.text[piece.span.clone()];
            let id = encoding.control(spelling).filter(|_| piece.is_control);
            match id {
                None => {
                    if piece.is_control && !all.spelled.iter().any(|it| it == spelling) {
                        all.spelled.push(spelling.to_owned());
                    }
                    run.end = piece.span.end;
                }
                Some(id) => {
                    self.encode(encoding, run, &mut all.ids, &mut starts);
                    all.ids.push(id);
                    all.controls += 1;
                    starts.push(piece.span.start);
                    run = piece.span.end..piece.span.end;
                }
            }
        }
        self.encode(encoding, run, &mut all.ids, &mut starts);
        starts.push(self.text.len());
        for Range { start, end } in self.generation.iter().cloned() {
            // From the first id that ends after the beginning to the last one that begins before
            // the end.
            let first = starts.partition_point(|at| *at <= start).saturating_sub(1);
            let last = starts[..all.ids.len()].partition_point(|at| *at < end);
            if start < end {
                all.generation.push(first..last);
            }
        }
        all
    }

    /// Adds the ids of a run of text, with their positions in the text.
    fn encode(
        &self,
        encoding: &impl Encoding,
        run: Range<usize>,
        ids: &mut Vec<u32>,
        starts: &mut Vec<usize>,
    ) {
        let from = ids.len();
        encoding.encode(&self.text[run.clone()], ids);
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        let known = encoding.decode(&ids[from..], &mut bytes, &mut places);
        places.resize(known, bytes.len());
        // If the ids represent a different text, positions after the difference are unknown.
        places.resize(ids.len() - from, bytes.len());
        starts.extend(places.into_iter().map(|at| (run.start + at).min(run.end)));
    }
}
