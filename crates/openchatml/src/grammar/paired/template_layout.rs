//! Compares the output of the chat template with the canonical layout, and keeps the differences.

use super::Rules;
use super::place::{Kind, Piece};
use super::writer_state::{Begins, Next, WriterState};
use crate::Control;
use crate::model::{Message, Raw, Role};

/// The output of the template since the last message, and the state of the reader before it.
#[derive(Debug)]
pub(crate) struct TemplateLayout {
    rules: &'static Rules,
    behind: WriterState,
    since: Raw<'static>,
}

impl TemplateLayout {
    /// Creates the layout after the developer section, which is at the beginning of each text.
    pub(crate) fn new(rules: &'static Rules) -> Self {
        let section = Kind::Section(Role::Developer);
        let behind = WriterState::START.opened(section).said(section, "");
        let mut layout_of_template = Self { rules, behind, since: Raw::default() };
        layout_of_template.control(Control::Close(Role::Developer));
        layout_of_template
    }

    /// Creates the layout at the beginning of the text.
    pub(crate) fn start(rules: &'static Rules) -> Self {
        Self { rules, behind: WriterState::START, since: Raw::default() }
    }

    /// Moves to the position after a message. `alone` says whether a call is the only one of its
    /// list. The text between the message and the one before it is appended to `said`.
    pub(crate) fn pass(
        &mut self,
        message: &Message<'_>,
        alone: bool,
        said: Option<&mut Raw<'static>>,
    ) {
        let kind = self.rules.kind(message, alone);
        let layout = message.layout.as_ref().filter(|it| it.form == self.rules.form);
        let raw = layout.and_then(|it| it.before.as_ref());
        let body = message.body.text();
        let next = Next { kind, body: &body, begins: Begins::Nothing };
        let kept = raw.and_then(|raw| Some((raw, self.through(raw, next)?)));
        match (kept, said) {
            (Some((raw, _)), Some(said)) => said.append(raw),
            (None, Some(said)) => {
                let _ = self.behind.place.between::<()>(kind, &mut |_, piece| {
                    match piece {
                        Piece::Control(control) => {
                            said.push_control(control, piece.spelling(self.rules.controls));
                        }
                        Piece::Text(text) | Piece::Name(text) => said.push_text(text),
                    }
                    Ok(())
                });
            }
            (_, None) => {}
        }
        self.behind = kept.map_or_else(|| self.plain(next), |(_, behind)| behind);
    }

    /// Returns the state after a message that follows `raw`. If `raw` does not end the empty text
    /// before it, that text is not read as a message.
    fn through(&self, raw: &Raw<'_>, next: Next<'_>) -> Option<WriterState> {
        self.behind.behind(raw, next).or_else(|| self.behind.said_nothing().behind(raw, next))
    }

    /// Returns the state after a message in the canonical layout.
    fn plain(&self, next: Next<'_>) -> WriterState {
        self.behind.opened(next.kind).said(next.kind, next.body)
    }

    pub(crate) fn control(&mut self, control: Control) {
        let spelling = self.rules.controls.spelling(control).unwrap_or_default();
        self.since.push_control(control, spelling);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.since.push_text(text);
    }

    /// Begins the body of a message. `alone` says whether a call is the only one of its list.
    pub(crate) fn message(&mut self, message: &mut Message<'_>, alone: bool) {
        let kind = self.rules.kind(message, alone);
        let is_canonical = self.behind.place.is_canonical_raw(kind, &self.since);
        let body = message.body.text();
        let next = Next { kind, body: &body, begins: Begins::Nothing };
        let kept = match is_canonical {
            true => None,
            false => self.through(&self.since, next),
        };
        let behind = kept.unwrap_or_else(|| self.plain(next));
        let section = match kind {
            Kind::Section(role) => Some(role),
            _ => None,
        };
        if !is_canonical {
            let layout = message.layout.get_or_insert_default();
            layout.form = self.rules.form;
            layout.before = Some(self.since.clone());
        }
        self.since.clear();
        self.behind = behind;
        if let Some(role) = section {
            self.control(Control::Close(role));
        }
    }

    /// Returns the output of the template after the last message, if it differs from the canonical
    /// layout.
    pub(crate) fn tail(self) -> Option<Raw<'static>> {
        let is_canonical = self.behind.place.is_canonical_end(false, &self.since);
        (!is_canonical).then_some(self.since)
    }
}
