//! The sizes of conversations.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, Field, Fields};
use openchatml::convert::prepare;
use openchatml::{Conversation, Document};
use openchatml_tokens::Rendered;

use super::columns::{Cell, Structs, number, structs_field, word};
use super::options::{KernelOptions, Tokens};
use super::task::{Columns, Outcome, ReadDocument};
use super::tokenize::OneTokenizer;

/// The column `counts`.
pub(super) struct Counts<'k> {
    options: &'k KernelOptions,
    /// How to count ids.
    tokens: Option<(&'k Tokens, &'k OneTokenizer)>,
    counts: Structs,
}

fn fields() -> Fields {
    Fields::from(vec![
        word("role", true),
        word("channel", true),
        number("messages", false),
        number("bytes", false),
        number("ids", true),
    ])
}

/// The sizes of the messages with a role and a channel. Ids that belong to no message of the
/// conversation have no role.
#[derive(Debug, Default)]
struct Sizes {
    role: Option<&'static str>,
    channel: Option<&'static str>,
    messages: usize,
    bytes: usize,
    ids: usize,
}

impl<'k> Counts<'k> {
    pub(super) fn new(
        options: &'k KernelOptions,
        tokens: Option<(&'k Tokens, &'k OneTokenizer)>,
    ) -> Self {
        Self { options, tokens, counts: Structs::new(fields()) }
    }

    pub(super) fn fields() -> Vec<Field> {
        vec![structs_field("counts", fields())]
    }

    /// Adds the ids of the messages, if the format can express the document.
    fn count_ids(
        &self,
        document: &Document<'_>,
        (tokens, tokenizer): (&Tokens, &OneTokenizer),
        sizes: &mut Vec<Sizes>,
    ) -> bool {
        let (purpose, render) = (self.options.purpose, &self.options.render);
        let format = tokens.format.into();
        let (document, ..) = purpose.prepare(document.clone(), format, render);
        let Ok(prepared) = prepare(&document, format, render) else { return false };
        let Ok(rendered) = tokenizer.render_prepared(&prepared, render) else { return false };
        let Some(conversation) = prepared.document.as_conversation() else { return false };
        add_ids(conversation, &rendered, sizes);
        true
    }
}

impl Columns for Counts<'_> {
    fn push(&mut self, mut read: ReadDocument<'_>) -> Outcome {
        let _ = self.options.consent.judge(&mut read.found, &mut Vec::new());
        if read.is_lost(self.options) {
            return Outcome::refused(read.found);
        }
        let mut sizes = Vec::new();
        for conversation in read.document.conversations() {
            for message in &conversation.messages {
                let channel = message.channel.map(|channel| channel.as_str());
                let known = of(&mut sizes, Some(message.role.as_str()), channel);
                known.messages += 1;
                known.bytes += message.body.text().len();
            }
        }
        let counted =
            self.tokens.is_some_and(|tokens| self.count_ids(&read.document, tokens, &mut sizes));
        self.counts.restart_row();
        for Sizes { role, channel, messages, bytes, ids } in sizes {
            self.counts.push([
                Cell::Word(role),
                Cell::Word(channel),
                Cell::Number(Some(messages)),
                Cell::Number(Some(bytes)),
                Cell::Number(counted.then_some(ids)),
            ]);
        }
        self.counts.end_row();
        Outcome::written(read.found)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(vec![self.counts.finish()?])
    }
}

fn add_ids(conversation: &Conversation<'_>, rendered: &Rendered, sizes: &mut Vec<Sizes>) {
    let mut left = rendered.ids.len();
    for span in &rendered.spans {
        let ids = span.ids().len();
        if let Some(message) = conversation.messages.get(span.message) {
            let channel = message.channel.map(|channel| channel.as_str());
            of(sizes, Some(message.role.as_str()), channel).ids += ids;
            left = left.saturating_sub(ids);
        }
    }
    if left > 0 {
        of(sizes, None, None).ids += left;
    }
}

/// Returns the sizes of this role and channel.
fn of<'s>(
    sizes: &'s mut Vec<Sizes>,
    role: Option<&'static str>,
    channel: Option<&'static str>,
) -> &'s mut Sizes {
    let at = sizes.iter().position(|it| (it.role, it.channel) == (role, channel));
    let at = at.unwrap_or_else(|| {
        sizes.push(Sizes { role, channel, ..Sizes::default() });
        sizes.len() - 1
    });
    &mut sizes[at]
}
