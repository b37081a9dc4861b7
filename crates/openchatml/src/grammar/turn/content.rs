//! Collects the content of a message, without the line break that may belong to the framing.

use super::Close;
use super::Rules;
use crate::Span;
use crate::reading::{Draft, Out};

/// A message whose content is being read.
pub(super) struct Turn<'a> {
    pub(super) draft: Draft<'a>,
    /// Whether the header ends with CRLF. The line break before `<|im_end|>` is then also CRLF.
    pub(super) crlf: bool,
    /// The last line break, or the first half of a CRLF, which may belong to the framing.
    pub(super) held: Option<(&'static str, Span)>,
}

impl<'a> Turn<'a> {
    pub(super) fn text(&mut self, text: &str, span: Span, rules: &Rules, out: &mut Out<'a, '_>) {
        if rules.close == Close::Compact {
            return self.draft.push(text, span, out);
        }
        let (mut text, mut span) = (text, span);
        if self.held.is_some_and(|(held, _)| held == "\r") && text.starts_with('\n') {
            // The second half of a line break.
            let (_, first) = self.held.take().unwrap_or_default();
            self.held = Some(("\r\n", first.to(Span::new(span.start, span.start + 1))));
            text = &text[1..];
            span.start += 1;
        }
        if text.is_empty() {
            return;
        }
        self.release(out);
        let line_break = match text {
            _ if text.ends_with("\r\n") && self.crlf => "\r\n",
            _ if text.ends_with('\n') => "\n",
            _ if text.ends_with('\r') && self.crlf => "\r",
            _ => "",
        };
        let content = &text[..text.len() - line_break.len()];
        let end = span.start + content.len();
        self.draft.push(content, Span::new(span.start, end), out);
        if !line_break.is_empty() {
            self.held = Some((line_break, Span::new(end, span.end)));
        }
    }

    /// Adds the withheld line break to the content.
    pub(super) fn release(&mut self, out: &mut Out<'a, '_>) {
        if let Some((text, span)) = self.held.take() {
            self.draft.push(text, span, out);
        }
    }
}
