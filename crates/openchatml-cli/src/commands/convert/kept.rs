//! The numbers that messages have in the input, once some of them are left out.

use openchatml::RenderError;
use openchatml::convert::{Loss, Origins};

/// Which messages of the input are left, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// How many messages the input has.
    count: usize,
    /// Their numbers in the input, if they have one; `None` if all of them are left.
    numbers: Option<Vec<Option<usize>>>,
}

impl Kept {
    /// All of so many messages.
    pub(super) fn all(count: usize) -> Self {
        Self { count, numbers: None }
    }

    /// Those that are left of so many: `left` messages from these origins.
    pub(super) fn of(count: usize, left: usize, origins: &Origins) -> Self {
        Self { count, numbers: Some((0..left).map(|place| origins.of(place)).collect()) }
    }

    /// How many messages the input has.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number in the input of the message that is at this place now.
    pub(super) fn number(&self, place: usize) -> Option<usize> {
        match &self.numbers {
            None => Some(place),
            Some(numbers) => numbers.get(place).copied().flatten(),
        }
    }

    /// Leaves out the messages at these places, which are in order.
    pub(super) fn leave_out(&mut self, places: &[usize]) {
        if places.is_empty() {
            return;
        }
        let all = self.numbers.take().unwrap_or_else(|| (0..self.count).map(Some).collect());
        let is_left = |place: &usize| places.binary_search(place).is_err();
        let left = all.into_iter().enumerate().filter(|(place, _)| is_left(place));
        self.numbers = Some(left.map(|(_, number)| number).collect());
    }

    /// Gives the message of a loss the number that it has in the input.
    pub(super) fn name(&self, loss: &mut Loss) {
        loss.message = loss.message.and_then(|place| self.number(place));
    }

    /// The same error, with the number that its message has in the input.
    pub(super) fn error(&self, mut error: RenderError) -> RenderError {
        error.message = error.message.and_then(|place| self.number(place));
        error
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn messages_keep_the_numbers_of_the_input() {
        let mut kept = Kept::all(6);
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
