//! What conversions lost, counted.

use openchatml::convert::Loss;

use super::count;
use crate::console::Console;
use crate::input::Page;

/// What was lost, by name, in the order in which it was first.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    lost: Vec<Lost>,
}

#[derive(Debug)]
struct Lost {
    what: String,
    /// How often, in the messages of a document.
    messages: usize,
    documents: usize,
    /// Where first, if it was in a message.
    first: Option<(usize, usize)>,
}

impl Losses {
    /// Counts what one document lost.
    pub(crate) fn count(&mut self, losses: &[Loss], page: &Page<'_>) {
        let mut own = Self::default();
        for loss in losses {
            let place = loss.message.map(|_| page.locate(loss.span.start));
            own.add(Lost {
                what: loss.lost.to_string(),
                messages: usize::from(loss.message.is_some()),
                documents: 0,
                first: place.map(|place| (place.line, place.column)),
            });
        }
        for mut lost in own.lost {
            lost.documents = 1;
            self.add(lost);
        }
    }

    /// Counts something that one document as a whole lost.
    pub(crate) fn count_document(&mut self, what: String) {
        self.add(Lost { what, messages: 0, documents: 1, first: None });
    }

    /// Counts what other documents, later ones, lost.
    pub(crate) fn merge(&mut self, other: Self) {
        for lost in other.lost {
            self.add(lost);
        }
    }

    fn add(&mut self, lost: Lost) {
        match self.lost.iter_mut().find(|known| known.what == lost.what) {
            Some(known) => {
                known.messages += lost.messages;
                known.documents += lost.documents;
                known.first = known.first.or(lost.first);
            }
            None => self.lost.push(lost),
        }
    }

    /// Says what was lost, in one line for each kind.
    pub(crate) fn say(&self, name: &str, console: &Console) {
        for lost in &self.lost {
            let mut notes = Vec::new();
            if lost.documents > 1 {
                notes.push(count(lost.documents, "document"));
            }
            if lost.messages > 0 {
                notes.push(count(lost.messages, "message"));
            }
            if let Some((line, column)) = lost.first {
                let first = if lost.messages > 1 { "first " } else { "" };
                notes.push(format!("{first}at {line}:{column}"));
            }
            let notes = notes.join(", ");
            let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
            console.loss(&format!("{name}: {}{notes}", lost.what));
        }
    }
}
