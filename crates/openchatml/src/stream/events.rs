//! Events as an iterator.

use std::iter::FusedIterator;
use std::vec;

use super::Event;

/// The events of the input that has just arrived, in order.
///
/// The events are owned: they outlive the stream and can be sent to other threads. The input has
/// already been read when the iterator is returned. Dropping the iterator loses its events, but
/// nothing else.
///
/// ```
/// use openchatml::{Event, Stream, TextFormat};
///
/// let mut stream = Stream::new(TextFormat::CHATML, &Default::default());
/// let events: Vec<Event<'static>> = stream.feed("<|im_start|>assistant\nHi!<|im_end|>").collect();
/// drop(stream);
/// let names: Vec<_> = events.iter().map(Event::name).collect();
/// assert_eq!(names, ["message.start", "response.delta", "message.done"]);
/// ```
#[derive(Clone, Debug)]
#[must_use = "the events of what was fed are lost if they are dropped"]
pub struct Events(vec::IntoIter<Event<'static>>);

impl From<Vec<Event<'static>>> for Events {
    fn from(events: Vec<Event<'static>>) -> Self {
        Self(events.into_iter())
    }
}

impl Iterator for Events {
    type Item = Event<'static>;

    fn next(&mut self) -> Option<Event<'static>> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Events {}

impl DoubleEndedIterator for Events {
    fn next_back(&mut self) -> Option<Event<'static>> {
        self.0.next_back()
    }
}

impl FusedIterator for Events {}
