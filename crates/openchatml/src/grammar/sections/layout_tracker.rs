//! Keeps the text between two messages as layout while it is read, if it is not canonical.

use super::Rules;
use super::between::{Kind, Label, Place};
use crate::Span;
use crate::model::{Message, Raw};
use crate::reading::{Keep, Trail};

/// The position of a reader since the last message.
pub(in crate::grammar) struct LayoutTracker {
    rules: &'static Rules,
    /// The position after the content of the last message. The text between messages depends on it.
    pub(in crate::grammar) place: Place,
    /// The byte after the content of the last message.
    pub(in crate::grammar) since: usize,
    /// The byte after the last message, including its end token.
    pub(in crate::grammar) edge: usize,
    /// The beginning of the first token of the next message, if it was read.
    pub(in crate::grammar) opened: Option<usize>,
    /// The tokens since the last message.
    pub(in crate::grammar) trail: Trail,
    /// Whether the text since the last message can be kept as layout.
    pub(in crate::grammar) keeps: bool,
}

impl LayoutTracker {
    /// Creates the position at the beginning of the text.
    pub(in crate::grammar) fn new(rules: &'static Rules) -> Self {
        let (place, trail) = (Place::START, Trail::default());
        Self { rules, place, since: 0, edge: 0, opened: None, trail, keeps: true }
    }

    /// Begins a message whose body begins at byte `at`, with the layout before it. Calls have the
    /// `name` of a tool.
    #[inline]
    pub(in crate::grammar) fn begin<'a>(
        &mut self,
        kind: Kind,
        name: &str,
        message: &mut Message<'a>,
        at: usize,
        keep: Keep<'a>,
    ) {
        let start = self.opened.take().unwrap_or(self.edge);
        message.span = Span::new(start.min(at), at);
        message.body_at = at;
        // The next call is not read yet, so this one can be the only one of its list.
        let is_sure = !matches!(kind, Kind::Call { leaves: true }) || !self.place.in_reasoning;
        if self.keeps
            && let Some(rest) = self.trail.rest(Span::new(self.since, at), keep)
            && !(is_sure
                && self.rules.is_canonical(
                    self.place,
                    kind,
                    Label { name, id: message.call_id.as_deref() },
                    rest,
                ))
        {
            let layout = message.layout.get_or_insert_default();
            layout.form = self.rules.form;
            layout.before = self.raw(at, keep);
        }
        self.keeps = true;
        self.trail.clear_before(at);
        self.place = self.rules.after(self.place, kind);
    }

    /// Returns the text since the last message up to byte `at`.
    pub(in crate::grammar) fn raw<'a>(&self, at: usize, keep: Keep<'a>) -> Option<Raw<'a>> {
        self.trail.raw(Span::new(self.since, at), keep)
    }

    /// Returns the text from the last message up to the end of the text at byte `at`, if it can be
    /// kept and is not canonical. `ends` says whether it closes the turn of the assistant.
    pub(in crate::grammar) fn tail<'a>(
        &self,
        ends: bool,
        at: usize,
        keep: Keep<'a>,
    ) -> Option<Raw<'a>> {
        let raw = self.raw(at, keep).filter(|_| self.keeps)?;
        let is_canonical = self.rules.is_canonical_end(self.place, ends, raw.rest());
        (!is_canonical).then_some(raw)
    }
}
