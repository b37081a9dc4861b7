//! Handles incomplete output of a model.

use openchatml::convert::convert;
use openchatml::{Conversation, Document, Message, Role, Visibility, parse};

use super::Session;
use super::completion_reader::is_partial;
use super::plan::CallIds;

impl Session {
    /// Returns the message as it is read again from a transcript in which it is the last one.
    fn written_and_read(&self, message: &Message<'static>) -> Option<Message<'static>> {
        let messages = [Message::new(Role::User, "-"), message.clone()];
        let document = Document::from(Conversation::from_messages(messages));
        let written = convert(&document, self.format, &self.options.render).ok()?;
        let read = parse(&written.output, self.format, &self.options.read);
        read.into_conversation().into_owned().messages.pop()
    }

    /// Keeps an incomplete answer, if the format can mark it as incomplete.
    pub(super) fn keep_partial(&mut self, partial: Message<'static>) {
        let Some(partial) = self.writable(partial) else { return };
        let stays = self.written_and_read(&partial).as_ref().is_some_and(is_partial);
        self.conversation.messages.extend(stays.then_some(partial));
    }

    /// Drops user-visible text before an incomplete end, if the transcript would read it as the
    /// final answer: the next run would stop there.
    pub(super) fn drop_preambles(&mut self, from: usize) {
        let is_preamble = |it: &Message<'_>| {
            it.role == Role::Assistant
                && !it.is_call()
                && !it.is_answer()
                && it.visibility() == Visibility::User
        };
        let before = self.conversation.messages.len();
        while let Some(last) = self.conversation.messages.get(from..).and_then(<[_]>::last)
            && is_preamble(last)
            && self.written_and_read(last).as_ref().is_some_and(Message::is_answer)
        {
            self.conversation.messages.pop();
        }
        if self.conversation.messages.len() < before {
            (self.names, self.saved_messages) = (CallIds::default(), None);
            self.names.look(&self.conversation.messages);
        }
    }

    /// Drops an incomplete answer and the reasoning before it. The model answers again and does not
    /// see them.
    pub(super) fn drop_partial(&mut self) {
        let messages = &mut self.conversation.messages;
        if messages.pop_if(|last| is_partial(last)).is_none() {
            return;
        }
        let is_said = |last: &mut Message<'_>| last.role == Role::Assistant && !last.is_call();
        while messages.pop_if(is_said).is_some() {}
        (self.names, self.saved_messages) = (CallIds::default(), None);
        self.names.look(&self.conversation.messages);
    }
}
