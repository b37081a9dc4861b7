//! Completions from which a server has removed the control tokens: `analysis…assistantfinal…`.
//!
//! A server that decodes with `skip_special_tokens=True` leaves only the words of the headers. They
//! can also occur in texts, so such a completion is only read on request, and only its last answer is
//! shown: text that may be reasoning stays hidden.

use crate::dialect::Stripped;
use crate::model::{Body, Channel, Conversation, End, Message, Role};
use crate::options::{ReadOptions, Recover};
use crate::reading::Parsed;
use crate::{Code, Control, Severity, Span};

pub(super) static STRIPPED: Stripped = Stripped {
    name: "a completion of gpt-oss without its control tokens",
    help: "let the server keep them (`skip_special_tokens=False`); to read the text as it is, use `--from harmony --recover stripped`",
    read,
};

/// The words that precede the channel of a further message.
const SPEAKER: &str = "assistant";

/// A header of which only words are left.
struct Words {
    /// The words.
    span: Span,
    channel: Channel,
}

/// The tokens at which servers stop. Some keep only these.
const STOPS: &[Control] = &[Control::Return, Control::Call, Control::End];

/// Reads a completion without control tokens. Returns `None` for other texts.
fn read<'a>(whole: &'a str, options: &ReadOptions) -> Option<Parsed<'a>> {
    let controls = &super::tokens::CONTROLS;
    let before = |stop: &Control| whole.trim_ascii_end().strip_suffix(controls.spelling(*stop)?);
    let text = STOPS.iter().find_map(before).unwrap_or(whole);
    let blank = text.len() - text.trim_ascii_start().len();
    let spoken = text[blank..].strip_prefix(SPEAKER).map_or(0, |_| SPEAKER.len());
    let first = words_at(text, Span::new(blank, blank + spoken))?;
    let is_short = text.len() <= options.limits.message_bytes;
    let has_tokens = controls.find(text).is_some();
    // A text that only begins with such a word is an ordinary text, unless the caller knows better.
    let all = further(text, first.span.end);
    let rest = &text[first.span.end..];
    let is_word = rest.starts_with(|next: char| next.is_ascii_lowercase() || next == ' ');
    let is_stripped = !all.is_empty()
        || first.channel == Channel::Analysis && spoken > 0
        || options.recover == Recover::Stripped && !is_word;
    if has_tokens || !is_short || !is_stripped {
        return None;
    }
    let headers: Vec<Words> = std::iter::once(first).chain(all).collect();
    let mut messages = Vec::with_capacity(headers.len());
    for (at, header) in headers.iter().enumerate() {
        let end = headers.get(at + 1).map_or(text.len(), |next| next.span.start);
        messages.push(message(text, header, end));
    }
    if let Some(last) = messages.last_mut() {
        last.span.end = whole.len();
    }
    messages.truncate(options.limits.messages);
    let words =
        "the control tokens of this completion are missing; it is read by the words that are left";
    let span = headers.first().map_or(Span::at(0), |header| header.span);
    let found = Code::ParseFrame.at(span, words).severity(Severity::Warning).help(STRIPPED.help);
    let document = Conversation::from_messages(messages).into();
    Some(Parsed { document, diagnostics: vec![found] })
}

/// Returns the header whose channel follows `before`, the word of the speaker.
fn words_at(text: &str, before: Span) -> Option<Words> {
    let rest = &text[before.end..];
    let channels = [Channel::Analysis, Channel::Commentary, Channel::Final];
    let channel = channels.into_iter().find(|channel| rest.starts_with(channel.as_str()))?;
    let span = Span::new(before.start, before.end + channel.as_str().len());
    Some(Words { span, channel })
}

/// Returns the headers after byte `from`. An answer begins at the last header of an answer, because
/// reasoning can quote one.
fn further(text: &str, from: usize) -> Vec<Words> {
    let found = memchr::memmem::find_iter(&text.as_bytes()[from..], SPEAKER.as_bytes());
    let places = found.map(|at| Span::new(from + at, from + at + SPEAKER.len()));
    let all = places.filter_map(|place| words_at(text, place));
    let all: Vec<Words> = all.filter(|header| !is_quoted(text, header)).collect();
    let answer = all.iter().rposition(|header| header.channel == Channel::Final);
    let is_inside =
        |at: usize, header: &Words| header.channel != Channel::Final || Some(at) == answer;
    let kept = all.into_iter().enumerate();
    kept.filter(|(at, header)| is_inside(*at, header)).map(|(_, header)| header).collect()
}

/// Whether the words of a header stand in a text as a text would have them: between spaces, or
/// quoted. The words of tokens that were removed touch what is around them.
fn is_quoted(text: &str, header: &Words) -> bool {
    let before = text[..header.span.start].chars().next_back();
    let is_apart = text[header.span.end..].starts_with([' ', '.', ',', ';', '?', ')'])
        && header.channel == Channel::Final;
    is_apart || before.is_some_and(|before| " \t`'\"(“‘*".contains(before))
}

/// Returns the message with this header, whose text ends at byte `end`.
fn message<'a>(text: &'a str, header: &Words, end: usize) -> Message<'a> {
    let mut message = Message::new(Role::Assistant, "");
    message.channel = Some(header.channel);
    let mut body = header.span.end;
    if let Some((tool, len)) = recipient(&text[body..end]) {
        message.recipient = Some(tool.into());
        message.content_type = Some("json".into());
        body += len;
    }
    // Only the answer is certain enough to be shown, and nothing to be run.
    message.recovered = header.channel != Channel::Final;
    message.body = Body::from(&text[body..end]);
    message.span = Span::new(header.span.start, end);
    message.body_at = body;
    message.end = End::End;
    message
}

/// Returns the recipient after a channel, and the length of the rest of the header.
fn recipient(text: &str) -> Option<(&str, usize)> {
    let named = text.trim_ascii_start().strip_prefix("to=")?;
    let len = named.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)))?;
    let tool = &named[..len];
    let rest = named[len..].trim_ascii_start();
    let rest = rest.strip_prefix("json").or(rest.strip_prefix("code")).unwrap_or(rest);
    let rest = rest.trim_ascii_start();
    (!tool.is_empty()).then_some((tool, text.len() - rest.len()))
}
