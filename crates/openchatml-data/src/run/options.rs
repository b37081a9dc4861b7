//! The options of runs.

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::input::BatchLimits;
use crate::kernel::Tally;
use crate::output::FileFormat;

/// The options of a run over a data set.
///
/// ```
/// use openchatml_data::RunOptions;
///
/// let mut options = RunOptions::new(["train.jsonl"], "out");
/// options.memory = 1 << 30;
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RunOptions {
    /// The inputs: files, folders, patterns or URLs.
    pub inputs: Vec<String>,
    /// The folder for the outputs, or its URL.
    pub output: String,
    /// The kind of the output files. Without one, it is that of the inputs.
    pub format: Option<FileFormat>,
    /// The number of input rows in a shard.
    pub shard_rows: NonZeroU64,
    /// The approximate number of bytes for rows in progress. What is written depends on it as far
    /// as files are compressed or have row groups.
    pub memory: usize,
    /// The number of threads that work.
    pub jobs: NonZeroUsize,
    /// What to do if a row is rejected.
    pub on_reject: OnReject,
    /// Whether to replace the files of another run.
    pub overwrite: bool,
    /// Stops the run when it becomes true.
    pub cancel: Arc<AtomicBool>,
    /// Is called while rows are written.
    pub progress: Option<ProgressFn>,
    /// The options of the caller, by name. A run can only be resumed with the same ones.
    pub description: BTreeMap<String, String>,
}

/// What to do if a row is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnReject {
    /// Write it to the file of rejects, and go on.
    #[default]
    Keep,
    /// Stop.
    Stop,
}

/// How much of the inputs has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of bytes that were read.
    pub read: u64,
    /// The size of all inputs.
    pub total: u64,
}

/// A function that shows the progress of a run.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The records that were read, and what was found and lost.
    pub tally: Tally,
    /// The number of rows in the outputs.
    pub rows: u64,
    /// The number of output files.
    pub files: usize,
    /// The number of shards that were already finished by an earlier, interrupted run.
    pub resumed: u64,
    /// Whether the run was already complete.
    pub was_complete: bool,
}

/// The part of the memory that one batch may take, from its text to its output.
const BATCH_SHARE: usize = 64;

/// The largest batch in bytes of input. Larger ones are not faster.
const MOST_BATCH: usize = 1 << 20;

/// How many times the size of its input a batch takes in memory, at most: text, messages, ids with
/// masks, and the output.
const EXPANSION: usize = 8;

impl RunOptions {
    /// Creates options for inputs and an output folder: 512 MiB of memory, all cores, and 100,000
    /// rows for each shard.
    pub fn new<S: Into<String>>(
        inputs: impl IntoIterator<Item = S>,
        output: impl Into<String>,
    ) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            output: output.into(),
            format: None,
            shard_rows: const { NonZeroU64::new(100_000).expect("it is not zero") },
            memory: 512 << 20,
            jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            on_reject: OnReject::default(),
            overwrite: false,
            cancel: Arc::default(),
            progress: None,
            description: BTreeMap::new(),
        }
    }

    /// The limits of a batch. They do not depend on the number of threads, so that outputs do not.
    pub(crate) fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            rows: 8192,
            bytes: (self.memory / BATCH_SHARE).clamp(1, MOST_BATCH),
            line: self.line_limit(),
        }
    }

    /// The limit for one line: as much as the memory can hold while it is processed.
    pub(crate) fn line_limit(&self) -> usize {
        (self.memory / EXPANSION / 2).clamp(1, 1 << 30)
    }

    /// The number of bytes of input in progress.
    pub(crate) fn budget(&self) -> usize {
        self.memory / EXPANSION
    }

    /// The most bytes of a row group in memory.
    pub(crate) fn group_bytes(&self) -> usize {
        (self.memory / 16).clamp(1 << 16, 32 << 20)
    }

    /// Describes everything that decides about the bytes of the outputs.
    pub(crate) fn describe(&self, more: BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut all = self.description.clone();
        all.extend(more);
        all.insert("--shard-rows".to_owned(), self.shard_rows.to_string());
        all.insert("--memory".to_owned(), self.memory.to_string());
        all
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RunOptions");
        debug.field("inputs", &self.inputs).field("output", &self.output);
        debug.field("format", &self.format).field("shard_rows", &self.shard_rows);
        debug.field("memory", &self.memory).field("jobs", &self.jobs);
        debug.field("on_reject", &self.on_reject).field("overwrite", &self.overwrite);
        debug.field("description", &self.description).finish_non_exhaustive()
    }
}
