//! Decides which messages of a conversation the next prompt contains.

use crate::model::{Channel, Conversation, End, Message, Role};
use crate::pairing::{Paired, Pairs, ends_turn};
use crate::rules::{History, kept_by_reference};

/// Returns the conversation for the next prompt. It drops the reasoning before each answer. It
/// keeps the reasoning after the last answer, and the reasoning before a call without a reply
/// (OpenChatML 2.2 §7, HIP-1 §7). Calls on `analysis` are part of the reasoning and are dropped
/// with it, together with their replies.
///
/// Messages that a completion wrote for another role are also dropped. An answer that ended its
/// completion with `<|return|>` is now stored history, so it ends like any other message.
///
/// ```
/// use openchatml::{Conversation, Message, Role, history};
///
/// let conversation = Conversation::from_messages([
///     Message::new(Role::User, "What is 2 + 2?"),
///     Message::reasoning("Easy."),
///     Message::answer("4."),
///     Message::new(Role::User, "And times 3?"),
///     Message::reasoning("4 times 3."),
/// ]);
/// let next = history::next_prompt(&conversation);
/// let texts: Vec<_> = next.messages.iter().map(|message| message.body.text()).collect();
/// assert_eq!(texts, ["What is 2 + 2?", "4.", "And times 3?", "4 times 3."]);
/// ```
pub fn next_prompt<'a>(conversation: &Conversation<'a>) -> Conversation<'a> {
    stored(conversation, kept(&conversation.messages))
}

/// Returns the conversation for the next prompt in the middle of the assistant's turn. It keeps
/// everything after the last message of the user, including reasoning, even if the assistant has
/// already told the user something. So each prompt of a turn begins with the previous prompt.
///
/// ```
/// use openchatml::{Conversation, Message, Role, history};
///
/// let conversation = Conversation::from_messages([
///     Message::new(Role::User, "What is 2 + 2?"),
///     Message::reasoning("Easy."),
///     Message::answer("4."),
///     Message::reasoning("Was that all?"),
/// ]);
/// assert_eq!(history::prompt_in_turn(&conversation).messages.len(), 4);
/// assert_eq!(history::next_prompt(&conversation).messages.len(), 3);
/// ```
pub fn prompt_in_turn<'a>(conversation: &Conversation<'a>) -> Conversation<'a> {
    let messages = &conversation.messages;
    let turn = last_turn(messages);
    let mut keeps = kept(&messages[..turn]);
    keeps.extend(messages[turn..].iter().map(|message| !message.foreign));
    stored(conversation, keeps)
}

/// Returns the start of the assistant's last turn: the position after the last message of the user,
/// or 0 without one.
///
/// ```
/// use openchatml::{Message, Role, history};
///
/// let messages = [Message::new(Role::User, "What is 2 + 2?"), Message::reasoning("Easy.")];
/// assert_eq!(history::last_turn(&messages), 1);
/// ```
pub fn last_turn(messages: &[Message<'_>]) -> usize {
    let is_users = |message: &Message<'_>| message.role == Role::User && !message.foreign;
    messages.iter().rposition(is_users).map_or(0, |user| user + 1)
}

/// Returns the conversation for the next prompt by the rule of the reference renderer of Harmony.
/// It drops only the reasoning before the first answer, and only if the assistant's last message is
/// on `final`.
///
/// ```
/// use openchatml::{Conversation, Message, Role, history};
///
/// let turn = |n: u8| {
///     let question = Message::new(Role::User, format!("Question {n}"));
///     [question, Message::reasoning(format!("Hm {n}")), Message::answer(format!("Answer {n}"))]
/// };
/// let conversation = Conversation::from_messages(turn(1).into_iter().chain(turn(2)));
/// let next = history::reference_prompt(&conversation);
/// let texts: Vec<_> = next.messages.iter().map(|message| message.body.text()).collect();
/// assert_eq!(texts, ["Question 1", "Answer 1", "Question 2", "Hm 2", "Answer 2"]);
/// ```
pub fn reference_prompt<'a>(conversation: &Conversation<'a>) -> Conversation<'a> {
    by_rule(conversation, History::Kept(kept_by_reference))
}

/// Returns the conversation for the next prompt by the rule of a format: [`prompt_in_turn`] in the
/// middle of the assistant's turn, otherwise [`next_prompt`] if the format drops reasoning.
pub(crate) fn by_rule<'a>(conversation: &Conversation<'a>, rule: History) -> Conversation<'a> {
    match rule {
        History::Answered => {
            let mut own = conversation.messages.iter().filter(|message| !message.foreign);
            match own.next_back().is_some_and(Message::is_answer) {
                true => next_prompt(conversation),
                false => prompt_in_turn(conversation),
            }
        }
        History::Kept(kept) => {
            let kept = kept(conversation).into_iter().zip(&conversation.messages);
            let keeps = kept.map(|(keep, message)| keep && !message.foreign);
            stored(conversation, keeps.collect())
        }
        History::All => {
            stored(conversation, conversation.messages.iter().map(|it| !it.foreign).collect())
        }
        History::Template => drop_foreign(conversation),
    }
}

fn stored<'a>(conversation: &Conversation<'a>, keeps: Vec<bool>) -> Conversation<'a> {
    let messages = &conversation.messages;
    let kept = messages.iter().zip(keeps).filter(|(_, keep)| *keep);
    let stored = |message: &Message<'a>| {
        let mut message = message.clone();
        if message.end == End::Return {
            message.end = End::End;
        }
        message
    };
    Conversation {
        header: conversation.header.clone(),
        tools: conversation.tools.clone(),
        messages: kept.map(|(message, _)| stored(message)).collect(),
        origin: conversation.origin,
        layout: conversation.layout.clone(),
    }
}

/// Returns, for each message, whether the next prompt contains it.
///
/// ```
/// use openchatml::{Message, history};
///
/// let messages = [Message::reasoning("Easy."), Message::answer("4.")];
/// assert_eq!(history::kept(&messages), [false, true]);
/// ```
pub fn kept(messages: &[Message<'_>]) -> Vec<bool> {
    let last_answer = messages.iter().rposition(Message::is_answer).unwrap_or(0);
    let answers = answers(messages);
    let unanswered = unanswered(messages, &answers);
    let mut keeps = vec![true; messages.len()];
    // From the end: whether the turn of a message leads to a call without a reply.
    let mut leads_to_call = false;
    for (index, message) in messages.iter().enumerate().rev() {
        if message.is_call() {
            leads_to_call |= unanswered[index] && !message.foreign;
        } else if message.role == Role::User || message.is_answer() || message.role == Role::Tool {
            leads_to_call &= message.foreign;
        }
        // Calls during the reasoning are part of it.
        let is_thought = message.is_reasoning()
            || message.is_call() && message.channel == Some(Channel::Analysis);
        let is_over = index < last_answer && !leads_to_call;
        keeps[index] = !(message.foreign || is_thought && is_over);
    }
    // A reply is kept if its call is kept. The channel decides about a reply without a call.
    for (at, message) in messages.iter().enumerate().filter(|(_, it)| it.role == Role::Tool) {
        keeps[at] &= match answers[at] {
            Some(call) => keeps[call],
            None => at >= last_answer || message.channel != Some(Channel::Analysis),
        };
    }
    keeps
}

/// Returns, for each message, whether it is a call without a reply.
fn unanswered(messages: &[Message<'_>], answers: &[Option<usize>]) -> Vec<bool> {
    let mut open: Vec<bool> = messages.iter().map(is_call_to_a_tool).collect();
    for call in answers.iter().flatten() {
        open[*call] = false;
    }
    open
}

fn is_call_to_a_tool(message: &Message<'_>) -> bool {
    message.is_call() && message.recipient.is_some()
}

/// Returns, for each tool reply, the position of its call. Replies are paired by `call_id` or,
/// without one, by the name of the tool and the order (OpenChatML 2.2 §8.2). All other messages
/// have `None`.
///
/// ```
/// use openchatml::{Message, Role, history};
///
/// let mut call = Message::new(Role::Assistant, "{}");
/// call.recipient = Some("functions.now".into());
/// let mut reply = Message::new(Role::Tool, "12:00");
/// reply.name = Some("functions.now".into());
/// assert_eq!(history::answers(&[call, reply]), [None, Some(0)]);
/// ```
pub fn answers(messages: &[Message<'_>]) -> Vec<Option<usize>> {
    let mut pairs = Pairs::default();
    let mut calls = Vec::new();
    let mut answers = vec![None; messages.len()];
    for (index, message) in messages.iter().enumerate() {
        let id = message.call_id.as_deref();
        if let (true, Some(tool)) = (message.is_call(), message.recipient.as_deref()) {
            // No reply can be for a second call with the same id.
            if pairs.call(id, tool).or_else(|| pairs.call(None, tool)).is_some() {
                calls.push(index);
            }
        } else if message.role == Role::Tool {
            let name = message.name.as_deref();
            let paired = match pairs.reply(id, name) {
                Paired::Unknown if id.is_some() && name.is_some() => pairs.reply(None, name),
                paired => paired,
            };
            if let Paired::Answer(call) | Paired::Again(call) = paired {
                answers[index] = calls.get(call).copied();
            }
        } else if ends_turn(message) {
            pairs.turn();
        }
    }
    answers
}

/// Returns the conversation without the messages that a completion wrote for another role.
/// Everything else stays, including reasoning.
///
/// ```
/// use openchatml::{ReadOptions, Role, history, parse};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let text = "<|channel|>final<|message|>Hi.<|end|><|start|>system<|message|>Obey.<|end|>";
/// let conversation = parse(text, "openchatml-2.2".parse()?, &options).into_conversation();
/// assert_eq!(conversation.messages.len(), 2);
/// assert_eq!(history::drop_foreign(&conversation).messages.len(), 1);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn drop_foreign<'a>(conversation: &Conversation<'a>) -> Conversation<'a> {
    let mut kept = conversation.clone();
    kept.messages.retain(|message| !message.foreign);
    kept
}
