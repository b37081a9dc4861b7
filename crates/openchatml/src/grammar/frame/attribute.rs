//! The attributes of a header: `to=`, `call_id=`, `name=`, `intent=`, `content_type=`.

use super::header::{HeadReader, tail};
use super::{Attribute, TypeStyle};
use crate::diagnostic::{did_you_mean, quote};
use crate::grammar::is_graphic;
use crate::header::is_builtin_tool;
use crate::lex::spells_token;
use crate::model::{Channel, Intent, Message, Role};
use crate::{Code, Fix, Span};

/// Whether the content type of a message can be in its header without a name (Harmony).
pub(crate) fn is_type_word(message: &Message<'_>) -> bool {
    let word = message.content_type.as_deref().unwrap_or_default();
    speaks(message.role)
        // With a known recipient, no word is read as one.
        && (message.recipient.is_some() || !looks_like_tool(word))
        && word.split_once('=').is_none_or(|(name, _)| Attribute::from_word(name).is_none())
        && !spells_token(word)
        && !may_hide(word)
}

/// Whether messages of a role can have a content type, as calls and replies do.
fn speaks(role: Role) -> bool {
    matches!(role, Role::Assistant | Role::Tool)
}

fn looks_like_tool(word: &str) -> bool {
    word.contains('.') || is_builtin_tool(word)
}

/// Whether an unknown word can mean that the message is not for the user: a misspelled channel or
/// recipient.
pub(crate) fn may_hide(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let hints = ["analysis", "commentary", "channel", "recipient", "functions."];
    word == "to" || word.starts_with("to=") || hints.iter().any(|hint| word.contains(hint))
}

impl Attribute {
    /// Returns the attribute that a word sets, and its value.
    #[inline]
    pub(super) fn split(word: &str) -> Option<(Self, &str)> {
        // The first byte distinguishes nearly all attributes.
        let first = word.as_bytes().first()?;
        let mut same = Self::ALL.iter().filter(|it| it.as_str().as_bytes()[0] == *first);
        same.find_map(|it| Some((*it, word.strip_prefix(it.as_str())?.strip_prefix('=')?)))
    }
}

impl<'a> HeadReader<'a, '_> {
    /// Reads a word that is not an attribute as a field that Harmony writes without a name: the
    /// content type or, if a model omitted `to=`, the recipient. Returns whether it is one of them.
    pub(super) fn type_word(&mut self, word: &str, span: Span) -> bool {
        if !speaks(self.message.role)
            || spells_token(word)
            || !self.check_value("content type", word, span)
        {
            return false;
        }
        if looks_like_tool(word) && self.message.recipient.is_none() {
            let fix = Fix::suggestion(Span::at(span.start), "to=");
            let text = format!("{} is read as the recipient", quote(word));
            let found = Code::ParseHeader.at(span, text);
            self.guess(
                found.help("write `to=` before it; until then, the call is not run").fix(fix),
            );
            self.message.recipient = Some(self.keep.text(word, span));
            return true;
        }
        if may_hide(word) {
            return false;
        }
        match self.message.content_type.as_deref() {
            None => self.message.content_type = Some(self.keep.text(word, span)),
            Some(before) if before == word => {
                self.tolerate(Code::ParseHeader.at(span, "duplicate content type"));
            }
            Some(_) => return false,
        }
        true
    }

    /// Reads a channel that is directly followed by an attribute, as some models write it. Returns
    /// the end of the channel.
    pub(super) fn glued_channel(&mut self, word: &str, span: Span) -> Option<usize> {
        if self.context.rules.type_style != TypeStyle::Word {
            return None;
        }
        let glued = |channel: &&Channel| {
            word.strip_prefix(channel.as_str()).is_some_and(|rest| rest.starts_with("to="))
        };
        let channel = Channel::ALL.iter().find(glued)?;
        let end = span.start + channel.as_str().len();
        let text = format!("{} has no space after the channel", quote(word));
        let found = Code::ParseHeader.at(span, text);
        self.guess(found.fix(Fix::suggestion(Span::at(end), " ")));
        self.message.channel.get_or_insert(*channel);
        Some(end)
    }

    pub(super) fn attribute(&mut self, attribute: Attribute, value: &str, word: Span) {
        let span = tail(word, value);
        self.attributes += 1;
        if self.attributes > self.context.limits.attributes {
            self.missed(attribute, value);
            if self.attributes == self.context.limits.attributes + 1 {
                let most = self.context.limits.attributes;
                let text = format!("the header exceeds the limit `attributes` of {most}");
                self.guess(Code::Limit.at(word, text));
            }
            return;
        }
        if !self.context.rules.attributes.contains(&attribute) {
            let text = format!(
                "attribute `{}` belongs to another version of the format",
                attribute.as_str()
            );
            let help = "name the format of this text, or let it be detected";
            self.missed(attribute, value);
            return self.guess(Code::ParseVersion.at(word, text).help(help));
        }
        if !self.check_value(attribute.as_str(), value, span) {
            return self.missed(attribute, value);
        }
        let first = !std::mem::replace(&mut self.given[attribute as usize], true);
        let message = &mut self.message;
        let slot = match attribute {
            Attribute::To => &mut message.recipient,
            Attribute::CallId => &mut message.call_id,
            Attribute::Name => &mut message.name,
            Attribute::ContentType if message.constrained => {
                let same = message.content_type.as_deref() == Some(value);
                if !same {
                    self.repeated(attribute, value, false, word);
                }
                return;
            }
            Attribute::ContentType => &mut message.content_type,
            Attribute::Intent => return self.intent(value, first, word),
        };
        match slot {
            None => *slot = Some(self.keep.text(value, span)),
            Some(before) => {
                let same = before == value;
                self.repeated(attribute, value, same, word);
            }
        }
    }

    /// Keeps an invalid attribute. An invalid recipient hides the message, because it could be
    /// hidden from the user.
    fn missed(&mut self, attribute: Attribute, value: &str) {
        self.unread(&format!("{attribute}={value}"));
        if attribute == Attribute::To {
            self.is_hidden = true;
        }
    }

    fn intent(&mut self, value: &str, first: bool, word: Span) {
        let intent = Intent::from_word(value);
        if intent.is_none() {
            let text = format!("unknown intent {}", quote(value));
            let help = "valid intents: `preamble`, `status`, `debug`";
            let help = did_you_mean(value, Intent::WORDS, help);
            self.unread(&format!("intent={value}"));
            return self.guess(Code::ParseHeader.at(word, text).help(help));
        }
        if first {
            self.message.intent = intent;
        } else {
            let same = self.message.intent == intent;
            if !same {
                // Neither is used, so that one of them cannot make the message visible.
                if let Some(before) = self.message.intent.take() {
                    self.unread(&format!("intent={before}"));
                }
            }
            self.repeated(Attribute::Intent, value, same, word);
        }
    }

    fn repeated(&mut self, attribute: Attribute, value: &str, same: bool, word: Span) {
        let text = format!("duplicate attribute `{}`", attribute.as_str());
        if same {
            let found = Code::ParseHeader.at(word, text);
            self.tolerate(match self.word {
                Some(word) => found.fix(Fix::safe(word, "")),
                None => found,
            });
        } else {
            let help = "the values differ; the first one is used";
            self.unread(&format!("{attribute}={value}"));
            self.guess(Code::ParseHeader.at(word, text).help(help));
        }
    }

    /// Checks that a value is allowed in a header, and not too long.
    pub(super) fn check_value(&mut self, what: &str, value: &str, span: Span) -> bool {
        let most = self.context.limits.value_bytes;
        if value.is_empty() {
            let found = Code::ParseHeader.at(span, format!("`{what}` has no value"));
            self.guess(found);
            return false;
        }
        if value.len() > most {
            let text = format!("`{what}` exceeds the limit `value_bytes` of {most}");
            self.guess(Code::Limit.at(span, text));
            return false;
        }
        self.check_graphic(what, value, span);
        true
    }

    /// Reports white space and control characters in a value. A header is only split at ASCII white
    /// space.
    pub(super) fn check_graphic(&mut self, what: &str, value: &str, span: Span) {
        if !is_graphic(value) {
            let text = format!("the value of `{what}` contains white space or a control character");
            self.guess(Code::ParseHeader.at(span, text));
        }
    }

    /// Whether [`check_value`](Self::check_value) accepts a value.
    pub(super) fn is_value(&self, value: &str) -> bool {
        !value.is_empty() && value.len() <= self.context.limits.value_bytes && is_graphic(value)
    }
}
