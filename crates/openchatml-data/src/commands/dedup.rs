//! Drops conversations that occurred before.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, FixedSizeBinaryArray, RecordBatch};

use super::lsh::Index;
use super::{Piece, RowWriter, Work};
use crate::error::DataError;
use crate::input::RowPlace;
use crate::kernel::{KernelOptions, Task};
use crate::record::escape;
use crate::run::{Fields, Inputs, RunOptions, Shards, Summary, Writer, run};

/// Which conversations are similar.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Near {
    /// The share of three-word sequences that two conversations must have in common, from 0 to 1.
    pub threshold: f64,
    /// The number of hashes with which this share is estimated.
    pub hashes: usize,
}

impl Near {
    /// Finds conversations with this share of common three-word sequences, with 128 hashes.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, hashes: 128 }
    }
}

/// Writes the rows of a data set without conversations that occurred before: those with the same
/// words in the same messages, and with `near`, those with similar words. Rows are not changed, and
/// each dropped one is listed beside the outputs, with the row that it equals. Returns the summary,
/// and the number of dropped rows.
///
/// The index of all conversations is in memory. If it exceeds [`RunOptions::memory`], the run
/// stops.
///
/// # Errors
///
/// The inputs cannot be read, the outputs cannot be written, or the memory does not suffice.
pub fn dedup(
    options: &RunOptions,
    fields: &Fields,
    mut kernel: KernelOptions,
    near: Option<Near>,
) -> Result<(Summary, u64), DataError> {
    if let Some(Near { threshold, hashes }) = near
        && !(threshold > 0.0 && threshold <= 1.0 && (8..=4096).contains(&hashes))
    {
        let text = "the threshold must be greater than 0 and at most 1, with 8 to 4096 hashes";
        return Err(DataError::usage(text));
    }
    kernel.task = Task::Fingerprint { hashes: near.map_or(0, |near| near.hashes) };
    // Rows stay whole, so nothing is lost.
    kernel.consent.allow_all_drops();
    let inputs = Inputs::open(options)?;
    // The rows stay whole.
    let fields = Fields { keep_all: fields.column.is_some(), ..fields.clone() };
    let work = Work::new(&inputs, &fields, kernel)?;
    let rows = Arc::new(RowWriter::new(&inputs)?);
    let layout = rows.layout(options, vec![String::new()]);
    let description = BTreeMap::from([
        ("--near".to_owned(), format!("{near:?}")),
        ("--output-format".to_owned(), layout.format.ending().to_owned()),
        ("the format of the input".to_owned(), work.format()),
        ("the columns".to_owned(), fields.describe()),
    ]);
    let writer = Dedup {
        rows,
        memory: options.memory,
        names: Vec::new(),
        exact: HashMap::new(),
        near: near.map(|near| (Index::new(near.hashes, near.threshold), Vec::new())),
    };
    let process = |file: &crate::input::InputFile, rows: crate::input::Rows| {
        let batch = rows.batch.clone();
        let all: Vec<RowPlace> = rows.places.clone();
        let piece = work.process(file, rows)?;
        Ok(Hashed { file: file.name.clone(), batch, all, piece })
    };
    let summary = run(&inputs, "dedup", layout, description, process, writer)?;
    let dropped = summary.tally.records - summary.tally.rejected - summary.rows;
    Ok((summary, dropped))
}

/// Rows with their hashes.
struct Hashed {
    file: String,
    batch: RecordBatch,
    /// The places of all rows of the batch.
    all: Vec<RowPlace>,
    piece: Piece,
}

/// The first row of equal or similar conversations.
#[derive(Clone, Copy)]
struct First {
    /// The number of the name of its file.
    file: u32,
    row: u64,
}

struct Dedup {
    rows: Arc<RowWriter>,
    memory: usize,
    names: Vec<Arc<str>>,
    exact: HashMap<u128, First>,
    near: Option<(Index, Vec<First>)>,
}

impl Dedup {
    /// Returns the first row that a row equals, and how similar it is. A row that equals none
    /// becomes known.
    fn known(
        &mut self,
        fingerprint: u128,
        signature: Option<&[u8]>,
        row: First,
    ) -> Option<(First, f64)> {
        if let Some(first) = self.exact.get(&fingerprint) {
            return Some((*first, 1.0));
        }
        let mut known = None;
        if let (Some((index, rows)), Some(signature)) = (&mut self.near, signature) {
            known = index.find_or_add(signature).map(|(at, share)| (rows[at], share));
            if known.is_none() {
                rows.push(row);
            }
        }
        self.exact.insert(fingerprint, known.map_or(row, |(first, _)| first));
        known
    }

    /// Decides about the rows of a batch. Returns those that stay, and calls `drop` for the others.
    fn decide(
        &mut self,
        hashed: &Hashed,
        mut drop: impl FnMut(&Self, RowPlace, First, f64),
    ) -> Result<Vec<u32>, DataError> {
        if self.names.last().is_none_or(|last| **last != *hashed.file) {
            self.names.push(hashed.file.as_str().into());
        }
        let file = u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX);
        let missing = || DataError::Internal("no column of fingerprints".to_owned());
        let column = |at: usize| -> Option<&FixedSizeBinaryArray> {
            hashed.piece.batch.columns().get(at)?.as_fixed_size_binary_opt()
        };
        let fingerprints = column(0).ok_or_else(missing)?;
        let signatures = column(1);
        let mut stay = Vec::new();
        for at in 0..fingerprints.len() {
            let bytes = fingerprints.value(at).try_into().map_err(|_| missing())?;
            let ready = hashed.piece.rows.get(at).and_then(|row| usize::try_from(*row).ok());
            let place = ready.and_then(|row| hashed.piece.places.get(row)).ok_or_else(missing)?;
            let signature = signatures.map(|signatures| signatures.value(at));
            let row = First { file, row: place.row };
            match self.known(u128::from_le_bytes(bytes), signature, row) {
                Some((first, share)) => drop(self, *place, first, share),
                None => {
                    // Places are in order.
                    let row = hashed.all.binary_search_by_key(&place.row, |place| place.row);
                    stay.push(
                        row.ok().and_then(|row| u32::try_from(row).ok()).ok_or_else(missing)?,
                    );
                }
            }
        }
        self.check_memory()?;
        Ok(stay)
    }

    fn check_memory(&self) -> Result<(), DataError> {
        // A fingerprint, its row, and the free space of the table.
        const ENTRY: usize = 64;
        let near = self.near.as_ref().map_or(0, |(index, _)| index.bytes());
        let bytes = self.exact.len() * ENTRY + near;
        if bytes <= self.memory {
            return Ok(());
        }
        Err(DataError::usage(format!(
            "the index of {} conversations takes more than {} MiB: raise `--memory`",
            self.exact.len(),
            self.memory >> 20
        )))
    }
}

impl Writer<Hashed> for Dedup {
    const REMEMBERS: bool = true;

    fn take(&mut self, done: Hashed, shards: &mut Shards) -> Result<(), DataError> {
        let (mut dropped, mut count) = (String::new(), 0);
        let stay = self.decide(&done, |own, place, first, share| {
            let name = &own.names[usize::try_from(first.file).unwrap_or_default()];
            dropped.push_str("{\"file\":\"");
            escape(&done.file, &mut dropped);
            dropped.push_str(&format!("\",\"row\":{},\"of\":{{\"file\":\"", place.row));
            escape(name, &mut dropped);
            dropped.push_str(&format!("\",\"row\":{}}},\"similarity\":{share:.3}}}\n", first.row));
            count += 1;
        })?;
        let (rows, batch) = (Arc::clone(&self.rows), done.batch);
        shards.encode(0, move || rows.encode(&batch, &stay))?;
        shards.note("duplicates", dropped.into_bytes(), count)?;
        shards.tell(&done.piece.tally, done.piece.rejects)
    }

    fn recall(&mut self, done: Hashed) -> Result<(), DataError> {
        self.decide(&done, |_, _, _, _| {}).map(drop)
    }
}
