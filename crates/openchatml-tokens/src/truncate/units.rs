//! Groups messages that are kept or dropped together.

use openchatml::{Message, Role, history};

use super::Unit;

/// Returns the units of a conversation in the order of their first messages. `sizes` are the ids of
/// each message.
pub(super) fn units(messages: &[Message<'_>], sizes: &[usize]) -> Vec<Unit> {
    let last_question = messages.iter().rposition(|message| message.role == Role::User);
    let mut units: Vec<Unit> = Vec::new();
    let mut unit_of = Vec::with_capacity(messages.len());
    let mut exchange = 0;
    let calls = history::answers(messages);
    for (at, message) in messages.iter().enumerate() {
        exchange += usize::from(message.role == Role::User);
        let must_stay =
            matches!(message.role, Role::System | Role::Developer) || last_question == Some(at);
        let unit = match calls[at] {
            Some(call) => unit_of[call],
            None => {
                units.push(Unit { messages: Vec::new(), ids: 0, exchange, must_stay: false });
                units.len() - 1
            }
        };
        unit_of.push(unit);
        units[unit].messages.push(at);
        units[unit].ids += sizes[at];
        units[unit].must_stay |= must_stay;
    }
    units
}
