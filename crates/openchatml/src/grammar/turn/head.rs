//! Reads headers: the text between `<|im_start|>` and the line break.

use std::borrow::Cow;

use super::reader::Reader;
use crate::diagnostic::{did_you_mean, quote};
use crate::grammar::frame::may_hide;
use crate::grammar::spaces::{self, Allowed, misplaced};
use crate::grammar::{check_speaker, words};
use crate::model::{Layout, Message, Role};
use crate::reading::{Kept, Out, hide};
use crate::{Code, Diagnostic, Dropped, Span};

impl<'a> Reader<'a> {
    /// Reads a header: `role [name=<name>]` (SPEC 0.1 §3).
    pub(super) fn head(
        &mut self,
        header: &Kept<'a>,
        start: Span,
        complete: bool,
        out: &mut Out<'a, '_>,
    ) -> Message<'a> {
        let text = header.as_str();
        let at = header.span().start;
        // Text with replacement characters is longer than the input at its span.
        let end = header.span().end;
        let inside = |span: Span| Span::new(span.start.min(end), span.end.min(end));
        let mut words = words(text, at).map(|(word, span)| (word, inside(span)));
        let (word, _) = words.next().unwrap_or_default();
        let role = Role::from_word(word).filter(|role| self.rules.roles.contains(role));
        let mut message = Message::new(role.unwrap_or(Role::Tool), "");
        let mut unread = Vec::new();
        if role.is_none() {
            let place = inside(Span::new(at, at + text.trim_end().len()));
            let found = Code::ParseHeader.at(place, format!("unknown role {}", quote(word)));
            let known: Vec<_> = self.rules.roles.iter().map(|role| role.as_str()).collect();
            let hidden = format!("the message is hidden; valid roles: {}", known.join(", "));
            let help = did_you_mean(word, &known, &hidden);
            out.malformed(found.help(help));
            hide(&mut message);
            if !word.is_empty() {
                unread.push(word);
            }
        }
        for (word, span) in words {
            match word.strip_prefix("name=").filter(|name| !name.is_empty()) {
                Some(name) if message.name.is_none() => {
                    let place = Span::new(span.end.saturating_sub(name.len()), span.end);
                    message.name = Some(out.keep.text(name, place));
                }
                Some(_) => {
                    message.recovered = true;
                    unread.push(word);
                    let text = "duplicate attribute `name`";
                    out.malformed(Code::ParseHeader.at(span, text).help("the first one is used"));
                }
                None => {
                    message.recovered = true;
                    if may_hide(word) {
                        hide(&mut message);
                    }
                    unread.push(word);
                    let text = format!("unknown attribute {}", quote(word));
                    out.malformed(
                        Code::ParseHeader.at(span, text).help("valid attribute: `name=`"),
                    );
                }
            }
        }
        if !unread.is_empty() {
            message.unread = Some(unread.join(" ").into());
        }
        self.check_spaces(header, complete, out);
        check_speaker(&mut message, start, out);
        self.check_value(&mut message, header, out);
        message.layout = self.header_layout(&message, header, complete, out);
        message
    }

    /// Reports white space that is not allowed in a header.
    fn check_spaces(&self, header: &Kept<'a>, complete: bool, out: &mut Out<'a, '_>) {
        let (text, span) = (header.as_str(), header.span());
        let line = text.strip_suffix('\n').map_or(text, |it| it.strip_suffix('\r').unwrap_or(it));
        // A missing role is already reported. An incomplete header can still get its end.
        if !complete || line.trim_ascii().is_empty() {
            return;
        }
        let allowed = Allowed { before: false, between: true, after: true };
        for (place, wanted) in misplaced(line, allowed) {
            let place = Span::new(span.start + place.start, span.start + place.end);
            let found = spaces::finding(place, wanted);
            out.tolerate(match span.len() == text.len() {
                true => found,
                // Text with replacement characters has no exact positions.
                false => Diagnostic { span, fix: None, ..found },
            });
        }
    }

    fn check_value(&self, message: &mut Message<'a>, header: &Kept<'a>, out: &mut Out<'a, '_>) {
        let most = out.options.limits.value_bytes;
        let Some(name) = &message.name else { return };
        if name.len() > most {
            let text = format!("`name` exceeds the limit `value_bytes` of {most}");
            let found = Code::Limit.at(header.span(), text).help("it will be dropped");
            out.malformed(found.drops(Dropped::Limit));
            message.name = None;
            message.recovered = true;
        } else if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            let text = "the value of `name` contains white space or a control character";
            out.malformed(Code::ParseHeader.at(header.span(), text));
            message.recovered = true;
        }
    }

    fn header_layout(
        &self,
        message: &Message<'a>,
        header: &Kept<'a>,
        complete: bool,
        out: &Out<'a, '_>,
    ) -> Option<Box<Layout<'a>>> {
        let raw = out.keep.slice(header.span())?;
        let rest = raw.strip_prefix(message.role.as_str());
        let rest = match (&message.name, rest) {
            (Some(name), Some(rest)) => {
                rest.strip_prefix(" name=").and_then(|rest| rest.strip_prefix(name.as_ref()))
            }
            (None, rest) => rest,
            (Some(_), None) => None,
        };
        if rest == Some(if complete { "\n" } else { "" }) {
            return None;
        }
        let layout = Layout { form: self.rules.form, ..Layout::default() };
        Some(Box::new(Layout { header: Some(Cow::Borrowed(raw).into()), ..layout }))
    }
}
