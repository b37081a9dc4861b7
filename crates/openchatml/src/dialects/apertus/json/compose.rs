//! Makes a conversation one that messages JSON can say.

use std::collections::VecDeque;

use super::super::compose::opening;
use super::{CARRIES, ORIGIN};
use crate::convert::{Composed, Composer, Loss, Lost};
use crate::model::{Conversation, Message, Role, Tool};
use crate::pairing::sort_replies;
use crate::render::{RenderError, RenderOptions};

pub(crate) static COMPOSER: Composer = Composer { carries: &INPUT, compose };

/// What it can be made of.
static INPUT: crate::convert::Carries = crate::convert::Carries { call_ids: true, ..CARRIES };

fn compose<'a>(
    conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut composed = Composed::with_room(conversation.messages.len());
    let rest = opening(&conversation.messages, tools, None, options, &mut composed)?;
    composed.conversation.tools = tools.to_vec();
    composed.conversation.origin = ORIGIN;
    let mut calls = VecDeque::new();
    let mut was_call = false;
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
        if message.call_id.take().is_some() {
            lose(&message, Lost::CallId);
        }
        if message.is_call() {
            if !was_call {
                calls.clear();
            }
            let recipient = super::super::RULES.recipient(super::super::RULES.tool(&message));
            if message.recipient.as_deref() != Some(recipient.as_str()) {
                lose(&message, Lost::Recipient);
                message.recipient = Some(recipient.clone().into());
            }
            calls.push_back(recipient);
        } else if message.role == Role::Tool {
            let tool = calls.pop_front();
            if message.name.as_deref() != tool.as_deref() {
                if message.name.is_some() {
                    lose(&message, Lost::Name);
                }
                message.name = tool.map(Into::into);
            }
        } else if message.role == Role::User {
            calls.clear();
        }
        was_call = message.is_call();
        composed.push(message, Some(index));
    }
    Ok(composed)
}

/// The messages from `rest` on, and their places. Replies stand in the order of their calls, since
/// that is all that tells which call they answer.
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
