//! Intents. In a format in which all commentary is a preamble, other commentary becomes reasoning.
//! Otherwise the user would see it.

use super::{Adapted, Lost, MessageRule};
use crate::model::{Channel, Intent};
use crate::rules::Intents;

pub(super) const RULE: MessageRule = MessageRule {
    name: "intent",
    fits: |message, at| match at.carries.intents {
        Intents::All => true,
        Intents::None => message.intent.is_none(),
        Intents::Implied | Intents::BeforeCalls => {
            message.intent == message.is_commentary().then_some(Intent::Preamble)
        }
    },
    adapt: |message, at, _| {
        message.intent = None;
        if message.is_commentary() && at.carries.intents != Intents::None {
            message.channel = Some(Channel::Analysis);
            return Adapted::losing(Lost::CommentaryMoved);
        }
        Adapted::losing(Lost::Intent)
    },
};
