//! What of a conversation goes into the next prompt.

use crate::model::{Channel, Conversation, End, Message, Role};
use crate::pairing::{Paired, Pairs};
use crate::rules::{History, kept_by_reference};

/// The conversation as the next prompt has it: reasoning that led to an answer is dropped,
/// reasoning since then is kept, and so is the reasoning before a call that is not answered yet
/// (OpenChatML 2.2 §7, HIP-1 §7). Calls on `analysis` are part of the reasoning, and their replies
/// go with them.
///
/// What a completion said in the name of somebody else is left out, too. An answer that ended its
/// completion by `<|return|>` is stored history now, and ends like any other message.
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

/// The next prompt in the middle of the assistant's turn: everything since the last message of the user
/// stays, reasoning included, even where the assistant has told the user something. So each prompt of a
/// turn begins with the prompt before it.
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

/// Where the last turn of the assistant begins: after the last message of a user, or at 0 if there is
/// none.
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

/// The next prompt as the reference renderer of Harmony makes it: reasoning is dropped only before
/// the first answer, and only where the assistant spoke last on `final`.
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

/// What the next prompt in a format has of a conversation, by the rule of that format: in the middle of
/// the assistant's turn as [`prompt_in_turn`], and else as [`next_prompt`], where it drops reasoning.
pub(crate) fn by_rule<'a>(conversation: &Conversation<'a>, rule: History) -> Conversation<'a> {
    match rule {
        History::Answered => {
            let mut said = conversation.messages.iter().filter(|message| !message.foreign);
            match said.next_back().is_some_and(Message::is_answer) {
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

/// For each message, whether it goes into the next prompt.
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
    // From the end: whether the turn that a message belongs to leads to an unanswered call.
    let mut leads_to_call = false;
    for (index, message) in messages.iter().enumerate().rev() {
        if message.is_call() {
            leads_to_call |= unanswered[index] && !message.foreign;
        } else if message.role == Role::User || message.is_answer() || message.role == Role::Tool {
            leads_to_call &= message.foreign;
        }
        // What the assistant looked up while it was thinking is part of that.
        let is_thought = message.is_reasoning()
            || message.is_call() && message.channel == Some(Channel::Analysis);
        let is_over = index < last_answer && !leads_to_call;
        keeps[index] = !(message.foreign || is_thought && is_over);
    }
    // A reply goes where its call goes; one to no call is what its channel says.
    for (at, message) in messages.iter().enumerate().filter(|(_, it)| it.role == Role::Tool) {
        keeps[at] &= match answers[at] {
            Some(call) => keeps[call],
            None => at >= last_answer || message.channel != Some(Channel::Analysis),
        };
    }
    keeps
}

/// For each message, whether it is a call without a reply.
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

/// For each message, the place of the call that it answers, if it is a tool's reply to one: by
/// `call_id` or, where there is none, by the tool's name and the order (OpenChatML 2.2 §8.2).
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
            // A second call with the same id is none that a reply could be for.
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
        }
    }
    answers
}

/// The conversation without what a completion said in the name of somebody else, and with
/// everything else: reasoning stays.
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
