//! What a template wrote, as control tokens and text.

use std::ops::Range;

use crate::controls::Controls;
use crate::error::TemplateError;
use crate::marks::{Marked, Marks};

/// A conversation as a template writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The same as control tokens and text between them, without a gap. Neighbouring text is one
    /// piece.
    pub pieces: Vec<Piece>,
    /// What stands in `{% generation %}` blocks, which is what the model says and is trained on:
    /// places in the text, in order. Blocks within blocks are part of the outer one.
    pub generation: Vec<Range<usize>>,
}

/// A piece of what a template writes.
///
/// ```
/// use openchatml::{Conversation, Message, Role};
/// use openchatml_templates::{Piece, Template};
///
/// let template = Template::new("<|user|>{{ messages[0].content }}", &Default::default())?;
/// let message = Message::new(Role::User, "<|user|>");
/// let conversation = Conversation::from_messages([message]);
/// let pieces = template.render_pieces(&conversation, &Default::default())?.pieces;
/// assert_eq!(pieces, [Piece { span: 0..8, is_control: true }, Piece { span: 8..16, is_control: false }]);
/// # Ok::<(), openchatml_templates::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its place in the text.
    pub span: Range<usize>,
    /// Whether it is a control token; its text is how that is spelled.
    pub is_control: bool,
}

/// The output of a template without its marks.
///
/// # Errors
///
/// The template cut a control token out of content, so that nobody knows whose it is.
pub(crate) fn read(
    output: &str,
    marks: &Marks,
    controls: &Controls,
    marked: &[Marked],
) -> Result<Rendered, TemplateError> {
    let mut reading = Reading { marks, rendered: Rendered::default(), open: Vec::new() };
    let mut at = 0;
    for (range, spelling) in controls.find(output) {
        match marks.stand_around(output, &range) {
            [false, false] => {
                reading.text(&output[at..range.start]);
                reading.push(spelling, true);
                at = range.end;
            }
            [true, true] => {}
            _ => {
                let mut error = refused(spelling, marked);
                error
                    .message
                    .push_str(", and the template cuts it in a way that cannot be tracked");
                return Err(error);
            }
        }
    }
    reading.text(&output[at..]);
    Ok(reading.rendered)
}

struct Reading<'m> {
    marks: &'m Marks,
    rendered: Rendered,
    /// Where the generation blocks begin that are open.
    open: Vec<usize>,
}

impl Reading<'_> {
    fn text(&mut self, mut text: &str) {
        let [open, close] = self.marks.generation();
        while let Some(at) = text.find([open, close]) {
            let (before, rest) = text.split_at(at);
            self.push(&self.marks.without(before), false);
            let len = self.rendered.text.len();
            if rest.starts_with(open) {
                self.open.push(len);
            } else if let Some(start) = self.open.pop()
                && self.open.is_empty()
            {
                self.rendered.generation.push(start..len);
            }
            text = &rest[open.len_utf8()..];
        }
        self.push(&self.marks.without(text), false);
    }

    fn push(&mut self, text: &str, is_control: bool) {
        let start = self.rendered.text.len();
        self.rendered.text.push_str(text);
        let end = self.rendered.text.len();
        match self.rendered.pieces.last_mut() {
            Some(last) if !is_control && !last.is_control => last.span.end = end,
            _ if text.is_empty() => {}
            _ => self.rendered.pieces.push(Piece { span: start..end, is_control }),
        }
    }
}

/// Checks that the text alone says which control tokens there are.
///
/// # Errors
///
/// Content spells a control token.
pub(crate) fn check_text(
    rendered: &Rendered,
    controls: &Controls,
    marked: &[Marked],
) -> Result<(), TemplateError> {
    let mut known = rendered.pieces.iter().filter(|piece| piece.is_control);
    for (range, spelling) in controls.find(&rendered.text) {
        if known.next().is_none_or(|piece| piece.span != range) {
            return Err(refused(spelling, marked));
        }
    }
    Ok(())
}

/// Content spells this control token, or completes it.
fn refused(spelling: &str, marked: &[Marked]) -> TemplateError {
    let whole = marked.iter().find_map(|it| Some((&it.place, it.text.find(spelling)?)));
    TemplateError::control(spelling, whole)
}
