//! Counts the losses of conversions.

use openchatml::convert::{Loss, Lost as Name};

use super::count;
use crate::console::Console;
use crate::input::Page;

/// The maximum number of details for a kind of loss.
const MOST_DETAILS: usize = 8;

/// The losses by name, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    lost: Vec<Lost>,
}

#[derive(Debug)]
struct Lost {
    what: String,
    /// The details, if there are several of that kind.
    details: Vec<String>,
    /// The part of the document, if the loss is in one.
    part: &'static str,
    /// The number of losses.
    parts: usize,
    documents: usize,
    /// The place of the first loss, if it is in a part.
    first: Option<(usize, usize)>,
}

impl Losses {
    /// Counts the losses of one document.
    pub(crate) fn count(&mut self, losses: &[Loss], page: &Page<'_>) {
        let mut own = Self::default();
        for loss in losses {
            let is_part = loss.message.is_some() || !loss.span.is_empty();
            let place = is_part.then(|| page.locate(loss.span.start));
            own.add(Lost {
                what: loss.lost.to_string(),
                details: loss.detail.iter().map(|detail| detail.to_string()).collect(),
                part: match (loss.lost, loss.message) {
                    (Name::Declaration, _) => "tool",
                    (_, Some(_)) => "message",
                    (_, None) => "place",
                },
                parts: usize::from(is_part),
                documents: 0,
                first: place.map(|place| (place.line, place.column)),
            });
        }
        for mut lost in own.lost {
            lost.documents = 1;
            self.add(lost);
        }
    }

    /// Counts the losses of other, later documents.
    pub(crate) fn merge(&mut self, other: Self) {
        for lost in other.lost {
            self.add(lost);
        }
    }

    fn add(&mut self, lost: Lost) {
        match self.lost.iter_mut().find(|known| known.what == lost.what) {
            Some(known) => {
                known.parts += lost.parts;
                known.documents += lost.documents;
                known.first = known.first.or(lost.first);
                for detail in lost.details {
                    if known.details.len() < MOST_DETAILS && !known.details.contains(&detail) {
                        known.details.push(detail);
                    }
                }
            }
            None => self.lost.push(lost),
        }
    }

    /// Prints the losses, one line for each kind.
    pub(crate) fn say(&self, name: &str, console: &Console) {
        for lost in &self.lost {
            let mut notes = Vec::new();
            if lost.documents > 1 {
                notes.push(count(lost.documents, "document"));
            }
            if lost.parts > 0 {
                notes.push(count(lost.parts, lost.part));
            }
            if let Some((line, column)) = lost.first {
                let first = if lost.parts > 1 { "first " } else { "" };
                notes.push(format!("{first}at {line}:{column}"));
            }
            let notes = notes.join(", ");
            let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
            let details: Vec<_> = lost.details.iter().map(|it| format!("`{it}`")).collect();
            let more = if details.len() < MOST_DETAILS { "" } else { ", …" };
            let details = match details.is_empty() {
                true => String::new(),
                false => format!(": {}{more}", details.join(", ")),
            };
            console.loss(&format!("{name}: {}{details}{notes}", lost.what));
        }
    }
}
