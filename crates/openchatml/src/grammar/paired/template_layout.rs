//! Compares the output of the chat template with the canonical layout, and keeps the differences.

use crate::grammar::sections::Rules;
use crate::grammar::sections::between::{Kind, Place};
use crate::model::{Message, Raw, Role};
use crate::{Control, Section};

/// The output of the template since the last message, and the position before it.
#[derive(Debug)]
pub(crate) struct TemplateLayout {
    rules: &'static Rules,
    place: Place,
    since: Raw<'static>,
    /// Whether the inner section is open.
    inner: bool,
}

impl TemplateLayout {
    /// Creates the layout after the developer section, which is at the beginning of each text.
    pub(crate) fn new(rules: &'static Rules) -> Self {
        let place = rules.after(Place::START, Kind::Said(Role::Developer));
        let mut layout_of_template = Self { rules, place, since: Raw::default(), inner: false };
        layout_of_template.control(Control::Close(Role::Developer));
        layout_of_template
    }

    pub(crate) fn control(&mut self, control: Control) {
        match control {
            Control::OpenSection(Section::Reasoning) => self.inner = true,
            Control::CloseSection(Section::Reasoning) | Control::Open(_) => self.inner = false,
            _ => {}
        }
        let spelling = self.rules.spelling(control);
        self.since.push_control(control, spelling);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.since.push_text(text);
    }

    /// Begins the body of a message. `alone` says whether a call is the only one of its list.
    pub(crate) fn message(&mut self, message: &mut Message<'_>, alone: bool) {
        let kind = self.rules.kind(message, alone);
        let name = self.rules.name(message);
        let is_canonical =
            self.rules.is_canonical(self.place, kind, name.into(), self.since.rest());
        self.place = Place { in_reasoning: self.inner, ..self.rules.after(self.place, kind) };
        if !is_canonical {
            let layout = message.layout.get_or_insert_default();
            layout.form = self.rules.form;
            layout.before = Some(self.since.clone());
        }
        self.since.clear();
        if let Some(Kind::Said(role)) = self.place.last {
            self.control(Control::Close(role));
        }
    }

    /// Returns the output of the template after the last message, if it differs from the canonical
    /// layout.
    pub(crate) fn tail(self) -> Option<Raw<'static>> {
        let is_canonical = self.rules.is_canonical_end(self.place, false, self.since.rest());
        (!is_canonical).then_some(self.since)
    }
}
