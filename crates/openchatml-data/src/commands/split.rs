//! Divides a data set into parts by chance.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, FixedSizeBinaryArray};
use twox_hash::XxHash3_64;

use super::sample::of_share;
use super::{Piece, RowWriter, Work};
use crate::error::DataError;
use crate::input::{InputFile, RowPlace, Rows};
use crate::kernel::{KernelOptions, Tally, Task};
use crate::output::Encoded;
use crate::run::{Fields, Inputs, Rejects, RunOptions, Shards, Summary, Writer, run};

/// A part of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The name: a folder of the output.
    pub name: String,
    /// The share of all conversations.
    pub share: f64,
}

/// Divides the rows of a data set into parts, by chance, unchanged and in order. Equal conversations
/// are in the same part, so that no conversation of a test is also in the training. The same seed
/// gives the same parts, even if other rows are added. The shares of the parts must add up to 1.
///
/// # Errors
///
/// The inputs cannot be read, the outputs cannot be written, or the shares are wrong.
pub fn split(
    options: &RunOptions,
    fields: &Fields,
    mut kernel: KernelOptions,
    parts: &[Share],
    seed: u64,
) -> Result<Summary, DataError> {
    let ends = ends(parts)?;
    kernel.task = Task::Fingerprint { hashes: 0 };
    // Rows stay whole, so nothing is lost.
    kernel.consent.allow_all_drops();
    let inputs = Inputs::open(options)?;
    let fields = Fields { keep_all: fields.column.is_some(), ..fields.clone() };
    let work = Work::new(&inputs, &fields, kernel)?;
    let rows = RowWriter::new(&inputs)?;
    let folders = parts.iter().map(|part| part.name.clone()).collect();
    let layout = rows.layout(options, folders);
    let description = BTreeMap::from([
        ("--part".to_owned(), format!("{parts:?}")),
        ("--output-format".to_owned(), layout.format.ending().to_owned()),
        ("--seed".to_owned(), seed.to_string()),
        ("the format of the input".to_owned(), work.format()),
        ("the columns".to_owned(), fields.describe()),
    ]);
    let process = |file: &InputFile, batch: Rows| {
        let (whole, all) = (batch.batch.clone(), batch.places.clone());
        let piece = work.process(file, batch)?;
        let mut taken = vec![Vec::new(); parts.len()];
        for (part, row) in parts_of(&piece, &all, &ends, seed)? {
            taken[part].push(row);
        }
        let encoded = taken.iter().map(|taken| rows.encode(&whole, taken));
        let encoded = encoded.collect::<Result<_, _>>()?;
        Ok(Divided { encoded, rejects: piece.rejects, tally: piece.tally })
    };
    run(&inputs, "split", layout, description, process, Split)
}

/// Returns the greatest hash of each part.
fn ends(parts: &[Share]) -> Result<Vec<u64>, DataError> {
    let sum: f64 = parts.iter().map(|part| part.share).sum();
    if (sum - 1.0).abs() > 1e-9 || parts.iter().any(|part| part.share.is_nan() || part.share <= 0.0)
    {
        return Err(DataError::usage(
            "the shares of the parts must be greater than 0 and add up to 1",
        ));
    }
    for (at, part) in parts.iter().enumerate() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if part.name.is_empty() || !part.name.chars().all(is_name) || part.name.starts_with('_') {
            let text = format!(
                "`{}` is not a name of a part: use letters, digits, `-` and `_`",
                part.name
            );
            return Err(DataError::usage(text));
        }
        if parts[..at].iter().any(|other| other.name == part.name) {
            return Err(DataError::usage(format!("the part `{}` is named twice", part.name)));
        }
    }
    let mut end = 0.0;
    let mut ends: Vec<u64> = parts
        .iter()
        .map(|part| {
            end += part.share;
            of_share(end).unwrap_or_default()
        })
        .collect();
    if let Some(last) = ends.last_mut() {
        *last = u64::MAX;
    }
    Ok(ends)
}

/// Returns the part of each conversation, and the number of its row in the batch.
fn parts_of(
    piece: &Piece,
    all: &[RowPlace],
    ends: &[u64],
    seed: u64,
) -> Result<Vec<(usize, u32)>, DataError> {
    let missing = || DataError::Internal("no column of fingerprints".to_owned());
    let column = piece.batch.columns().first().and_then(|it| it.as_fixed_size_binary_opt());
    let fingerprints: &FixedSizeBinaryArray = column.ok_or_else(missing)?;
    let mut parts = Vec::with_capacity(fingerprints.len());
    for (at, row) in piece.rows.iter().enumerate() {
        let hash = XxHash3_64::oneshot_with_seed(seed, fingerprints.value(at));
        let part = ends.iter().position(|end| hash <= *end).unwrap_or_default();
        let place = usize::try_from(*row).ok().and_then(|row| piece.places.get(row));
        let row = place.and_then(|place| all.binary_search_by_key(&place.row, |it| it.row).ok());
        let row = row.and_then(|row| u32::try_from(row).ok()).ok_or_else(missing)?;
        parts.push((part, row));
    }
    Ok(parts)
}

/// The rows of each part.
struct Divided {
    encoded: Vec<Encoded>,
    rejects: Rejects,
    tally: Tally,
}

struct Split;

impl Writer<Divided> for Split {
    fn take(&mut self, done: Divided, shards: &mut Shards) -> Result<(), DataError> {
        for (part, encoded) in done.encoded.iter().enumerate() {
            shards.write(part, encoded)?;
        }
        shards.tell(&done.tally, done.rejects)
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, ends};

    fn parts(parts: &[(&str, f64)]) -> Vec<Share> {
        parts
            .iter()
            .map(|(name, share)| Share { name: (*name).to_owned(), share: *share })
            .collect()
    }

    #[test]
    fn shares_become_ends() {
        let found = ends(&parts(&[("train", 0.75), ("test", 0.25)])).unwrap();
        assert_eq!(found, [u64::MAX / 4 * 3 + 3, u64::MAX]);
        for wrong in [
            &[("a", 0.5)][..],
            &[("a", 0.5), ("a", 0.5)],
            &[("a/b", 1.0)],
            &[("", 1.0)],
            &[("_a", 1.0)],
            &[("a", 1.5), ("b", -0.5)],
            &[("a", f64::NAN)],
            &[],
        ] {
            assert!(ends(&parts(wrong)).is_err(), "{wrong:?}");
        }
    }
}
