//! What a conversation must keep to beyond its grammar: one rule, one file.
//!
//! Rules look at one message at a time and remember little, so that a stream is checked by the
//! same rules as a whole document.

mod body;
mod calls;
mod capability;
mod channel;
mod ending;
mod reply;
mod route;
mod version;

pub(crate) use self::version::check as check_version;

use self::calls::Calls;
use crate::dialects::TextForm;
use crate::header::{Settings, is_builtin, is_harmony_builtin};
use crate::lex::Controls;
use crate::model::{End, Message, Role};
use crate::read::{Limits, Mode, ReadOptions};
use crate::{Diagnostic, Header, Severity, Span};

/// How calls and replies find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// They do not: the dialect has no calls.
    None,
    /// By recipient and order.
    ByOrder,
    /// By `call_id`.
    ById,
}

/// What a rule knows.
pub(crate) struct Scene<'s> {
    pub(crate) controls: &'static Controls,
    pub(crate) settings: &'s Settings,
    pub(crate) mode: Mode,
    pub(crate) limits: &'s Limits,
}

/// Looks at one message and notes what it finds.
pub(crate) type Rule = fn(&Scene<'_>, &Message<'_>, &mut Vec<Diagnostic>);

/// The rules of OpenChatML 2.2.
pub(crate) const RULES_2_2: &[Rule] = &[
    capability::check,
    channel::check,
    body::check,
    route::check,
    ending::check,
    reply::check_name,
    reply::check_envelope,
];

/// The rules of OpenChatML 2.0.
pub(crate) const RULES_2_0: &[Rule] = &[
    capability::check,
    channel::check,
    body::check,
    route::check,
    ending::check,
    reply::check_recipient,
    reply::check_envelope,
];

/// Checks messages as they come.
#[derive(Debug)]
pub(crate) struct Checker {
    controls: &'static Controls,
    rules: &'static [Rule],
    versions: &'static [&'static str],
    settings: Settings,
    calls: Calls,
}

impl Checker {
    /// A checker by the rules of `form`.
    pub(crate) fn new(form: &TextForm) -> Self {
        Self {
            controls: form.controls,
            rules: form.rules,
            versions: form.versions,
            settings: Settings::default(),
            calls: Calls::new(form.pairing),
        }
    }

    /// Takes the header, which stands at `span`.
    pub(crate) fn header(&mut self, header: &Header<'_>, span: Span, found: &mut Vec<Diagnostic>) {
        let (settings, mut wrong) = Settings::read(header);
        found.append(&mut wrong);
        check_version(header, span, self.versions, found);
        self.settings = settings;
    }

    /// Whether `tool` may be a role of its own here (HIP-1 §3, §5).
    pub(crate) fn has_builtin(&self, tool: &str) -> bool {
        is_builtin(&self.settings.builtin_tools, tool)
            || (self.is_harmony() && is_harmony_builtin(tool))
    }

    /// Whether the Harmony profile is in force.
    pub(crate) fn is_harmony(&self) -> bool {
        self.settings.harmony.as_ref().is_some_and(|profile| profile.enabled)
    }

    /// Takes a complete message.
    pub(crate) fn message(
        &mut self,
        message: &Message<'_>,
        options: &ReadOptions,
        found: &mut Vec<Diagnostic>,
    ) {
        // Most messages are nothing that a rule is about.
        let is_plain = message.role != Role::Tool
            && message.recipient.is_none()
            && message.content_type.is_none()
            && (message.end == End::End || message.end == End::Return && message.is_answer());
        if is_plain && self.settings.capabilities.is_none() && self.settings.harmony.is_none() {
            self.calls.turn(message);
            return;
        }
        let scene = Scene {
            controls: self.controls,
            settings: &self.settings,
            mode: options.mode,
            limits: &options.limits,
        };
        for rule in self.rules {
            rule(&scene, message, found);
        }
        let lenient = options.mode == Mode::Lenient || self.is_harmony();
        let before = found.len();
        self.calls.message(message, found);
        self.calls.turn(message);
        tone(&mut found[before..], lenient);
    }

    /// Takes the end of the conversation.
    pub(crate) fn finish(&mut self, options: &ReadOptions, found: &mut Vec<Diagnostic>) {
        let lenient = options.mode == Mode::Lenient || self.is_harmony();
        let before = found.len();
        self.calls.finish(found);
        tone(&mut found[before..], lenient);
    }
}

fn tone(found: &mut [Diagnostic], lenient: bool) {
    for diagnostic in found {
        diagnostic.severity = if lenient { Severity::Warning } else { Severity::Error };
    }
}

impl Scene<'_> {
    /// An error in strict mode, a warning otherwise.
    pub(crate) fn tolerated(&self) -> Severity {
        match self.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        }
    }
}

impl Message<'_> {
    /// Where its header stands, or all of it where that is not known.
    pub(crate) fn header_span(&self) -> Span {
        match self.body_at {
            0 => self.span,
            at => Span::new(self.span.start, at.min(self.span.end)),
        }
    }

    /// Where a place in its body stands in the input, as far as that can be said: exactly, where
    /// the body has no escapes and no literal blocks.
    pub(crate) fn body_span(&self, place: Span) -> Span {
        let span = place.shift(self.body_at);
        let end = span.end.min(self.span.end.max(self.body_at));
        Span::new(span.start.min(end), end)
    }
}
