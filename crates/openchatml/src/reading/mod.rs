//! What readers have in common: where their messages and findings go, and what is kept of the text.

mod draft;
mod gap;
mod hide;
mod keep;
mod out;
mod parsed;
mod trail;

pub(crate) use self::draft::Draft;
pub(crate) use self::gap::Gap;
pub(crate) use self::hide::{WITHHELD, hide, withhold};
pub(crate) use self::keep::{Keep, Kept};
pub(crate) use self::out::{Findings, Out, Place, Receiver, State, Whole};
pub use self::parsed::Parsed;
pub(crate) use self::trail::Trail;

use crate::lex::{Lexeme, Lexer};
use crate::model::Message;

/// A reader: a push machine from lexemes to messages, one for each family of dialects.
///
/// It sees neither bytes nor ids, so text, token ids and streams cannot disagree.
pub(crate) trait Reader<'a> {
    /// Takes the next lexeme.
    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>);

    /// Takes all that is certain in `text`, which may be the `last` of it, and leaves the rest.
    ///
    /// Each reader has a copy of this loop of its own, in which its `lexeme` is known.
    fn text(&mut self, lexer: &mut Lexer, text: &mut &str, last: bool, out: &mut Out<'a, '_>) {
        while let Some(lexeme) = lexer.next(text, last) {
            if out.goes_on(lexeme) {
                self.lexeme(lexeme, out);
            }
        }
    }

    /// The message whose body is being read: its header. Not between messages, nor in a header.
    fn message(&self) -> Option<&Message<'a>>;

    /// The message whose body is being read, if any text is just more of it.
    fn body(&mut self) -> Option<&mut Draft<'a>> {
        None
    }

    /// Takes the end of the input, which is at byte `at`.
    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>);
}
