//! The layout of messages: a label, and the text below it.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style as Look};
use openchatml::{DebugMessage, Message, Role, Segment, UserMessage, Visibility};

use crate::console::Console;
use crate::output::Target;
use crate::visible::{exposed, visible, visible_line};

/// The requirements of the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputTarget {
    has_colors: bool,
    /// Whether text must be escaped for a terminal.
    is_terminal: bool,
}

impl OutputTarget {
    pub(super) fn of(target: &Target, console: &Console) -> Self {
        Self { has_colors: console.colors_output(), is_terminal: target.is_terminal() }
    }

    /// Appends a message that a user may see.
    pub(super) fn user(self, message: &UserMessage<'_>, out: &mut String) {
        let preamble = if message.is_preamble() { " (preamble)" } else { "" };
        let look = look(message.role(), Visibility::User);
        self.entry(look, &format!("{}{preamble}", message.role()), message.text(), out);
    }

    /// Appends a message, and marks it if it is hidden.
    pub(super) fn debug(
        self,
        DebugMessage { visibility, message, .. }: DebugMessage<'_, '_>,
        out: &mut String,
    ) {
        let mut label = message.role.to_string();
        let attributes = [
            ("name", message.name.as_deref()),
            ("to", message.recipient.as_deref()),
            ("call_id", message.call_id.as_deref()),
            ("channel", message.channel.map(|channel| channel.as_str())),
            ("intent", message.intent.map(|intent| intent.as_str())),
            ("type", message.content_type.as_deref()),
        ];
        for (name, value) in attributes {
            if let Some(value) = value {
                label.push_str(&format!(" {name}={}", visible_line(value)));
            }
        }
        if visibility == Visibility::Hidden {
            label.push_str(" [hidden]");
        }
        if message.recovered {
            label.push_str(" [recovered]");
        }
        self.entry(look(message.role, visibility), &label, &body(message), out);
    }

    /// Appends a heading of several messages.
    pub(super) fn heading(self, text: &str, out: &mut String) {
        if !out.is_empty() {
            out.push('\n');
        }
        let look = Look::new().bold();
        match self.has_colors {
            true => out.push_str(&format!("{look}== {text} =={look:#}\n")),
            false => out.push_str(&format!("== {text} ==\n")),
        }
    }

    /// Appends only text.
    pub(super) fn text(self, text: &str, out: &mut String) {
        match self.is_terminal {
            true => out.push_str(&visible(&exposed(text))),
            false => out.push_str(text),
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }

    /// Appends a label and an indented text, so that no text can imitate a label.
    fn entry(self, look: Look, label: &str, text: &str, out: &mut String) {
        if !out.is_empty() {
            out.push('\n');
        }
        // This layout is for people, also behind a pipe.
        let text = exposed(text);
        let (label, text) = match self.is_terminal {
            true => (visible(label), visible(&text)),
            false => (label.into(), Cow::Borrowed(&*text)),
        };
        match self.has_colors {
            true => out.push_str(&format!("{look}{label}{look:#}\n")),
            false => out.push_str(&format!("{label}\n")),
        }
        for line in text.lines() {
            if !line.is_empty() {
                out.push_str("  ");
                out.push_str(line);
            }
            out.push('\n');
        }
    }
}

/// Returns the text of a message with its markers.
pub(super) fn body(message: &Message<'_>) -> String {
    let mut text = String::with_capacity(message.body.len());
    for segment in message.body.segments() {
        match segment {
            Segment::Text(part) | Segment::Literal(part) => text.push_str(&part),
            Segment::Marker(marker) => text.push_str(&format!("[{marker}] ")),
        }
    }
    text
}

fn look(role: Role, visibility: Visibility) -> Look {
    let color = match role {
        Role::User => AnsiColor::BrightBlue,
        Role::Assistant => AnsiColor::BrightGreen,
        Role::Tool => AnsiColor::BrightYellow,
        Role::System | Role::Developer => AnsiColor::BrightMagenta,
    };
    match visibility {
        Visibility::User => color.on_default().bold(),
        Visibility::Hidden => color.on_default().dimmed(),
    }
}
