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
mod tool;
mod version;

pub(crate) use self::version::check as check_version;

use std::fmt;

use self::calls::Calls;
use crate::header::{Settings, is_builtin, is_builtin_tool};
use crate::lex::TokenTable;
use crate::limits::Limits;
use crate::model::{End, Message, Role};
use crate::options::{Mode, ReadOptions};
use crate::pairing::Pairing;
use crate::{Diagnostic, Header, Severity, Span};

/// What a rule knows.
pub(crate) struct Scene<'s> {
    pub(crate) controls: &'static TokenTable,
    pub(crate) settings: &'s Settings,
    pub(crate) mode: Mode,
    pub(crate) limits: &'s Limits,
}

/// Looks at one message and notes what it finds.
pub(crate) type Rule = fn(&Scene<'_>, &Message<'_>, &mut Vec<Diagnostic>);

/// What the conversations of a format are checked by.
pub(crate) struct Book {
    pub(crate) controls: &'static TokenTable,
    /// The versions that a header may name, the newest first: `2.2`, or `1.` for all of 1.x.
    pub(crate) versions: &'static [&'static str],
    pub(crate) pairing: Pairing,
    /// Whether each message of the assistant says on which channel it is.
    pub(crate) requires_channels: bool,
    pub(crate) rules: &'static [Rule],
}

impl Book {
    /// The rules that hold for all, where the order of calls and replies pairs them.
    pub(crate) const fn by_order(controls: &'static TokenTable) -> Self {
        let pairing = Pairing::ByOrder;
        Self { controls, versions: &[], pairing, requires_channels: false, rules: RULES_OF_ALL }
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").field("versions", &self.versions).finish_non_exhaustive()
    }
}

/// The rules that hold whatever the version: a body is what it declares to be.
pub(crate) const RULES_OF_ALL: &[Rule] = &[body::check];

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

/// Checks messages as they come.
/// The rules of Harmony.
pub(crate) const RULES_OF_HARMONY: &[Rule] = &[
    channel::check_given,
    body::check,
    route::check,
    ending::check,
    reply::check_recipient,
    reply::check_envelope,
];

#[derive(Debug)]
pub(crate) struct Checker {
    book: &'static Book,
    settings: Settings,
    calls: Calls,
    /// Whether the header says a version before 2, and no message has shown yet that it is another.
    is_before_2: bool,
}

impl Checker {
    /// A checker by the rules of `book`.
    pub(crate) fn new(book: &'static Book) -> Self {
        let (settings, calls) = (Settings::default(), Calls::new(book.pairing));
        Self { book, settings, calls, is_before_2: false }
    }

    /// Takes the header, which stands at `span`.
    pub(crate) fn header(&mut self, header: &Header<'_>, span: Span, found: &mut Vec<Diagnostic>) {
        let (settings, mut wrong) = Settings::read(header);
        found.append(&mut wrong);
        // A header that could not be read has no fields; that was said already.
        if !header.fields().is_empty() {
            check_version(header, span, self.book.versions, found);
            self.is_before_2 = version::is_before_2(header);
        }
        self.settings = settings;
    }

    /// Whether `tool` may be a role of its own here (HIP-1 §3, §5).
    pub(crate) fn has_builtin(&self, tool: &str) -> bool {
        is_builtin(&self.settings.builtin_tools, tool)
            || (self.is_harmony() && is_builtin_tool(tool))
    }

    /// Whether the header declares this stream event, or none at all (SPEC 2.2 §2, §9).
    pub(crate) fn has_event(&self, event: &str) -> bool {
        self.settings.capabilities.as_ref().is_none_or(|declared| declared.has_event(event))
    }

    /// Whether the Harmony profile is in force.
    pub(crate) fn is_harmony(&self) -> bool {
        self.settings.harmony.as_ref().is_some_and(|profile| profile.enabled)
    }

    /// Takes a complete message if no rule is about its like, as with most. Whether it did.
    #[inline]
    pub(crate) fn passes(&mut self, message: &Message<'_>) -> bool {
        let is_plain = message.role != Role::Tool
            && message.recipient.is_none()
            && message.content_type.is_none()
            && !message.recovered
            && (message.channel.is_some()
                || !self.book.requires_channels
                || message.role != Role::Assistant)
            && (message.end == End::End || message.end == End::Return && message.is_answer());
        let passes = is_plain
            && !self.is_before_2
            && self.settings.capabilities.is_none()
            && self.settings.harmony.is_none();
        if passes {
            self.calls.turn(message);
        }
        passes
    }

    /// Takes a complete message, and notes what is wrong with it.
    pub(crate) fn message(
        &mut self,
        message: &Message<'_>,
        options: &ReadOptions,
        found: &mut Vec<Diagnostic>,
    ) {
        if message.recovered {
            // What is wrong with it has been said; the calls must know of it all the same.
            self.calls.message(message, &mut Vec::new());
            self.calls.turn(message);
            return;
        }
        let scene = Scene {
            controls: self.book.controls,
            settings: &self.settings,
            mode: options.mode,
            limits: &options.limits,
        };
        for rule in self.book.rules {
            rule(&scene, message, found);
        }
        if self.is_before_2 {
            self.is_before_2 = !version::shows_2(&scene, message, self.book.versions, found);
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
    /// Where a byte of its body stands in the input.
    fn body_place(&self, at: usize) -> usize {
        let pieces = self.pieces.as_deref().map_or(&[][..], |pieces| &pieces.0);
        match pieces[..pieces.partition_point(|(start, _)| *start <= at)].last() {
            Some((start, place)) => place + (at - start),
            None => self.body_at + at,
        }
    }

    /// Where its header stands, or all of it where that is not known.
    pub(crate) fn header_span(&self) -> Span {
        match self.body_at {
            0 => self.span,
            _ if self.in_json => self.span,
            at => Span::new(self.span.start, at.min(self.span.end)),
        }
    }

    /// Where a place in its body stands in the input; all of it where that is not known.
    pub(crate) fn body_span(&self, place: Span) -> Span {
        if self.body_at == 0 {
            return self.span;
        }
        let span = Span::new(self.body_place(place.start), self.body_place(place.end));
        let end = span.end.min(self.span.end.max(self.body_at));
        Span::new(span.start.min(end), end)
    }
}
