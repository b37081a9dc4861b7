//! Takes some rows of a data set by chance.

use std::collections::{BTreeMap, BinaryHeap};

use twox_hash::XxHash3_64;

use super::{RowWriter, reject_long};
use crate::error::DataError;
use crate::input::{InputFile, RowPlace, Rows};
use crate::kernel::Tally;
use crate::output::Encoded;
use crate::run::{Inputs, Rejects, RunOptions, Shards, Summary, Writer, run};

/// How many rows to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Exactly this many, or all rows if there are fewer. The inputs are read twice.
    Rows(u64),
    /// Each row with this probability, from 0 to 1.
    Share(f64),
}

/// Writes some rows of a data set, by chance, unchanged and in order. The same seed takes the same
/// rows.
///
/// # Errors
///
/// The inputs cannot be read, or the outputs cannot be written.
///
/// ```
/// use openchatml_data::{RunOptions, Size, sample};
///
/// let folder = tempfile::tempdir()?;
/// let path = |name: &str| folder.path().join(name).display().to_string();
/// std::fs::write(path("in.jsonl"), "1\n2\n3\n4\n5\n")?;
///
/// let run = RunOptions::new([path("in.jsonl")], path("out"));
/// assert_eq!(sample(&run, Size::Rows(3), 42)?.rows, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sample(options: &RunOptions, size: Size, seed: u64) -> Result<Summary, DataError> {
    let inputs = Inputs::open(options)?;
    let most = match size {
        Size::Share(share) => {
            if !(0.0..=1.0).contains(&share) {
                return Err(DataError::usage("the share of rows must be from 0 to 1"));
            }
            of_share(share)
        }
        Size::Rows(rows) => {
            if let Some(input) = inputs.plan.stream() {
                let text = format!(
                    "`{}` can be read only once, but an exact number of rows requires two readings: name a file, or use `--share`",
                    input.name
                );
                return Err(DataError::usage(text));
            }
            greatest_of_least(&inputs, rows, seed)?
        }
    };
    let rows = RowWriter::new(&inputs)?;
    let layout = rows.layout(options, vec![String::new()]);
    let description = BTreeMap::from([
        ("--output-format".to_owned(), layout.format.ending().to_owned()),
        ("the size of the sample".to_owned(), format!("{size:?}")),
        ("--seed".to_owned(), seed.to_string()),
    ]);
    let work = |file: &InputFile, batch: Rows| {
        let (rejects, tally) = reject_long(options, file, &batch)?;
        let taken = (0..).zip(&batch.places);
        let taken = taken
            .filter(|(_, place)| most.is_some_and(|most| hash(seed, &file.name, **place) <= most));
        let taken: Vec<u32> = taken.map(|(row, _)| row).collect();
        Ok(Taken { encoded: rows.encode(&batch.batch, &taken)?, rejects, tally })
    };
    run(&inputs, "sample", layout, description, work, Sample)
}

/// The rows that were taken.
struct Taken {
    encoded: Encoded,
    rejects: Rejects,
    tally: Tally,
}

struct Sample;

impl Writer<Taken> for Sample {
    fn take(&mut self, done: Taken, shards: &mut Shards) -> Result<(), DataError> {
        shards.write(0, &done.encoded)?;
        shards.tell(&done.tally, done.rejects)
    }
}

/// A number that depends on the seed and on the place of a row, and looks random.
fn hash(seed: u64, file: &str, place: RowPlace) -> u64 {
    let file = XxHash3_64::oneshot_with_seed(seed, file.as_bytes());
    XxHash3_64::oneshot_with_seed(file, &place.row.to_le_bytes())
}

/// Returns the greatest number that belongs to a share of all numbers, or `None` if none does.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the share is checked")]
#[expect(clippy::cast_precision_loss, reason = "the last bits of a share do not matter")]
pub(super) fn of_share(share: f64) -> Option<u64> {
    match share {
        1.0.. => Some(u64::MAX),
        share if share <= 0.0 => None,
        share => Some((share * u64::MAX as f64) as u64),
    }
}

/// Returns the greatest of the least hashes of this many rows, or `None` for no rows.
fn greatest_of_least(inputs: &Inputs<'_>, rows: u64, seed: u64) -> Result<Option<u64>, DataError> {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut least = BinaryHeap::new();
    let work = |file: &InputFile, batch: Rows| {
        let hashes = batch.places.iter().map(|place| hash(seed, &file.name, *place));
        Ok(hashes.collect::<Vec<_>>())
    };
    inputs.each(work, |hashes| {
        for hash in hashes {
            if least.len() < rows {
                least.push(hash);
            } else if least.peek().is_some_and(|greatest| hash < *greatest) {
                least.pop();
                least.push(hash);
            }
        }
        Ok(())
    })?;
    Ok(least.peek().copied())
}
