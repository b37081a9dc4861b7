//! What stays, and what goes.

/// Messages that stay or go together: a call with its replies, or one message.
///
/// ```
/// use openchatml_tokens::Unit;
///
/// let unit = Unit { messages: vec![3, 4], ids: 80, exchange: 1, must_stay: false };
/// assert_eq!(unit.messages.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Their places in the conversation.
    pub messages: Vec<usize>,
    /// How many ids they have.
    pub ids: usize,
    /// The exchange that they belong to: what a user says begins one. What stands before the first
    /// is exchange 0.
    pub exchange: usize,
    /// Whether they stay in any case: what the system and the developer say, and what the user said
    /// last.
    pub must_stay: bool,
}

/// Decides what of a conversation stays. It is given the units in order of their first messages, and
/// so of their exchanges.
///
/// ```
/// use openchatml_tokens::{OldestFirst, Scheme, Unit};
///
/// let unit = |exchange, must_stay| Unit { messages: vec![exchange], ids: 10, exchange, must_stay };
/// let units = [unit(0, true), unit(1, false), unit(2, false), unit(3, true)];
/// assert_eq!(OldestFirst.keeps(&units, 35), [true, false, true, true]);
/// ```
pub trait Scheme {
    /// For each unit whether it is kept, so that at most `budget` ids are. What must stay is kept,
    /// whatever is said of it.
    fn keeps(&self, units: &[Unit], budget: usize) -> Vec<bool>;
}

/// The oldest exchanges go first, each as a whole. Of the last one, if it is too long itself, the
/// oldest units go first.
///
/// ```
/// use openchatml_tokens::{OldestFirst, Scheme};
///
/// assert!(OldestFirst.keeps(&[], 0).is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OldestFirst;

impl Scheme for OldestFirst {
    fn keeps(&self, units: &[Unit], budget: usize) -> Vec<bool> {
        let mut keeps: Vec<bool> = units.iter().map(|unit| unit.must_stay).collect();
        let must: usize = units.iter().filter(|unit| unit.must_stay).map(|unit| unit.ids).sum();
        let mut left = budget.saturating_sub(must);
        let last = units.last().map(|unit| unit.exchange);
        // From the end, exchange by exchange: units stand in the order of their exchanges.
        let mut end = units.len();
        for exchange in units.chunk_by(|one, next| one.exchange == next.exchange).rev() {
            let start = end - exchange.len();
            let may_go = |unit: &&Unit| !unit.must_stay;
            let needed: usize = exchange.iter().filter(may_go).map(|unit| unit.ids).sum();
            let is_last = exchange.first().map(|unit| unit.exchange) == last;
            if needed > left && !is_last {
                break;
            }
            for (unit, keep) in exchange.iter().zip(&mut keeps[start..end]).rev() {
                if !unit.must_stay {
                    let Some(rest) = left.checked_sub(unit.ids) else { return keeps };
                    (*keep, left) = (true, rest);
                }
            }
            end = start;
        }
        keeps
    }
}
