//! Schemes that decide which messages are kept.

/// Messages that are kept or dropped together: a call with its replies, or a single message.
///
/// ```
/// use openchatml_tokens::Unit;
///
/// let unit = Unit { messages: vec![3, 4], ids: 80, exchange: 1, must_stay: false };
/// assert_eq!(unit.messages.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The indices of the messages in the conversation.
    pub messages: Vec<usize>,
    /// The number of ids of the messages.
    pub ids: usize,
    /// The exchange that the messages belong to. Each message of a user begins an exchange.
    /// Messages before the first one belong to exchange 0.
    pub exchange: usize,
    /// Whether the unit is always kept: system and developer messages, and the last message of the
    /// user.
    pub must_stay: bool,
}

/// Decides which units of a conversation are kept. The units are sorted by their first message, and
/// thus by exchange.
///
/// ```
/// use openchatml_tokens::{OldestFirst, Scheme, Unit};
///
/// let unit = |exchange, must_stay| Unit { messages: vec![exchange], ids: 10, exchange, must_stay };
/// let units = [unit(0, true), unit(1, false), unit(2, false), unit(3, true)];
/// assert_eq!(OldestFirst.keeps(&units, 35), [true, false, true, true]);
/// ```
pub trait Scheme {
    /// Returns for each unit whether it is kept, so that at most `budget` ids are kept. Units with
    /// `must_stay` are kept in any case.
    fn keeps(&self, units: &[Unit], budget: usize) -> Vec<bool>;
}

/// Drops the oldest exchanges first, each as a whole. If the last exchange alone is too long, drops
/// its oldest units first.
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
        // From the end, exchange by exchange. Units are sorted by exchange.
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
