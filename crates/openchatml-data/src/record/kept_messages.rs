//! The indices of messages in the input, after some messages were dropped.

use openchatml::RenderError;
use openchatml::convert::{Loss, Origins};

/// The messages of the input that are kept, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptMessages {
    /// The number of messages of the input.
    count: usize,
    /// Their indices in the input, or `None` if all messages are kept.
    numbers: Option<Vec<Option<usize>>>,
}

impl KeptMessages {
    /// Keeps all messages.
    pub fn all(count: usize) -> Self {
        Self { count, numbers: None }
    }

    /// Keeps the messages with these origins: `left` messages remain.
    pub fn of(count: usize, left: usize, origins: &Origins) -> Self {
        Self { count, numbers: Some((0..left).map(|place| origins.of(place)).collect()) }
    }

    /// Returns the number of messages of the input.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the index in the input of the message that is now at this index.
    pub fn number(&self, place: usize) -> Option<usize> {
        match &self.numbers {
            None => Some(place),
            Some(numbers) => numbers.get(place).copied().flatten(),
        }
    }

    /// Drops the messages at these sorted indices.
    pub fn leave_out(&mut self, places: &[usize]) {
        if places.is_empty() {
            return;
        }
        let all = self.numbers.take().unwrap_or_else(|| (0..self.count).map(Some).collect());
        let is_left = |place: &usize| places.binary_search(place).is_err();
        let left = all.into_iter().enumerate().filter(|(place, _)| is_left(place));
        self.numbers = Some(left.map(|(_, number)| number).collect());
    }

    /// Sets the index of a loss to that of its message in the input.
    pub fn name(&self, loss: &mut Loss) {
        loss.message = loss.message.and_then(|place| self.number(place));
    }

    /// Returns the error with the index of its message in the input.
    pub fn error(&self, mut error: RenderError) -> RenderError {
        error.message = error.message.and_then(|place| self.number(place));
        error
    }
}

#[cfg(test)]
mod tests {
    use super::KeptMessages;

    #[test]
    fn messages_keep_their_indices_in_the_input() {
        let mut kept = KeptMessages::all(6);
        assert_eq!(kept.number(5), Some(5));
        kept.leave_out(&[1, 3]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|place| kept.number(place)),
            [Some(0), Some(2), Some(4), Some(5), None]
        );
        kept.leave_out(&[0, 2]);
        assert_eq!([0, 1, 2].map(|place| kept.number(place)), [Some(2), Some(5), None]);
        assert_eq!(kept.count(), 6);
    }
}
