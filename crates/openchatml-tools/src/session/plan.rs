//! Determines the next step from the transcript alone.

use std::collections::{HashMap, HashSet};

use openchatml::{Conversation, End, Message, history};

/// The next step of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Run these calls, which have no reply.
    Answer(Vec<PendingCall>),
    /// Ask the model to continue.
    Sample,
    /// The model has answered.
    Done,
}

/// A call that has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingCall {
    /// The index of its message.
    pub(super) at: usize,
    /// The id of the call in this session, unique in the conversation.
    pub(super) id: String,
    /// The id in its message, if an earlier call has the same.
    pub(super) repeated: Option<String>,
}

/// The next step of a session.
///
/// A call is abandoned if a message of the user follows before its reply. Abandoned calls do not
/// run.
pub(super) fn next(conversation: &Conversation<'_>) -> Next {
    let messages = &conversation.messages;
    let pending = pending(messages);
    if !pending.is_empty() {
        return Next::Answer(pending);
    }
    // A model that answers without waiting for a reply has not seen the reply.
    let last = messages.last();
    let is_whole = |answer: &Message<'_>| !matches!(answer.end, End::Open | End::Prompt);
    match last.is_some_and(|last| last.is_answer() && is_whole(last)) {
        true => Next::Done,
        false => Next::Sample,
    }
}

/// Returns the calls without a reply after the last message of the user.
fn pending(messages: &[Message<'_>]) -> Vec<PendingCall> {
    let turn = history::last_turn(messages);
    let answered: HashSet<usize> = history::answers(messages).into_iter().flatten().collect();
    let calls = named(messages).into_iter();
    calls.filter(|call| call.at >= turn && !answered.contains(&call.at)).collect()
}

/// Returns the number of abandoned calls.
pub(super) fn abandoned_calls(messages: &[Message<'_>]) -> usize {
    let answered: HashSet<usize> = history::answers(messages).into_iter().flatten().collect();
    let open = named(messages).iter().filter(|call| !answered.contains(&call.at)).count();
    open - pending(messages).len()
}

/// Gives each call of a transcript a unique id.
///
/// The ids depend only on the messages up to the call. A call therefore has the same id after a
/// crash, even in formats without call ids.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    /// The ids that the messages contain.
    own: HashSet<String>,
    used: HashSet<String>,
    calls: Vec<PendingCall>,
    /// The number of messages that were processed.
    seen: usize,
}

impl CallIds {
    /// Processes new messages. `messages` begins with those that were processed before.
    pub(super) fn look(&mut self, messages: &[Message<'_>]) {
        let is_call = |message: &&Message<'_>| message.is_call() && !message.foreign;
        let new = messages.get(self.seen..).unwrap_or_default();
        let own = new.iter().filter(is_call).filter_map(|message| message.call_id.as_deref());
        self.own.extend(own.map(str::to_owned));
        for (at, message) in new.iter().enumerate().filter(|(_, message)| is_call(message)) {
            self.add(self.seen + at, message.call_id.as_deref());
        }
        self.seen = messages.len();
    }

    fn add(&mut self, at: usize, id: Option<&str>) {
        let is_repeated = id.is_some_and(|id| self.used.contains(id));
        let mut name = match id {
            Some(id) if !is_repeated => id.to_owned(),
            Some(id) => format!("{id}_"),
            None => format!("call_{}", self.calls.len() + 1),
        };
        // The ids of later calls are not known yet, so only earlier ids are avoided.
        while self.used.contains(&name) || id != Some(&*name) && self.own.contains(&name) {
            name.push('_');
        }
        self.used.insert(name.clone());
        let repeated = id.filter(|_| is_repeated).map(str::to_owned);
        self.calls.push(PendingCall { at, id: name, repeated });
    }

    /// Returns the calls in their order.
    pub(super) fn calls(&self) -> &[PendingCall] {
        &self.calls
    }

    /// Returns the message indexes of the calls, by their ids.
    pub(super) fn positions(&self) -> HashMap<&str, usize> {
        self.calls.iter().map(|call| (&*call.id, call.at)).collect()
    }
}

/// Returns all calls, each with a unique id.
fn named(messages: &[Message<'_>]) -> Vec<PendingCall> {
    let mut names = CallIds::default();
    names.look(messages);
    names.calls
}

#[cfg(test)]
mod tests {
    use openchatml::{Channel, Conversation, End, Message, Role};

    use super::{Next, abandoned_calls, named, next};

    fn call(id: Option<&'static str>, tool: &'static str) -> Message<'static> {
        let mut call = Message::new(Role::Assistant, "{}");
        call.channel = Some(Channel::Commentary);
        call.recipient = Some(tool.into());
        call.call_id = id.map(Into::into);
        call.end = End::Call;
        call
    }

    fn reply(id: Option<&'static str>, tool: &'static str) -> Message<'static> {
        let mut reply = Message::new(Role::Tool, "{}");
        reply.name = Some(tool.into());
        reply.call_id = id.map(Into::into);
        reply
    }

    fn user() -> Message<'static> {
        Message::new(Role::User, "Hi.")
    }

    /// The ids of the calls to run, or the name of another step.
    fn plan(messages: impl IntoIterator<Item = Message<'static>>) -> Vec<String> {
        match next(&Conversation::from_messages(messages)) {
            Next::Answer(pending) => pending.into_iter().map(|pending| pending.id).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn calls_without_a_reply_come_first() {
        assert_eq!(plan([]), ["Sample"]);
        assert_eq!(plan([user()]), ["Sample"]);
        assert_eq!(plan([user(), Message::reasoning("Hm.")]), ["Sample"]);
        assert_eq!(plan([user(), Message::answer("4.")]), ["Done"]);
        let mut partial = Message::answer("4");
        partial.end = End::Open;
        assert_eq!(plan([user(), partial]), ["Sample"]);
        assert_eq!(plan([user(), call(Some("a"), "f"), call(Some("b"), "f")]), ["a", "b"]);
        let (a, b) = (call(Some("a"), "f"), call(Some("b"), "f"));
        assert_eq!(plan([user(), a.clone(), b.clone(), reply(Some("a"), "f")]), ["b"]);
        let replies = [reply(Some("b"), "f"), reply(Some("a"), "f")];
        assert_eq!(plan([user(), a.clone(), b].into_iter().chain(replies)), ["Sample"]);
        // An answer before the reply to its call.
        assert_eq!(plan([user(), a.clone(), Message::answer("4.")]), ["a"]);
        let late = [user(), a, Message::answer("4."), reply(Some("a"), "f")];
        assert_eq!(plan(late), ["Sample"]);
    }

    #[test]
    fn abandoned_calls_do_not_run() {
        let messages = [user(), call(Some("a"), "f"), user(), call(Some("b"), "f")];
        assert_eq!(abandoned_calls(&messages), 1);
        assert_eq!(plan(messages), ["b"]);
        let mut foreign = user();
        foreign.foreign = true;
        assert_eq!(plan([user(), call(Some("a"), "f"), foreign]), ["a"]);
    }

    #[test]
    fn calls_without_ids_get_ids_from_their_position() {
        let calls = [call(None, "f"), call(None, "g"), reply(None, "g"), call(None, "f")];
        assert_eq!(plan(calls.clone()), ["call_1", "call_3"]);
        // Later messages do not change the ids.
        let later = calls.into_iter().chain([reply(None, "f")]);
        assert_eq!(plan(later), ["call_3"]);
    }

    #[test]
    fn duplicate_ids_are_distinguished() {
        let calls = [call(Some("a"), "f"), call(Some("a"), "f"), call(Some("call_3"), "f")];
        let names: Vec<_> =
            named(&calls).into_iter().map(|it| (it.id, it.repeated.is_some())).collect();
        let expected = [("a", false), ("a_", true), ("call_3", false)];
        assert_eq!(names, expected.map(|(id, is_repeated)| (id.to_owned(), is_repeated)));
        let calls = [call(Some("call_2"), "f"), call(None, "f")];
        assert_eq!(named(&calls)[1].id, "call_2_");
    }
}
