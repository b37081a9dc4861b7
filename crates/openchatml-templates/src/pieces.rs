//! The output of a template as control tokens and text.

use std::ops::Range;

use crate::controls::Controls;
use crate::error::TemplateError;
use crate::marks::{Marked, Marks};

/// The output of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The text as control tokens and pieces of text, without gaps. Adjacent text is one piece.
    pub pieces: Vec<Piece>,
    /// The ranges of `{% generation %}` blocks in the text, in order: the output of the model, on
    /// which it is trained. Nested blocks are part of the outer one.
    pub generation: Vec<Range<usize>>,
}

/// A piece of the output of a template.
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
    /// The range in the text.
    pub span: Range<usize>,
    /// Whether the piece is a control token. Its text is the spelling.
    pub is_control: bool,
}

/// Reads the output of a template, and removes the marks.
///
/// # Errors
///
/// The template cut a control token out of content, so that its origin is unclear.
pub(crate) fn read(
    output: &str,
    marks: &Marks,
    controls: &Controls,
    marked: &[Marked],
) -> Result<Rendered, TemplateError> {
    let mut reader = PieceReader { marks, rendered: Rendered::default(), open: Vec::new() };
    let mut at = 0;
    for (range, spelling) in controls.find(output) {
        match marks.stand_around(output, &range) {
            [false, false] => {
                reader.text(&output[at..range.start]);
                reader.push(spelling, true);
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
    reader.text(&output[at..]);
    Ok(reader.rendered)
}

struct PieceReader<'m> {
    marks: &'m Marks,
    rendered: Rendered,
    /// The starts of the open generation blocks.
    open: Vec<usize>,
}

impl PieceReader<'_> {
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

/// Checks that the text alone determines the control tokens.
///
/// # Errors
///
/// Content contains the spelling of a control token.
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

/// Returns the error for content that contains or completes this control token.
fn refused(spelling: &str, marked: &[Marked]) -> TemplateError {
    let whole = marked.iter().find_map(|it| Some((&it.place, it.text.find(spelling)?)));
    TemplateError::control(spelling, whole)
}
