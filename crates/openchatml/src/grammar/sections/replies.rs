//! Reads replies of tools.

use super::between::Kind;
use super::reader::{Reader, State};
use super::tree::TreeReply;
use crate::reading::Out;
use crate::{Control, Section, Span};

impl<'a> Reader<'a> {
    /// Begins a reply at byte `at`.
    pub(super) fn begin_reply(&mut self, at: usize, out: &mut Out<'a, '_>) {
        if self.rules.replies.inside.is_some() {
            let from = self.layout.opened.unwrap_or(at);
            self.state = State::Reply(Box::new(TreeReply::new(from, at)));
            return;
        }
        let has_id = self.rules.has_ids();
        let open = self.rules.replies.item.map(|(open, _)| open);
        let Some(mark) = open.filter(|open| open.after > 0 || has_id) else {
            return self.begin_marked(Kind::Reply, at, out);
        };
        self.behind(mark);
        self.inside = Some(Section::Reply);
    }

    /// Begins the body of a reply at byte `at`, if it has not begun. The text so far is its beginning.
    pub(super) fn settle_reply(&mut self, at: usize, out: &mut Out<'a, '_>) {
        if self.inside != Some(Section::Reply) {
            return;
        }
        let State::Turn(text) = &mut self.state else { return };
        let text = std::mem::take(text);
        self.inside = None;
        if text.is_empty() {
            return self.begin_marked(Kind::Reply, at, out);
        }
        self.speak(Kind::Reply, text, out);
        if let State::Body(body) = &mut self.state {
            body.is_marked = true;
        }
    }

    /// Keeps the text before the content of a reply, which can be the id of its call. Returns
    /// whether it is within the limit of headers.
    pub(super) fn keep_id(&mut self, text: &str, span: Span, out: &mut Out<'a, '_>) -> bool {
        let most = out.options.limits.header_bytes;
        let State::Turn(id) = &mut self.state else { return false };
        let fits = self.rules.has_ids() && text.len() <= most.saturating_sub(id.len());
        if fits {
            id.push(text, span, out.keep);
        }
        fits
    }

    /// Reads the token between the id of the call and the content of a reply, if it is this one.
    pub(super) fn ends_id(&mut self, control: Control, span: Span, out: &mut Out<'a, '_>) -> bool {
        let is_reply = self.inside == Some(Section::Reply);
        if !is_reply || self.rules.replies.content != Some(control) {
            return false;
        }
        let State::Turn(id) = &mut self.state else { return false };
        let id = id.take();
        self.reply_id = Some(id.into_owned()).filter(|id| !id.is_empty());
        self.inside = None;
        self.begin_marked(Kind::Reply, span.end, out);
        true
    }
}
