//! What all readers share: the output of messages and diagnostics, and kept text.

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
pub(crate) use self::out::{Findings, Out, Place, PlainMessage, Receiver, State, Whole};
pub use self::parsed::Parsed;
pub(crate) use self::trail::Trail;

use crate::Control;
use crate::lex::{Lexeme, Lexer};
use crate::model::Message;

/// A reader: it turns lexemes into messages. There is one for each grammar family.
///
/// It sees neither bytes nor ids, so text, token ids and streams always give the same result.
pub(crate) trait Reader<'a> {
    /// Reads the next lexeme.
    fn lexeme(&mut self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>);

    /// Reads everything that is certain in `text`, and leaves the rest. `last` says whether `text`
    /// is the end of the input.
    ///
    /// Each reader has its own copy of this loop, in which the compiler knows its `lexeme`.
    fn text(&mut self, lexer: &mut Lexer, text: &mut &str, last: bool, out: &mut Out<'a, '_>) {
        while let Some(lexeme) = lexer.next(text, last) {
            if self.goes_on(lexeme, out) {
                self.lexeme(lexeme, out);
            }
        }
    }

    /// Whether reading continues with `lexeme`.
    fn goes_on(&self, lexeme: Lexeme<'_>, out: &mut Out<'a, '_>) -> bool {
        let ends = matches!(lexeme, Lexeme::Control(control, _) if self.is_end(control));
        ends && out.state.stopped.is_none() || out.goes_on(lexeme)
    }

    /// Whether a token ends what is open here, and begins no message.
    fn is_end(&self, _control: Control) -> bool {
        false
    }

    /// Returns the message whose body is being read, or `None` between messages and inside a
    /// header.
    fn message(&self) -> Option<&Message<'a>>;

    /// Returns the message whose body is being read, if any text only continues it.
    fn body(&mut self) -> Option<&mut Draft<'a>> {
        None
    }

    /// Ends the input, at byte `at`.
    fn finish(&mut self, at: usize, out: &mut Out<'a, '_>);
}
