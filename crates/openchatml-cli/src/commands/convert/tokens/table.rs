//! Writes ids as a table for people.

use std::fmt::Write as _;
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use openchatml::Conversation;
use openchatml_tokens::{Encoding as _, MessageSpan, Rendered, Token, Tokenizer};

use super::mask::Numbers;
use crate::encodings::OneEncoding;
use crate::visible::visible_line;

/// Appends a line for each id: its index, whether it is trained, the id, its text, and the message
/// that begins there.
pub(super) fn write(
    out: &mut String,
    colors: bool,
    tokenizer: &Tokenizer<OneEncoding>,
    (conversation, numbers): (&Conversation<'_>, Numbers<'_>),
    (rendered, mask): (&Rendered, &[bool]),
) {
    let digits = |number: usize| number.checked_ilog10().unwrap_or(0) as usize + 1;
    let place = digits(rendered.ids.len());
    let most = rendered.ids.iter().copied().max().unwrap_or(0);
    let id_digits = digits(most as usize);
    let mut spans = rendered.spans.iter().peekable();
    let mut last: Option<&MessageSpan> = None;
    for (at, (id, trained)) in rendered.ids.iter().zip(mask).enumerate() {
        if let Some(span) = spans.next_if(|span| span.ids().start == at) {
            last = Some(span);
        }
        let kind = last.map_or(Kind::Layout, |span| Kind::of(span, at));
        let text = spelled(tokenizer, *id);
        let mark = if *trained { '*' } else { ' ' };
        let _ = write!(out, "{at:place$} {mark} {id:id_digits$}  ");
        let style = kind.style();
        let _ = match colors {
            true => write!(out, "{style}{text}{style:#}"),
            false => write!(out, "{text}"),
        };
        if let Some(span) = last.filter(|span| span.ids().start == at) {
            let about = conversation.messages.get(span.message);
            let about = about.map(|message| match message.channel {
                Some(channel) => format!("{}, {channel}", message.role),
                None => message.role.to_string(),
            });
            let about = about.unwrap_or_else(|| "generation prompt".to_owned());
            let pad = 18_usize.saturating_sub(text.chars().count());
            let number = numbers.of(span.message).next();
            let number = number.filter(|_| span.message < conversation.messages.len());
            let _ = match number {
                Some(number) => write!(out, "{:pad$}  message {number}: {about}", ""),
                None => write!(out, "{:pad$}  added: {about}", ""),
            };
        }
        out.push('\n');
    }
    let trained = mask.iter().filter(|trained| **trained).count();
    let _ = write!(out, "{} ids, {trained} of them trained (*)", rendered.ids.len());
}

/// The part to which an id belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Header,
    Body,
    End,
    Layout,
}

impl Kind {
    fn of(span: &MessageSpan, at: usize) -> Self {
        let has = |part: &Range<usize>| part.contains(&at);
        match span {
            _ if has(&span.opening) || has(&span.header) => Self::Header,
            _ if has(&span.body) => Self::Body,
            _ if has(&span.end) => Self::End,
            _ => Self::Layout,
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Header => AnsiColor::Cyan.on_default(),
            Self::Body => Style::new(),
            Self::End => AnsiColor::Magenta.on_default(),
            Self::Layout => Style::new().dimmed(),
        }
    }
}

/// Returns the meaning of an id on one line: text in quotes, bytes that are not text as numbers.
fn spelled(tokenizer: &Tokenizer<OneEncoding>, id: u32) -> String {
    let quoted = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
        format!("\"{}\"", visible_line(&escaped))
    };
    match tokenizer.encoding().token(id) {
        Some(Token::Control(spelling)) => visible_line(spelling).into_owned(),
        Some(Token::Text(text)) => quoted(text),
        Some(Token::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => quoted(text),
            Err(_) => bytes.iter().map(|byte| format!("<{byte:02X}>")).collect(),
        },
        None => "?".to_owned(),
    }
}
