//! Runs over whole data sets: inputs in order, in bounded memory, on all cores, into shards that can
//! be resumed.

mod fields;
mod manifest;
mod options;
mod pipeline;
mod plan;
mod rejects;
mod shards;

pub use self::fields::Fields;
pub(crate) use self::fields::select;
pub use self::options::{OnReject, Progress, ProgressFn, RunOptions, Summary};
pub(crate) use self::rejects::Rejects;
pub(crate) use self::shards::{Layout, Shards};

use std::collections::BTreeMap;
use std::sync::Arc;

use self::manifest::{Head, InputEnd, Journal};
use self::plan::{Item, Plan, Reader, ShardEnd};
use crate::error::DataError;
use crate::input::{InputFile, Rows};
use crate::kernel::Tally;
use crate::pool::Pool;
use crate::store::Folder;

/// The inputs of a run that are open.
pub(crate) struct Inputs<'o> {
    pub(crate) options: &'o RunOptions,
    pub(crate) plan: Plan,
}

impl<'o> Inputs<'o> {
    pub(crate) fn open(options: &'o RunOptions) -> Result<Self, DataError> {
        let plan = Plan::new(&options.inputs, options.batch_limits())?;
        Ok(Self { options, plan })
    }

    /// Whether the inputs have lines.
    pub(crate) fn has_lines(&self) -> bool {
        self.plan.has_lines()
    }

    /// Passes the results of all rows to `take`, in order.
    pub(crate) fn each<T: Send>(
        &self,
        work: impl Fn(&InputFile, Rows) -> Result<T, DataError> + Sync,
        mut take: impl FnMut(T) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let start = (0, InputEnd::default());
        self.items(&Pool::new(self.options.jobs), start, u64::MAX, work, |item| match item {
            Done::Rows(rows) => take(rows),
            Done::End(_) => Ok(()),
        })
    }

    fn items<T: Send>(
        &self,
        pool: &Pool,
        start: (u64, InputEnd),
        shard_rows: u64,
        work: impl Fn(&InputFile, Rows) -> Result<T, DataError> + Sync,
        mut take: impl FnMut(Done<T>) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let options = self.options;
        let mut reader = Reader::new(&self.plan, shard_rows, start, &options.cancel);
        let total = self.plan.bytes();
        let work = |item| match item {
            Item::End(end) => Ok(Done::End(end)),
            Item::Rows(file, rows) => work(&self.plan.inputs[file], rows).map(Done::Rows),
        };
        pipeline::run(
            pool,
            options.budget(),
            || reader.next(),
            work,
            |done| {
                if let Some(progress) = &options.progress {
                    // The size of a stream is not known before its end.
                    let is_stream = self.plan.stream().is_some();
                    let total = if is_stream { self.plan.bytes() } else { total };
                    let read = self.plan.read.load(std::sync::atomic::Ordering::Relaxed);
                    progress(Progress { read: read.min(total), total });
                }
                take(done)
            },
        )
    }
}

/// Whether an input is in the output folder.
fn is_inside(folder: &Folder, input: &InputFile) -> bool {
    !input.blob.is_stream() && folder.contains(&input.name)
}

enum Done<T> {
    Rows(T),
    End(ShardEnd),
}

/// What takes the results of rows in order, and writes shards.
pub(crate) trait Writer<T> {
    /// Takes the results of some rows.
    fn take(&mut self, done: T, shards: &mut Shards) -> Result<(), DataError>;

    /// Writes what is left, because the shard ends.
    fn end_shard(&mut self, _: &mut Shards) -> Result<(), DataError> {
        Ok(())
    }

    /// Whether the results of earlier shards decide what becomes of later rows. Then a run that is
    /// resumed reads its inputs again from the beginning, and passes those results to
    /// [`recall`](Self::recall).
    const REMEMBERS: bool = false;

    /// Takes the results of rows whose shard is finished.
    fn recall(&mut self, _: T) -> Result<(), DataError> {
        Ok(())
    }
}

/// Runs a command: writes the results of all rows into shards in the output folder. Continues the
/// same run if it was interrupted.
pub(crate) fn run<T: Send, W: Writer<T>>(
    inputs: &Inputs<'_>,
    command: &str,
    layout: Layout,
    description: BTreeMap<String, String>,
    work: impl Fn(&InputFile, Rows) -> Result<T, DataError> + Sync,
    mut writer: W,
) -> Result<Summary, DataError> {
    let options = inputs.options;
    let folder = Folder::new(&options.output)?;
    if let Some(input) = inputs.plan.inputs.iter().find(|input| is_inside(&folder, input)) {
        let text = format!("the input `{}` is in the output folder: name another one", input.name);
        return Err(DataError::usage(text));
    }
    let _lock = folder.lock()?;
    let head = Head::new(command, options.describe(description), &inputs.plan.inputs);
    let mut journal = Journal::open(folder.clone(), head, options.overwrite)?;
    let finished = u64::try_from(journal.shards.len()).unwrap_or(u64::MAX);
    if !journal.is_complete {
        let end = journal.shards.last().map(|entry| entry.end).unwrap_or_default();
        let start = if W::REMEMBERS { (0, InputEnd::default()) } else { (finished, end) };
        let pool = Arc::new(Pool::new(options.jobs));
        let mut shards = Shards::new(folder, layout, start.0, Arc::clone(&pool));
        inputs.items(&pool, start, options.shard_rows.get(), work, |done| match done {
            Done::Rows(done) if shards.number() < finished => writer.recall(done),
            Done::Rows(done) => writer.take(done, &mut shards),
            Done::End(_) if shards.number() < finished => {
                shards.skip();
                Ok(())
            }
            Done::End(end) => {
                writer.end_shard(&mut shards)?;
                journal.add(shards.finish(end)?)
            }
        })?;
    }
    let was_complete = journal.is_complete;
    let mut tally = Tally::default();
    let mut rows = 0;
    let mut files = 0;
    for entry in journal.finish()? {
        tally.add(&entry.tally);
        files += entry.outputs.len();
        rows += entry.outputs.iter().map(|file| file.rows).sum::<u64>();
    }
    let resumed = if was_complete { 0 } else { finished };
    Ok(Summary { tally, rows, files, resumed, was_complete })
}
