//! Chain-of-thought markers (SPEC 2.2 §7).

use super::reader::Reader;
use crate::model::{Channel, Intent, Marker, Message, Role};
use crate::reading::Out;
use crate::{Code, Control, Span};

/// The meaning of a chain-of-thought marker in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerPlace {
    Text,
    Marker,
    Forbidden,
}

pub(super) fn marker_place(message: &Message<'_>) -> MarkerPlace {
    match (message.role, message.effective_channel(), message.intent) {
        (Role::Assistant, Channel::Analysis, _) => MarkerPlace::Marker,
        (Role::Assistant, Channel::Final, _)
        | (Role::Assistant, Channel::Commentary, Some(Intent::Preamble)) => MarkerPlace::Forbidden,
        _ => MarkerPlace::Text,
    }
}

impl<'a> Reader<'a> {
    /// Handles a marker. It is a marker only on `analysis`. In a visible message it is an error,
    /// and the text after it is hidden (SPEC 2.2 §7). Elsewhere it is text.
    pub(super) fn marker(&mut self, marker: Marker, span: Span, out: &mut Out<'a, '_>) {
        match marker_place(&self.draft.message) {
            MarkerPlace::Text => {
                let text = self.spelled(Control::Marker(marker));
                self.draft.push(text, span, out);
            }
            MarkerPlace::Marker => self.draft.marker(marker),
            MarkerPlace::Forbidden => {
                let text = "reasoning in a message that a user can see";
                let found = Code::PermVisibility.at(span, text);
                out.malformed(found.help("the text after it is hidden"));
                self.split(span, out);
                // If nothing is kept, there is no message for it.
                if self.is_rest {
                    self.draft.marker(marker);
                }
            }
        }
    }
}
