//! `openchatml` on Harmony text.

use openchatml::{Format, Parsed, ReadOptions, Role, parse};

use crate::answer::{Said, function};

/// A reader of transcripts, or of completions.
pub struct Ours {
    format: Format,
    options: ReadOptions,
}

impl Ours {
    pub fn transcripts() -> Self {
        Self::of("harmony".parse().expect("a format"))
    }

    /// A reader of transcripts in another format.
    pub fn of(format: Format) -> Self {
        Self { format, options: ReadOptions::default() }
    }

    pub fn completions() -> Self {
        let mut ours = Self::transcripts();
        ours.options.continues = Some(Role::Assistant);
        ours
    }

    pub fn parse<'a>(&self, text: &'a str) -> Parsed<'a> {
        parse(text, self.format, &self.options)
    }

    /// Returns the messages in `text`.
    pub fn said(&self, text: &str) -> Vec<Said> {
        let parsed = self.parse(text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let messages = parsed.into_conversation().messages;
        let said = messages.into_iter().map(|message| Said {
            role: message.role.as_str().to_owned(),
            tool: message.name.as_deref().map(function),
            recipient: message.recipient.map(Into::into),
            channel: message.channel.map(|channel| channel.as_str().to_owned()),
            text: message.body.text().into_owned(),
        });
        said.collect()
    }
}
