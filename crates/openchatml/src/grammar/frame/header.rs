//! What stands between `<|start|>` and `<|message|>`.
//!
//! `HEADER CHANNELTAG CONSTRAIN` of SPEC 2.2 §15. DEVIATION: attributes come in any order, before
//! or after the channel, since the specification's own examples do not keep the grammar's order.

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

/// What a header says, and what is wrong with it.
pub(super) struct Head<'a> {
    pub(super) message: Message<'a>,
    /// Findings, and whether lenient reading tolerates them.
    pub(super) found: Vec<(Diagnostic, bool)>,
    /// Whether the writer would write the same header.
    pub(super) is_canonical: bool,
}

/// Whether a header came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// It ends at `<|message|>`: all of it is header.
    Whole,
    /// The input ends in it: a prompt.
    Open,
    /// Its `<|message|>` is missing: what is no header is text that lost its place.
    Broken,
}

/// What a header is read with.
pub(super) struct Context<'c> {
    pub(super) shape: Shape,
    pub(super) rules: &'static Rules,
    pub(super) limits: &'c Limits,
    /// Whether nobody but the assistant can speak.
    pub(super) is_completion: bool,
    pub(super) checker: Option<&'c Checker>,
    /// All of the header, where that is known and the role is part of it.
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

/// The finding that a call, whose header stands here, says no tool.
pub(crate) fn lost_call(header: Span) -> Diagnostic {
    let found = Code::ParseHeader.at(header, "the call does not say which tool it is for");
    found.help("add `to=` to its header; the call is hidden")
}

pub(super) struct HeadReader<'a, 'c> {
    pub(super) context: &'c Context<'c>,
    pub(super) keep: Keep<'a>,
    pub(super) message: Message<'a>,
    pub(super) found: Vec<(Diagnostic, bool)>,
    /// What is no word of a header: text that lost its `<|message|>`, if it did.
    pub(super) rest: Kept<'a>,
    /// Whether an attribute was given, by its number.
    pub(super) given: [bool; Attribute::COUNT],
    pub(super) attributes: usize,
    /// The attribute that is being read, with the space before it, if there is one.
    pub(super) word: Option<Span>,
    /// Whether the message is hidden, whatever channel it declares.
    pub(super) is_hidden: bool,
    /// The words that say nothing known.
    unread: Vec<String>,
}

impl<'a> HeadReader<'a, '_> {
    /// The role, and attributes.
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
            // In a completion it is certain who speaks, and a channel says who may see it.
            if !self.context.is_completion || !opening.regions().iter().any(is_channel) {
                self.message.channel = Some(Channel::Analysis);
            }
            return;
        };
        let addressed = || words(text, start).skip(1).any(|(word, _)| word.starts_with("to="));
        self.role(word, span, addressed);
        self.words_of(&opening.first, start, span.end);
    }

    /// What follows its control tokens: the channel, the constraint, and attributes behind them.
    fn regions(&mut self, opening: &Opening<'a>) {
        let mut has_channel = false;
        for (index, region) in opening.regions().iter().enumerate() {
            let words = match region.control {
                Control::Channel if index == 0 => self.channel(region),
                Control::Channel => self.late_channel(region, has_channel),
                Control::Constrain => self.constrain(region),
                // A token that has no place in a header: that was said already.
                _ => {
                    self.message.recovered = true;
                    region.at
                }
            };
            self.words_of(&region.text, region.at, words);
            has_channel |= region.control == Control::Channel;
        }
    }

    /// A channel behind other tags. Gives where it ends.
    fn late_channel(&mut self, region: &Region<'a>, is_second: bool) -> usize {
        let what = match is_second {
            true => "a second channel tag: a message has one channel",
            false => "the channel tag is out of place: it comes before all other tags",
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

    /// Reports white space that cannot stand in the header.
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
            // That there is no word where there must be one was said already.
            if text.trim_ascii().is_empty() && !before {
                continue;
            }
            // Where no words can follow, they were reported themselves.
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
                let text = format!("{} is the old way to name a tool that replies", quote(word));
                let found = Code::LegacyRole.at(span, text).help("write role `tool` and `name=`");
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
                    let text = format!("{} is no role, and no built-in tool here", quote(word));
                    let help = "list it in `generation_settings.builtin_tools`";
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
                let text = format!("{} is no role; taken for `{meant}`", quote(word));
                self.tolerate(Code::ParseSlip.at(span, text).fix(Fix::safe(span, meant)));
            }
            Some(Speaker::Addressed(_)) | None => {
                // Nobody knows who speaks: the least authority of all, and hidden.
                message.role = Role::Tool;
                message.name = Some(self.keep.text(word, span));
                message.channel = Some(Channel::Analysis);
                let found = match self.foreign(word) {
                    true => self.version(word, span),
                    false => {
                        let text = format!("{} is no role", quote(word));
                        let help = self.meant_role(word);
                        Code::ParseHeader.at(span, text).help(help)
                    }
                };
                self.guess(found);
            }
        }
    }

    /// Which role of the dialect may be meant.
    fn meant_role(&self, word: &str) -> String {
        let is_known = |word: &&str| (self.context.rules.speaker)(word).is_some();
        let known: Vec<_> = Role::WORDS.iter().copied().filter(is_known).collect();
        let help = format!("the message is hidden; roles are {}", known.join(", "));
        did_you_mean(word, &known, &help)
    }

    /// The channel. Gives where it ends.
    fn channel(&mut self, region: &Region<'a>) -> usize {
        let text = region.text.as_str();
        if let Some(channel) = Channel::from_word(text) {
            // A message that is hidden already stays so.
            self.message.channel.get_or_insert(channel);
            return region.at + text.len();
        }
        let Some((word, span)) = words(text, region.at).next() else {
            self.hide("the channel has no name", region);
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
                let text = format!("{} is no channel", quote(word));
                let help = "the message is hidden; channels are analysis, commentary and final";
                let help = did_you_mean(word, Channel::WORDS, help);
                self.guess(Code::ParseHeader.at(span, text).help(help));
                self.unread(word);
                self.message.channel = Some(Channel::Analysis);
            }
        }
        span.end
    }

    /// The type that the body must have. Gives where it ends.
    fn constrain(&mut self, region: &Region<'a>) -> usize {
        let text = region.text.as_str();
        let Some((word, span)) = words(text, region.at).next() else {
            let found = Code::ParseHeader.at(Span::at(region.at), "the constraint has no type");
            self.guess(found.help("write the type after it, such as `json`"));
            return region.at;
        };
        let before = self.message.content_type.take();
        let is_constrained = self.message.constrained && before.is_some();
        if let Some(before) = before.filter(|before| before != word) {
            let text = format!("two content types; {} counts", quote(word));
            self.tolerate(Code::ParseHeader.at(span, text));
            let is_attribute = self.given[Attribute::ContentType as usize];
            let name = if is_attribute { "content_type=" } else { "" };
            self.unread(&format!("{name}{before}"));
        }
        if is_constrained {
            self.tolerate(Code::ParseHeader.at(span, "the constraint is given twice"));
        }
        self.check_value("content type", word, span);
        self.message.content_type = Some(self.keep.text(word, span));
        self.message.constrained = true;
        span.end
    }

    /// The words from byte `at` on of a text that begins at byte `start`: attributes, or what is
    /// no word of a header.
    fn words_of(&mut self, text: &Kept<'a>, start: usize, at: usize) {
        let text = text.as_str();
        for (word, span) in words(text.get(at - start..).unwrap_or_default(), at) {
            match Attribute::split(word) {
                Some((attribute, value)) => {
                    // The first word may follow something else directly, which says more than it.
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
                            let text = format!("{} is no attribute of a header", quote(word));
                            let name = word.split('=').next().unwrap_or_default();
                            let help = "attributes are `to=`, `call_id=`, `name=`, `intent=` and `content_type=`";
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

    /// Keeps a word that says nothing known.
    pub(super) fn unread(&mut self, word: &str) {
        self.unread.push(word.to_owned());
    }

    /// Whether a word of a header spells a control token, which is then of another version.
    fn foreign(&self, word: &str) -> bool {
        spells_token(word)
    }

    fn version(&self, word: &str, span: Span) -> Diagnostic {
        let text = format!("{} has a control token of another version", quote(word));
        let help = "name the format of the text, or let it be detected";
        Code::ParseVersion.at(span, text).help(help)
    }

    fn hide(&mut self, text: &str, region: &Region<'a>) {
        let end = region.at + region.text.len();
        let found = Code::ParseHeader.at(Span::new(region.at, end), text);
        self.guess(found.help("the message is hidden, whatever it says"));
        self.message.channel = Some(Channel::Analysis);
    }

    /// Drops the safe fixes of a header that is so long that a limit would count after them as it
    /// did not before, or that would no longer exceed one.
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

    /// Notes what makes the message a guess.
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

/// The span of `part`, which is the end of the word at `word`.
pub(super) fn tail(word: Span, part: &str) -> Span {
    Span::new(word.end - part.len(), word.end)
}
