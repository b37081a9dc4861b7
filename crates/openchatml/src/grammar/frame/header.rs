//! The header of a message, between `<|start|>` and `<|message|>`.
//!
//! `HEADER CHANNELTAG CONSTRAIN` of SPEC 2.2 §15. DEVIATION: attributes can be in any order, before
//! or after the channel, because the examples of the specification do not follow the order of its
//! grammar.

use std::borrow::Cow;

use super::attribute::may_hide;
use super::opening::{Opening, Region};
use super::write_header::is_canonical;
use super::{Attribute, Rules, Spaces, Speaker, TypeStyle};
use crate::check::Checker;
use crate::diagnostic::{Applicability, did_you_mean, quote};
use crate::grammar::spaces::{self, Allowed, misplaced};
use crate::grammar::words;
use crate::lex::spells_token;
use crate::limits::Limits;
use crate::model::{Channel, Message, Role};
use crate::reading::{Keep, Kept};
use crate::{Code, Control, Diagnostic, Fix, Span};

/// The content of a header, and its diagnostics.
pub(super) struct Head<'a> {
    pub(super) message: Message<'a>,
    /// The diagnostics, and whether lenient mode tolerates them.
    pub(super) found: Vec<(Diagnostic, bool)>,
    /// Whether the writer would write the same header.
    pub(super) is_canonical: bool,
}

/// How a header ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// With `<|message|>`: everything is header.
    Whole,
    /// With the end of the input: a prompt.
    Open,
    /// Without `<|message|>`: words that are not header words are misplaced text.
    Broken,
}

/// The context of a header.
pub(super) struct Context<'c> {
    pub(super) shape: Shape,
    pub(super) rules: &'static Rules,
    pub(super) limits: &'c Limits,
    /// Whether only the assistant can speak.
    pub(super) is_completion: bool,
    pub(super) checker: Option<&'c Checker>,
    /// The whole header, if it is known and includes the role.
    pub(super) raw: Option<&'c str>,
}

/// Reads a header.
#[inline]
pub(super) fn read<'a>(
    opening: &mut Opening<'a>,
    keep: Keep<'a>,
    context: &Context<'_>,
) -> Head<'a> {
    let mut reader = HeadReader {
        context,
        keep,
        message: Message::new(opening.role.unwrap_or(Role::Tool), ""),
        found: Vec::new(),
        rest: Kept::default(),
        given: [false; Attribute::COUNT],
        attributes: 0,
        word: None,
        is_hidden: false,
        unread: Vec::new(),
    };
    reader.message.span = opening.span;
    reader.start(opening);
    reader.regions(opening);
    opening.rest = std::mem::take(&mut reader.rest);
    reader.doubt_channel();
    if reader.is_hidden {
        reader.message.channel = Some(Channel::Analysis);
    }
    if !reader.unread.is_empty() {
        reader.message.unread = Some(reader.unread.join(" ").into());
    }
    let is_told = reader.message.recovered;
    (context.rules.settle)(&mut reader.message);
    let is_certain = reader.found.is_empty() && !reader.message.recovered;
    let is_canonical = is_certain
        && opening.role.is_none()
        && context.raw.is_some_and(|raw| is_canonical(raw, &reader.message, context.rules));
    if !is_canonical {
        if context.shape == Shape::Whole {
            reader.check_spaces(opening);
        }
        reader.check_fixes(opening.len());
    }
    if reader.message.recovered && !is_told {
        reader.note(lost_call(opening.span));
    }
    Head { message: reader.message, found: reader.found, is_canonical }
}

/// Returns the diagnostic for a call whose header, at `header`, names no tool.
pub(crate) fn lost_call(header: Span) -> Diagnostic {
    let found = Code::ParseHeader.at(header, "the call does not name a tool");
    found.help("the call is hidden and not run; add `to=` and the name of the tool to the header")
}

pub(super) struct HeadReader<'a, 'c> {
    pub(super) context: &'c Context<'c>,
    pub(super) keep: Keep<'a>,
    pub(super) message: Message<'a>,
    pub(super) found: Vec<(Diagnostic, bool)>,
    /// Text that is not header, if `<|message|>` is missing.
    pub(super) rest: Kept<'a>,
    /// Whether each attribute was given, by its number.
    pub(super) given: [bool; Attribute::COUNT],
    pub(super) attributes: usize,
    /// The span of the current attribute, with the space before it if there is one.
    pub(super) word: Option<Span>,
    /// Whether the message is hidden, whatever channel it declares.
    pub(super) is_hidden: bool,
    /// Unknown words.
    unread: Vec<String>,
}

/// The words in headers without a channel that stand for none but `final`, which is what is assumed.
const TYPES: &[&str] = &["json", "text", "markdown", "final"];

impl<'a> HeadReader<'a, '_> {
    /// Reads the role and attributes.
    fn start(&mut self, opening: &Opening<'a>) {
        let start = opening.first_at;
        let text = opening.first.as_str();
        if opening.role.is_some() {
            return self.words_of(&opening.first, start, start);
        }
        let Some((word, span)) = words(text, start).next() else {
            if self.context.shape != Shape::Broken {
                let found = Code::ParseHeader.at(opening.span, "the header has no role");
                self.guess(found.help("write `user`, `assistant`, … after the opening token"));
            }
            self.message.recovered = true;
            self.message.role = Role::Assistant;
            let is_channel = |region: &Region<'_>| region.control == Control::Channel;
            // In a completion, the role is certain, and a channel says who can see the message.
            if !self.context.is_completion || !opening.regions().iter().any(is_channel) {
                self.message.channel = Some(Channel::Analysis);
            }
            return;
        };
        let addressed = || words(text, start).skip(1).any(|(word, _)| word.starts_with("to="));
        self.role(word, span, addressed);
        self.words_of(&opening.first, start, span.end);
    }

    /// Reads the parts after the control tokens: the channel, the constraint, and the attributes
    /// after them.
    fn regions(&mut self, opening: &Opening<'a>) {
        let mut has_channel = false;
        for (index, region) in opening.regions().iter().enumerate() {
            let words = match region.control {
                Control::Channel if index == 0 => self.channel(region),
                Control::Channel => self.late_channel(region, has_channel),
                Control::Constrain => self.constrain(region),
                // A control token that is not allowed in a header. It is already reported.
                _ => {
                    self.message.recovered = true;
                    region.at
                }
            };
            self.words_of(&region.text, region.at, words);
            has_channel |= region.control == Control::Channel;
        }
    }

    /// Reads a channel after other tags. Returns its end.
    fn late_channel(&mut self, region: &Region<'a>, is_second: bool) -> usize {
        let what = match is_second {
            true => "the header has a second channel tag",
            false => "the channel tag must precede all other tags",
        };
        self.hide(what, region);
        let word = words(region.text.as_str(), region.at).next();
        match word.filter(|(word, _)| Channel::from_word(word).is_some()) {
            Some((word, span)) => {
                self.unread(word);
                span.end
            }
            None => region.at,
        }
    }

    /// Reports white space that is not allowed in the header.
    fn check_spaces(&mut self, opening: &Opening<'a>) {
        let one = match self.context.rules.spaces {
            Spaces::Any => return,
            Spaces::One => true,
            Spaces::None => false,
        };
        let goes_on = opening.role.is_some();
        let first = (opening.first.as_str(), opening.first_at, goes_on, true);
        let regions = opening.regions().iter().filter_map(|region| match region.control {
            Control::Channel => Some((region.text.as_str(), region.at, false, true)),
            Control::Constrain => Some((region.text.as_str(), region.at, false, false)),
            _ => None,
        });
        for (text, start, before, after) in std::iter::once(first).chain(regions) {
            // A missing word is already reported.
            if text.trim_ascii().is_empty() && !before {
                continue;
            }
            // If no words can follow, they are already reported.
            let allowed = Allowed { before: before && one, between: true, after: after && one };
            for (place, wanted) in misplaced(text, allowed) {
                let span = Span::new(start + place.start, start + place.end);
                self.tolerate(spaces::finding(span, wanted));
            }
        }
    }

    fn role(&mut self, word: &str, span: Span, addressed: impl Fn() -> bool) {
        let message = &mut self.message;
        match (self.context.rules.speaker)(word) {
            Some(Speaker::Role(role)) => message.role = role,
            Some(Speaker::Named(role, name)) => {
                message.role = role;
                message.name = Some(self.keep.text(name, tail(span, name)));
                self.check_graphic("name", name, tail(span, name));
            }
            Some(Speaker::Legacy(role, name)) => {
                message.role = role;
                message.name = Some(self.keep.text(name, tail(span, name)));
                let text = format!("{} is the old spelling of a tool's role", quote(word));
                let help = "write the role `tool`, and the name of the tool as `name=`";
                let found = Code::LegacyRole.at(span, text).help(help);
                self.note(match self.is_value(name) {
                    true => found.fix(Fix::safe(span, format!("tool name={name}"))),
                    false => found,
                });
            }
            Some(Speaker::Builtin(name)) => {
                message.role = Role::Tool;
                message.name = Some(self.keep.text(name, span));
                self.check_graphic("name", name, span);
                if self.context.checker.is_some_and(|checker| !checker.has_builtin(name)) {
                    let text =
                        format!("{} is neither a role nor a declared built-in tool", quote(word));
                    let help = "if it is a tool, add it to `generation_settings.builtin_tools` in the header";
                    self.guess(Code::ParseHeader.at(span, text).help(help));
                }
            }
            Some(Speaker::Addressed(name)) if addressed() => {
                message.role = Role::Tool;
                message.name = Some(self.keep.text(name, span));
                self.check_graphic("name", name, span);
            }
            Some(Speaker::Slip(role, name)) => {
                message.role = role;
                message.name = name.map(Cow::Borrowed);
                let meant = match name {
                    Some(name) => format!("{role}:{name}"),
                    None => role.to_string(),
                };
                let text = format!("unknown role {}, read as `{meant}`", quote(word));
                self.tolerate(Code::ParseSlip.at(span, text).fix(Fix::safe(span, meant)));
            }
            Some(Speaker::Addressed(_)) | None => {
                // The role is unknown, so the message has the least authority and is hidden.
                message.role = Role::Tool;
                message.name = Some(self.keep.text(word, span));
                message.channel = Some(Channel::Analysis);
                let found = match self.foreign(word) {
                    true => self.version(word, span),
                    false => {
                        let text = format!("unknown role {}", quote(word));
                        let help = self.meant_role(word);
                        Code::ParseHeader.at(span, text).help(help)
                    }
                };
                self.guess(found);
            }
        }
    }

    /// Returns the help for an unknown role, with the role that is probably meant.
    fn meant_role(&self, word: &str) -> String {
        let is_known = |word: &&str| (self.context.rules.speaker)(word).is_some();
        let known: Vec<_> = Role::WORDS.iter().copied().filter(is_known).collect();
        let help = format!("the message is hidden; valid roles: {}", known.join(", "));
        did_you_mean(word, &known, &help)
    }

    /// Reads the channel. Returns its end.
    fn channel(&mut self, region: &Region<'a>) -> usize {
        let text = region.text.as_str();
        if let Some(channel) = Channel::from_word(text) {
            // A message that is already hidden stays hidden.
            self.message.channel.get_or_insert(channel);
            return region.at + text.len();
        }
        let Some((word, span)) = words(text, region.at).next() else {
            self.hide("the channel tag has no channel name", region);
            return region.at;
        };
        match Channel::from_word(word) {
            Some(channel) => {
                self.message.channel.get_or_insert(channel);
            }
            None if let Some(end) = self.glued_channel(word, span) => return end,
            None if self.foreign(word) => {
                let found = self.version(word, span);
                self.guess(found);
                self.unread(word);
                self.message.channel = Some(Channel::Analysis);
            }
            None => {
                let text = format!("unknown channel {}", quote(word));
                let help = "the message is hidden; valid channels: analysis, commentary, final";
                let help = did_you_mean(word, Channel::WORDS, help);
                self.guess(Code::ParseHeader.at(span, text).help(help));
                self.unread(word);
                self.message.channel = Some(Channel::Analysis);
            }
        }
        span.end
    }

    /// Reads the content type of a constraint. Returns its end.
    fn constrain(&mut self, region: &Region<'a>) -> usize {
        let text = region.text.as_str();
        let Some((word, span)) = words(text, region.at).next() else {
            let found =
                Code::ParseHeader.at(Span::at(region.at), "the constraint has no content type");
            self.guess(found.help("write a content type after it, such as `json`"));
            return region.at;
        };
        let before = self.message.content_type.take();
        let is_constrained = self.message.constrained && before.is_some();
        if let Some(before) = before.filter(|before| before != word) {
            let text = format!("the header has two content types; {} is used", quote(word));
            self.tolerate(Code::ParseHeader.at(span, text));
            let is_attribute = self.given[Attribute::ContentType as usize];
            let name = if is_attribute { "content_type=" } else { "" };
            self.unread(&format!("{name}{before}"));
        }
        if is_constrained {
            self.tolerate(Code::ParseHeader.at(span, "duplicate constraint"));
        }
        self.check_value("content type", word, span);
        if Channel::ALL.iter().any(|channel| channel.as_str().eq_ignore_ascii_case(word)) {
            let text = format!("{} is a channel, and no content type", quote(word));
            self.guess(Code::ParseHeader.at(span, text).help("the message is hidden"));
            self.is_hidden = true;
        }
        self.message.content_type = Some(self.keep.text(word, span));
        self.message.constrained = true;
        span.end
    }

    /// Reads the words from byte `at` on of a text that begins at byte `start`: attributes, or
    /// unknown words.
    fn words_of(&mut self, text: &Kept<'a>, start: usize, at: usize) {
        let text = text.as_str();
        for (word, span) in words(text.get(at - start..).unwrap_or_default(), at) {
            match Attribute::split(word) {
                Some((attribute, value)) => {
                    // The first word can directly follow another part, so the space before it is
                    // not part of it.
                    let has_space = span.start > at;
                    self.word = has_space.then(|| Span::new(span.start - 1, span.end));
                    self.attribute(attribute, value, span);
                }
                None if self.context.shape == Shape::Broken => {
                    let rest = text.get(span.start - start..).unwrap_or_default();
                    let span = Span::new(span.start, span.start + rest.len());
                    self.rest.push(rest, span, self.keep);
                    return;
                }
                None if self.context.rules.type_style == TypeStyle::Word
                    && self.type_word(word, span) => {}
                None => {
                    let found = match self.foreign(word) {
                        true => self.version(word, span),
                        false => {
                            let text = format!("unknown attribute {}", quote(word));
                            let name = word.split('=').next().unwrap_or_default();
                            let help = "valid attributes: `to=`, `call_id=`, `name=`, `intent=`, `content_type=`";
                            let help = did_you_mean(name, Attribute::WORDS, help);
                            Code::ParseHeader.at(span, text).help(help)
                        }
                    };
                    self.guess(found);
                    self.unread(word);
                    self.is_hidden |= may_hide(word);
                }
            }
        }
    }

    /// Hides a message of the assistant without a channel whose header has a word that may stand for
    /// one: `assistant thinking<|message|>`. A call without a channel is uncertain.
    fn doubt_channel(&mut self) {
        let message = &self.message;
        let is_without = message.role == Role::Assistant && message.channel.is_none();
        if self.context.rules.type_style != TypeStyle::Word || !is_without || self.is_hidden {
            return;
        }
        if message.recipient.is_some() {
            let found = Code::ParseChannelMissing.at(message.span, "the call has no channel");
            let help =
                "write the channel that its tool is called on; until then, the call is not run";
            return self.guess(found.help(help));
        }
        let word = message.content_type.as_deref().filter(|_| !message.constrained);
        let word = word.filter(|word| !TYPES.contains(word)).map(quote);
        if let Some(word) = &word {
            let text = format!("the header has no channel, but the word {word}");
            let found = Code::ParseHeader.at(message.span, text);
            self.guess(found.help("the message is hidden, because the word may stand for one"));
        }
        let is_channel = |word: &String| !word.contains('=');
        self.is_hidden = word.is_some() || self.unread.iter().any(is_channel);
    }

    /// Keeps an unknown word.
    pub(super) fn unread(&mut self, word: &str) {
        self.unread.push(word.to_owned());
    }

    /// Whether a word of a header contains a control token, which then belongs to another version.
    fn foreign(&self, word: &str) -> bool {
        spells_token(word)
    }

    fn version(&self, word: &str, span: Span) -> Diagnostic {
        let text =
            format!("{} contains a control token of another version of the format", quote(word));
        let help = "name the format of this text, or let it be detected";
        Code::ParseVersion.at(span, text).help(help)
    }

    fn hide(&mut self, text: &str, region: &Region<'a>) {
        let end = region.at + region.text.len();
        let found = Code::ParseHeader.at(Span::new(region.at, end), text);
        self.guess(
            found.help("the message is hidden; write exactly one channel, before all other tags"),
        );
        self.message.channel = Some(Channel::Analysis);
    }

    /// Removes the safe fixes of a header if they would change which limits it exceeds.
    fn check_fixes(&mut self, len: usize) {
        let limits = self.context.limits;
        let fixes = self.found.iter().filter_map(|(found, _)| found.fix.as_ref());
        let safe = fixes.filter(|fix| fix.applicability == Applicability::Safe);
        let grown: usize = safe.flat_map(|fix| &fix.edits).map(|edit| edit.replacement.len()).sum();
        if self.attributes < limits.attributes && len.saturating_add(grown) <= limits.header_bytes {
            return;
        }
        for (found, _) in &mut self.found {
            found.fix = found.fix.take().filter(|fix| fix.applicability != Applicability::Safe);
        }
    }

    /// Adds a diagnostic that makes the message uncertain.
    pub(super) fn guess(&mut self, found: Diagnostic) {
        self.message.recovered = true;
        self.found.push((found, false));
    }

    pub(super) fn tolerate(&mut self, found: Diagnostic) {
        self.found.push((found, true));
    }

    fn note(&mut self, found: Diagnostic) {
        self.found.push((found, false));
    }
}

/// Returns the span of `part`, which is the end of the word at `word`.
pub(super) fn tail(word: Span, part: &str) -> Span {
    Span::new(word.end - part.len(), word.end)
}
