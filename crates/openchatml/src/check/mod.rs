//! The rules of conversations beyond their grammar: one rule per file.
//!
//! A rule checks one message at a time and stores little, so that the same rules apply to streams
//! and to whole documents.

mod body;
mod calls;
mod capability;
mod channel;
mod ending;
mod reply;
mod route;
mod tool;
mod version;

pub(crate) use self::version::check as check_version;

use std::fmt;

use self::calls::Calls;
use crate::header::{Settings, is_builtin, is_builtin_tool};
use crate::lex::TokenTable;
use crate::limits::Limits;
use crate::model::{Channel, End, Message, Role};
use crate::options::{Mode, ReadOptions};
use crate::pairing::Pairing;
use crate::{Diagnostic, Header, Severity, Span};

/// The context of a rule.
pub(crate) struct CheckContext<'s> {
    pub(crate) controls: &'static TokenTable,
    pub(crate) settings: &'s Settings,
    pub(crate) mode: Mode,
    pub(crate) limits: &'s Limits,
}

/// Checks one message and adds diagnostics.
pub(crate) type Rule = fn(&CheckContext<'_>, &Message<'_>, &mut Vec<Diagnostic>);

/// The rules for the conversations of a format.
pub(crate) struct CheckRules {
    pub(crate) controls: &'static TokenTable,
    /// The supported versions in a header, newest first: `2.2`, or `1.` for all of 1.x.
    pub(crate) versions: &'static [&'static str],
    pub(crate) pairing: Pairing,
    /// Whether each message of the assistant requires a channel.
    pub(crate) requires_channels: bool,
    pub(crate) rules: &'static [Rule],
}

impl CheckRules {
    /// Returns the rules for all formats, with calls and replies paired by order.
    pub(crate) const fn by_order(controls: &'static TokenTable) -> Self {
        let pairing = Pairing::ByOrder;
        Self { controls, versions: &[], pairing, requires_channels: false, rules: RULES_OF_ALL }
    }
}

impl fmt::Debug for CheckRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckRules").field("versions", &self.versions).finish_non_exhaustive()
    }
}

/// The rules for all versions: a body must match its declared type.
pub(crate) const RULES_OF_ALL: &[Rule] = &[body::check];

/// The rules of canonical JSON without a version.
pub(crate) const RULES_OF_CANONICAL: &[Rule] = &[body::check, ending::check_call];

/// The rules of OpenChatML 2.2.
pub(crate) const RULES_2_2: &[Rule] = &[
    capability::check,
    channel::check,
    body::check,
    route::check,
    tool::check,
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

/// The rules of Harmony.
pub(crate) const RULES_OF_HARMONY: &[Rule] = &[
    channel::check_given,
    body::check,
    body::check_untyped,
    route::check,
    ending::check,
    reply::check_recipient,
    reply::check_envelope,
];

#[derive(Debug)]
pub(crate) struct Checker {
    checks: &'static CheckRules,
    settings: Settings,
    calls: Calls,
    /// Whether the header names a version before 2, and no message has contradicted it yet.
    is_before_2: bool,
}

impl Checker {
    /// Creates a checker with the rules of `checks`.
    pub(crate) fn new(checks: &'static CheckRules) -> Self {
        let (settings, calls) = (Settings::default(), Calls::new(checks.pairing));
        Self { checks, settings, calls, is_before_2: false }
    }

    /// Checks the header at `span`.
    pub(crate) fn header(&mut self, header: &Header<'_>, span: Span, found: &mut Vec<Diagnostic>) {
        let (settings, mut wrong) = Settings::read(header);
        found.append(&mut wrong);
        // An invalid header has no fields and is already reported.
        if !header.fields().is_empty() {
            check_version(header, span, self.checks.versions, found);
            self.is_before_2 = version::is_before_2(header);
        }
        self.settings = settings;
    }

    /// Whether `tool` can be a role here (HIP-1 §3, §5).
    pub(crate) fn has_builtin(&self, tool: &str) -> bool {
        is_builtin(&self.settings.builtin_tools, tool)
            || (self.is_harmony() && is_builtin_tool(tool))
    }

    /// Whether the header declares this stream event, or no events at all (SPEC 2.2 §2, §9).
    pub(crate) fn has_event(&self, event: &str) -> bool {
        self.settings.capabilities.as_ref().is_none_or(|declared| declared.has_event(event))
    }

    /// Whether the Harmony profile is enabled.
    pub(crate) fn is_harmony(&self) -> bool {
        self.settings.harmony.as_ref().is_some_and(|profile| profile.enabled)
    }

    /// Accepts a complete message to which no rule applies, as for most messages. Returns whether
    /// it did.
    #[inline]
    pub(crate) fn passes(&mut self, message: &Message<'_>) -> bool {
        message.recipient.is_none()
            && message.content_type.is_none()
            && !message.recovered
            && self.passes_plain(message.role, message.channel, message.end)
    }

    /// Like [`passes`](Self::passes), for a message with a role and a channel only.
    #[inline]
    pub(crate) fn passes_plain(&mut self, role: Role, channel: Option<Channel>, end: End) -> bool {
        let is_assistant = role == Role::Assistant;
        let is_answer = is_assistant && channel.unwrap_or(Channel::Final) == Channel::Final;
        let passes = role != Role::Tool
            && (channel.is_some() || !is_assistant || !self.checks.requires_channels)
            && (end == End::End || end == End::Return && is_answer)
            && !self.is_before_2
            && self.settings.capabilities.is_none()
            && self.settings.harmony.is_none();
        if passes && (is_answer || role == Role::User) {
            self.calls.end_turn();
        }
        passes
    }

    /// Checks a complete message and adds diagnostics.
    pub(crate) fn message(
        &mut self,
        message: &Message<'_>,
        options: &ReadOptions,
        found: &mut Vec<Diagnostic>,
    ) {
        if message.recovered {
            // Its errors are already reported. Later checks of calls still need the message.
            self.calls.message(message, &mut Vec::new());
            self.calls.turn(message);
            return;
        }
        let context = CheckContext {
            controls: self.checks.controls,
            settings: &self.settings,
            mode: options.mode,
            limits: &options.limits,
        };
        for rule in self.checks.rules {
            rule(&context, message, found);
        }
        if self.is_before_2 {
            self.is_before_2 = !version::shows_2(&context, message, self.checks.versions, found);
        }
        let lenient = options.mode == Mode::Lenient || self.is_harmony();
        let before = found.len();
        self.calls.message(message, found);
        self.calls.turn(message);
        tone(&mut found[before..], lenient);
    }

    /// Ends the conversation.
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

impl CheckContext<'_> {
    /// Returns the severity of tolerable errors: an error in strict mode, a warning in lenient
    /// mode.
    pub(crate) fn tolerated(&self) -> Severity {
        match self.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        }
    }
}

impl Message<'_> {
    /// Returns the place in the input of a byte of the body.
    fn body_place(&self, at: usize) -> usize {
        let pieces = self.pieces.as_deref().map_or(&[][..], |pieces| &pieces.0);
        match pieces[..pieces.partition_point(|piece| piece.body <= at)].last() {
            Some(piece) if piece.is_inserted => piece.input,
            Some(piece) => piece.input + (at - piece.body),
            None => self.body_at + at,
        }
    }

    /// Returns the span of the header, or of the whole message if unknown.
    pub(crate) fn header_span(&self) -> Span {
        match self.body_at {
            0 => self.span,
            _ if self.in_json => self.span,
            at => Span::new(self.span.start, at.min(self.span.end)),
        }
    }

    /// Returns the place in the input of a span of the body, or of the whole message if unknown.
    pub(crate) fn body_span(&self, place: Span) -> Span {
        if self.body_at == 0 {
            return self.span;
        }
        let span = Span::new(self.body_place(place.start), self.body_place(place.end));
        let end = span.end.min(self.span.end.max(self.body_at));
        Span::new(span.start.min(end), end)
    }
}
