//! The files of the current shard.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::manifest::ShardEntry;
use super::plan::ShardEnd;
use super::rejects::Rejects;
use crate::error::DataError;
use crate::kernel::Tally;
use crate::output::{Encoded, FileFormat, Shard};
use crate::pool::{Pending, Pool};
use crate::store::Folder;

/// What files a run writes.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) format: FileFormat,
    /// The columns, unless the files have lines.
    pub(crate) schema: Option<SchemaRef>,
    /// The folders for the files: one file in each for a shard. The name of the output folder
    /// itself is empty.
    pub(crate) folders: Vec<String>,
    pub(crate) group_bytes: usize,
}

/// The files of the current shard.
pub(crate) struct Shards {
    folder: Folder,
    pool: Arc<Pool>,
    layout: Layout,
    number: u64,
    files: Vec<Option<Shard>>,
    /// The files of lines beside them, by their names.
    others: BTreeMap<&'static str, Shard>,
    /// Rows that are being encoded, each with the number of their folder.
    pending: VecDeque<(usize, Pending<Encoded>)>,
    tally: Tally,
}

impl Shards {
    pub(super) fn new(folder: Folder, layout: Layout, number: u64, pool: Arc<Pool>) -> Self {
        let files = layout.folders.iter().map(|_| None).collect();
        let (others, pending, tally) = (BTreeMap::new(), VecDeque::new(), Tally::default());
        Self { folder, pool, layout, number, files, others, pending, tally }
    }

    /// The number of the current shard.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Goes on to the next shard without writing anything.
    pub(super) fn skip(&mut self) {
        self.number += 1;
    }

    /// Returns the file in a folder.
    fn file(&mut self, at: usize) -> Result<&mut Shard, DataError> {
        let Self { folder, pool, layout, number, files, .. } = self;
        let (Some(file), Some(inner)) = (files.get_mut(at), layout.folders.get(at)) else {
            return Err(DataError::Internal("no such folder".to_owned()));
        };
        if let Some(file) = file {
            return Ok(file);
        }
        let slash = if inner.is_empty() { "" } else { "/" };
        let name = format!("{inner}{slash}part-{number:05}.{}", layout.format.ending());
        let schema = layout.schema.as_ref();
        let shard = Shard::create(folder, &name, layout.format, schema, layout.group_bytes, pool)?;
        Ok(file.insert(shard))
    }

    /// Appends rows to the file in the folder with this number, when they are encoded. Another
    /// thread encodes them.
    pub(crate) fn encode(
        &mut self,
        at: usize,
        encode: impl FnOnce() -> Result<Encoded, DataError> + Send + 'static,
    ) -> Result<(), DataError> {
        self.pending.push_back((at, self.pool.start(encode)));
        self.write_pending(self.pool.threads())
    }

    /// Writes encoded rows until at most this many parts are still being encoded.
    fn write_pending(&mut self, most: usize) -> Result<(), DataError> {
        while self.pending.len() > most
            && let Some((at, encoded)) = self.pending.pop_front()
        {
            let encoded = encoded.wait()?;
            self.append(at, &encoded)?;
        }
        Ok(())
    }

    /// Appends rows to the file in the folder with this number.
    pub(crate) fn write(&mut self, at: usize, encoded: &Encoded) -> Result<(), DataError> {
        self.write_pending(0)?;
        self.append(at, encoded)
    }

    fn append(&mut self, at: usize, encoded: &Encoded) -> Result<(), DataError> {
        match encoded.rows() {
            0 => Ok(()),
            _ => self.file(at)?.write(encoded),
        }
    }

    /// Counts what was found in rows, and appends rejected ones to the file of rejects.
    pub(crate) fn tell(&mut self, tally: &Tally, rejects: Rejects) -> Result<(), DataError> {
        self.tally.add(tally);
        let Rejects { lines, count } = rejects;
        self.note("rejects", lines.into_bytes(), count)
    }

    /// Appends lines to a file of this name beside the outputs.
    pub(crate) fn note(
        &mut self,
        name: &'static str,
        bytes: Vec<u8>,
        rows: u64,
    ) -> Result<(), DataError> {
        if rows == 0 {
            return Ok(());
        }
        let file = match self.others.entry(name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let name = format!("_{name}-{:05}.jsonl", self.number);
                entry.insert(Shard::create(
                    &self.folder,
                    &name,
                    FileFormat::Jsonl,
                    None,
                    0,
                    &self.pool,
                )?)
            }
        };
        file.write(&Encoded::Lines { bytes: bytes.into(), rows })
    }

    /// Finishes the files of the shard, and goes on to the next one.
    pub(super) fn finish(&mut self, end: ShardEnd) -> Result<ShardEntry, DataError> {
        self.write_pending(0)?;
        // The first shard has all files, so that readers find the columns of empty outputs.
        if self.number == 0 {
            for at in 0..self.files.len() {
                self.file(at)?;
            }
        }
        let mut outputs = Vec::new();
        for file in self.files.iter_mut().filter_map(Option::take) {
            outputs.push(file.finish()?);
        }
        let others = std::mem::take(&mut self.others).into_values().map(Shard::finish);
        let others = others.collect::<Result<_, _>>()?;
        self.number += 1;
        let ShardEnd { shard, inputs, end } = end;
        let tally = std::mem::take(&mut self.tally);
        Ok(ShardEntry { shard, inputs, end, outputs, others, tally })
    }
}
