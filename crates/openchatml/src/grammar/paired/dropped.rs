//! Keeps the text before empty messages that are dropped, as layout of the message after them.

use super::Rules;
use super::place::Piece;
use super::writer_state::{Begins, Next, WriterState};
use crate::model::{Message, Raw};

/// The text since the last message that was not dropped.
#[derive(Debug)]
pub(crate) struct DroppedLayout {
    rules: &'static Rules,
    behind: WriterState,
    since: Raw<'static>,
}

impl DroppedLayout {
    /// Creates the layout at the beginning of the text.
    pub(crate) fn new(rules: &'static Rules) -> Self {
        Self { rules, behind: WriterState::START, since: Raw::default() }
    }

    /// Whether no message was dropped since the last one.
    pub(crate) fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// Drops a message, and keeps the text before it.
    pub(crate) fn drop(&mut self, message: &Message<'_>) {
        self.pass(message, true, true);
    }

    /// Passes a message. If messages before it were dropped, returns the text before them and it.
    /// `alone` says whether a call is the only one of its list.
    pub(crate) fn keep(&mut self, message: &Message<'_>, alone: bool) -> Option<Raw<'static>> {
        let follows = !self.is_empty();
        self.pass(message, alone, follows);
        follows.then(|| std::mem::take(&mut self.since))
    }

    /// Moves to the position after a message. `keeps` says whether the text before it is kept.
    fn pass(&mut self, message: &Message<'_>, alone: bool, keeps: bool) {
        let kind = self.rules.kind(message, alone);
        let layout = message.layout.as_ref().filter(|it| it.form == self.rules.form);
        let raw = layout.and_then(|it| it.before.as_ref());
        let body = message.body.text();
        let next = Next { kind, body: &body, begins: Begins::Nothing };
        let behind = raw.and_then(|raw| self.through(raw, next));
        match raw.filter(|_| behind.is_some()) {
            _ if !keeps => {}
            Some(raw) => self.since.append(raw),
            None => {
                let since = &mut self.since;
                let _ = self.behind.place.between::<()>(kind, &mut |_, piece| {
                    match piece {
                        Piece::Control(control) => {
                            since.push_control(control, piece.spelling(self.rules.controls));
                        }
                        Piece::Text(text) | Piece::Name(text) => since.push_text(text),
                    }
                    Ok(())
                });
            }
        }
        self.behind = behind.unwrap_or_else(|| self.behind.opened(kind).said(kind, &body));
    }

    /// Returns the state after a message that follows `raw`. If `raw` does not end the empty text
    /// before it, that text is not read as a message.
    fn through(&self, raw: &Raw<'_>, next: Next<'_>) -> Option<WriterState> {
        let behind = self.behind.behind(self.rules, raw, next);
        let unsaid = WriterState { is_unsaid: false, ..self.behind };
        behind.or_else(|| unsaid.behind(self.rules, raw, next))
    }
}
