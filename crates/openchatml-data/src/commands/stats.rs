//! The sizes of the conversations of a data set.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, RecordBatch};
use serde::Serialize;

use super::{Piece, Work};
use crate::error::DataError;
use crate::kernel::{KernelOptions, Tally};
use crate::run::{Fields, Inputs, RunOptions};

/// The sizes of the conversations of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The number of records, and what was found in them.
    #[serde(flatten)]
    pub tally: Tally,
    /// The messages by role and channel, the most frequent ones first.
    pub roles: Vec<RoleStats>,
    /// The messages of a conversation.
    pub messages: Histogram,
    /// The bytes of the texts of a conversation.
    pub bytes: Histogram,
    /// The ids of a conversation, if they were counted.
    pub ids: Histogram,
    /// The number of conversations whose ids could not be counted, because the format cannot
    /// express them.
    pub without_ids: u64,
}

/// The messages with a role and a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RoleStats {
    /// The role; none for ids that belong to no message.
    pub role: Option<String>,
    /// The channel, if there is one.
    pub channel: Option<String>,
    /// The number of conversations with such messages.
    pub conversations: u64,
    /// The number of messages.
    pub messages: u64,
    /// The bytes of their texts.
    pub bytes: u64,
    /// Their ids, if they were counted.
    pub ids: u64,
}

/// How often numbers of each size occur. A class contains numbers from a power of two to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Histogram {
    /// How many numbers there are.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least one.
    pub min: u64,
    /// The greatest one.
    pub max: u64,
    /// For the least number of each class, how many are in it.
    pub classes: BTreeMap<u64, u64>,
}

impl Histogram {
    fn add(&mut self, number: u64) {
        self.min = if self.count == 0 { number } else { self.min.min(number) };
        self.max = self.max.max(number);
        self.count += 1;
        self.sum += number;
        let class = number.checked_ilog2().map_or(0, |log| 1 << log);
        *self.classes.entry(class).or_default() += 1;
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        for (class, count) in &other.classes {
            *self.classes.entry(*class).or_default() += count;
        }
    }

    /// Returns the mean, rounded down.
    pub fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or_default()
    }

    /// Returns the least number of the class in which this share of all numbers, in percent, ends.
    ///
    /// ```
    /// assert_eq!(openchatml_data::Histogram::default().percentile(50), 0);
    /// ```
    pub fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        let reaches = |(_, count): &(&u64, &u64)| {
            seen += **count;
            seen >= wanted
        };
        self.classes.iter().find(reaches).map_or(0, |(class, _)| *class)
    }
}

/// The sizes of some rows.
#[derive(Default)]
struct Sizes {
    roles: BTreeMap<(Option<String>, Option<String>), [u64; 4]>,
    messages: Histogram,
    bytes: Histogram,
    ids: Histogram,
    without_ids: u64,
}

/// Counts messages, bytes and ids of a data set. The task of the kernel is
/// [`Task::Count`](crate::kernel::Task::Count).
///
/// # Errors
///
/// The inputs cannot be read.
///
/// ```
/// use openchatml_data::kernel::{KernelOptions, Task};
/// use openchatml_data::{Fields, RunOptions, stats};
///
/// let folder = tempfile::tempdir()?;
/// let input = folder.path().join("in.jsonl").display().to_string();
/// std::fs::write(&input, r#"{"messages":[{"role":"user","content":"Hi!"}]}"#)?;
///
/// let run = RunOptions::new([input], "");
/// let stats = stats(&run, &Fields::default(), KernelOptions::new(Task::Count(None)))?;
/// assert_eq!((stats.roles[0].messages, stats.roles[0].bytes), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stats(
    options: &RunOptions,
    fields: &Fields,
    kernel: KernelOptions,
) -> Result<Stats, DataError> {
    let inputs = Inputs::open(options)?;
    let counts_ids = matches!(kernel.task, crate::kernel::Task::Count(Some(_)));
    // Nothing is written, so nothing else can be lost.
    let fields = Fields { keep_all: fields.column.is_some(), ..fields.clone() };
    let work = Work::new(&inputs, &fields, kernel)?;
    let (mut all, mut tally) = (Sizes::default(), Tally::default());
    inputs.each(
        |file, rows| {
            let Piece { batch, tally, .. } = work.process(file, rows)?;
            Ok((Sizes::of(&batch, counts_ids)?, tally))
        },
        |(sizes, counted)| {
            all.add(sizes);
            tally.add(&counted);
            Ok(())
        },
    )?;
    let roles = all.roles.into_iter().map(|((role, channel), numbers)| {
        let [conversations, messages, bytes, ids] = numbers;
        RoleStats { role, channel, conversations, messages, bytes, ids }
    });
    let mut roles: Vec<_> = roles.collect();
    roles.sort_by_key(|it| std::cmp::Reverse((it.messages, it.ids)));
    let Sizes { messages, bytes, ids, without_ids, .. } = all;
    Ok(Stats { tally, roles, messages, bytes, ids, without_ids })
}

impl Sizes {
    fn of(batch: &RecordBatch, counts_ids: bool) -> Result<Self, DataError> {
        let mut sizes = Self::default();
        let missing = || DataError::Internal("no column of counts".to_owned());
        let lists = batch.column(0).as_list_opt::<i32>().ok_or_else(missing)?;
        let values = lists.values().as_struct_opt().ok_or_else(missing)?;
        let text =
            |name: &str| values.column_by_name(name).and_then(|it| it.as_string_opt::<i32>());
        let number = |name: &str| {
            values.column_by_name(name).and_then(|it| it.as_primitive_opt::<Int32Type>())
        };
        let (Some(role), Some(channel)) = (text("role"), text("channel")) else {
            return Err(missing());
        };
        let (Some(messages), Some(bytes), Some(ids)) =
            (number("messages"), number("bytes"), number("ids"))
        else {
            return Err(missing());
        };
        for bounds in lists.value_offsets().windows(2) {
            let [start, end] = [bounds[0], bounds[1]].map(|it| usize::try_from(it).unwrap_or(0));
            let mut total = [0; 3];
            let mut has_ids = counts_ids;
            for at in start..end {
                let word = |words: &arrow_array::StringArray| {
                    words.is_valid(at).then(|| words.value(at).to_owned())
                };
                let own = [messages, bytes, ids].map(|numbers| {
                    let value = numbers.is_valid(at).then(|| numbers.value(at));
                    value.and_then(|value| u64::try_from(value).ok()).unwrap_or_default()
                });
                has_ids &= ids.is_valid(at);
                let known = sizes.roles.entry((word(role), word(channel))).or_default();
                known[0] += 1;
                for (index, own) in own.into_iter().enumerate() {
                    known[index + 1] += own;
                    total[index] += own;
                }
            }
            sizes.messages.add(total[0]);
            sizes.bytes.add(total[1]);
            if has_ids {
                sizes.ids.add(total[2]);
            } else if counts_ids {
                sizes.without_ids += 1;
            }
        }
        Ok(sizes)
    }

    fn add(&mut self, other: Self) {
        for (key, numbers) in other.roles {
            let known = self.roles.entry(key).or_default();
            known.iter_mut().zip(numbers).for_each(|(known, more)| *known += more);
        }
        self.messages.merge(&other.messages);
        self.bytes.merge(&other.bytes);
        self.ids.merge(&other.ids);
        self.without_ids += other.without_ids;
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn histograms_can_be_merged() {
        let of = |numbers: &[u64]| {
            let mut histogram = Histogram::default();
            numbers.iter().for_each(|number| histogram.add(*number));
            histogram
        };
        let (mut one, two) = (of(&[0, 1, 5]), of(&[7, 8, 1000]));
        one.merge(&two);
        assert_eq!(one, of(&[0, 1, 5, 7, 8, 1000]));
        assert_eq!(
            one.classes.into_iter().collect::<Vec<_>>(),
            [(0, 1), (1, 1), (4, 2), (8, 1), (512, 1)]
        );
        assert_eq!((two.min, two.max, two.mean()), (7, 1000, 338));
        assert_eq!((two.percentile(50), two.percentile(100)), (8, 512));
    }
}
