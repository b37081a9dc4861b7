//! Keeps the text before empty messages that are dropped, as layout of the message after them.

use super::writer_state::{Begins, Next, WriterState};
use crate::grammar::sections::Rules;
use crate::grammar::sections::between::{Written, quoted};
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
        Self { rules, behind: WriterState::start(rules), since: Raw::default() }
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
        let raw = self.rules.before(message);
        let body = message.body.text();
        let name = self.rules.name(message);
        let next = Next { kind, name, body: &body, begins: Begins::Nothing };
        if let Some((raw, behind)) = raw.and_then(|raw| Some((raw, self.through(raw, next)?))) {
            if keeps {
                self.since.append(raw);
            }
            self.behind = behind;
            return;
        }
        let Self { rules, behind, since } = self;
        let _ = behind.open::<()>(kind, name, &mut |_, piece| {
            match piece {
                _ if !keeps => {}
                Written::Control(control) => since.push_control(control, rules.spelling(control)),
                Written::Word(text) => since.push_text(text),
                Written::Text(text) | Written::Name(text) => since.push_text(text),
                Written::JsonName(name) => since.push_text(&quoted(name)),
                // Only openings with attributes have these.
                Written::Attribute(_) | Written::Count(_) => {}
            }
            Ok(())
        });
        behind.say(kind, &body);
    }

    /// Returns the state after a message that follows `raw`. If `raw` does not end the empty text
    /// before it, that text is not read as a message.
    fn through(&self, raw: &Raw<'_>, next: Next<'_>) -> Option<WriterState> {
        let behind = self.behind.behind(raw, next);
        let unsaid = WriterState { is_unsaid: false, ..self.behind };
        behind.or_else(|| unsaid.behind(raw, next))
    }
}
