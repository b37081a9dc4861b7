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

/// Decides what of a conversation stays.
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
        let last = units.iter().map(|unit| unit.exchange).max().unwrap_or(0);
        for exchange in (0..=last).rev() {
            let may_go = |(_, unit): &(usize, &Unit)| unit.exchange == exchange && !unit.must_stay;
            let its: Vec<_> = units.iter().enumerate().filter(may_go).collect();
            let needed: usize = its.iter().map(|(_, unit)| unit.ids).sum();
            if needed <= left {
                its.iter().for_each(|(at, _)| keeps[*at] = true);
                left -= needed;
                continue;
            }
            if exchange == last {
                for (at, unit) in its.iter().rev() {
                    let Some(rest) = left.checked_sub(unit.ids) else { break };
                    keeps[*at] = true;
                    left = rest;
                }
            }
            break;
        }
        keeps
    }
}
