//! Changes a conversation so that messages JSON can express it.

use super::super::compose::opening;
use super::replies::Replies;
use super::{CARRIES, ORIGIN};
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::pairing::sort_replies;
use crate::rules::{Composed, Composer, Loss, Lost};
use crate::writing::RenderError;

pub(crate) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

fn compose<'a>(
    conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut composed = Composed::with_room(conversation.messages.len());
    let rest = opening(&conversation.messages, tools, None, options, &mut composed)?;
    composed.conversation.tools = tools.to_vec();
    composed.conversation.origin = ORIGIN;
    let mut replies = Replies::default();
    let mut was_call = false;
    let mut last = None;
    for (index, message) in in_order(&conversation.messages, rest) {
        let mut message = message.clone();
        let mut lose = |message: &Message<'_>, lost| {
            let loss = Loss::new(Some(index), message.span, lost);
            composed.losses.push(loss);
        };
        if matches!(message.role, Role::System | Role::Developer) {
            lose(&message, Lost::LateSystem);
            continue;
        }
        if last.replace(index) > Some(index) {
            lose(&message, Lost::Order);
        }
        if message.is_call() {
            if !was_call {
                replies.begin();
            }
            let recipient = super::super::RULES.recipient(super::super::RULES.tool(&message));
            if message.recipient.as_deref() != Some(recipient.as_str()) {
                lose(&message, Lost::Recipient);
                message.recipient = Some(recipient.clone().into());
            }
            replies.call(message.call_id.as_deref(), &recipient);
        } else if message.role == Role::Tool {
            let tool = replies.reply(message.call_id.as_deref()).tool;
            if message.name.is_none() {
                message.name = tool.map(|tool| tool.to_owned().into());
            }
        } else if message.role == Role::User {
            replies.begin();
        }
        was_call = message.is_call();
        composed.push(message, Some(index));
    }
    Ok(composed)
}

/// Returns the messages from `rest` on and their positions. Replies are in the order of their
/// calls, because only the order identifies the call.
fn in_order<'m, 'a>(messages: &'m [Message<'a>], rest: usize) -> Vec<(usize, &'m Message<'a>)> {
    let mut order: Vec<_> = messages.iter().enumerate().skip(rest).collect();
    let mut calls: &[Message<'_>] = &[];
    let mut at = 0;
    for run in messages[rest..].chunk_by(|one, two| kind(one) == kind(two)) {
        let places = &mut order[at..at + run.len()];
        at += run.len();
        match run.first().map_or(Kind::Other, kind) {
            Kind::Call => calls = run,
            Kind::Reply => {
                let calls = calls.iter().map(|call| call.call_id.as_deref());
                sort_replies(calls, places, |(_, reply)| reply.call_id.as_deref());
            }
            Kind::Other => {}
        }
    }
    order
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    Reply,
    Other,
}

fn kind(message: &Message<'_>) -> Kind {
    match message.role {
        Role::Tool => Kind::Reply,
        _ if message.is_call() => Kind::Call,
        _ => Kind::Other,
    }
}
