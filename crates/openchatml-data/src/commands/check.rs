//! What is wrong with the conversations of a data set.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use serde::Serialize;

use super::{Piece, Work};
use crate::error::DataError;
use crate::input::RowPlace;
use crate::kernel::{Count, KernelOptions, Tally};
use crate::run::{Fields, Inputs, RunOptions};

/// What is wrong with the conversations of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// The number of records, and of those with problems.
    #[serde(flatten)]
    pub tally: Tally,
    /// The diagnostics by code, with the first examples of each.
    pub findings: Vec<Finding>,
}

/// How often a diagnostic occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The code.
    pub code: String,
    /// The severity.
    pub severity: String,
    /// How often it occurs.
    #[serde(flatten)]
    pub count: Count,
    /// The first ones.
    pub examples: Vec<Example>,
}

/// Where a diagnostic occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Example {
    /// The file.
    pub file: String,
    /// The number of the row or line, from 1.
    pub row: u64,
    /// The first byte in the record.
    pub start: u64,
    /// The message.
    pub message: String,
}

/// Examples by severity and code.
type Examples = BTreeMap<(String, String), Vec<Example>>;

/// Checks the conversations of a data set. The task of the kernel is
/// [`Task::Check`](crate::kernel::Task::Check). For each code, the first `examples` are returned.
///
/// # Errors
///
/// The inputs cannot be read.
///
/// ```
/// use openchatml_data::kernel::{KernelOptions, Task};
/// use openchatml_data::{Fields, RunOptions, check};
///
/// let folder = tempfile::tempdir()?;
/// let input = folder.path().join("in.jsonl").display().to_string();
/// std::fs::write(&input, r#"{"messages":[{"role":"user","content":"Hi!"}]}"#)?;
///
/// let run = RunOptions::new([input], "");
/// let checked = check(&run, &Fields::default(), KernelOptions::new(Task::check()), 1)?;
/// assert_eq!(checked.findings[0].code, "W-NO-ASSISTANT");
/// assert_eq!(checked.findings[0].examples[0].row, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    options: &RunOptions,
    fields: &Fields,
    kernel: KernelOptions,
    examples: usize,
) -> Result<Checked, DataError> {
    let inputs = Inputs::open(options)?;
    // Nothing is written, so nothing else can be lost.
    let fields = Fields { keep_all: fields.column.is_some(), ..fields.clone() };
    let work = Work::new(&inputs, &fields, kernel)?;
    let mut tally = Tally::default();
    let mut all = Examples::new();
    inputs.each(
        |file, rows| {
            let piece = work.process(file, rows)?;
            Ok((examples_of(&file.name, &piece, examples), piece.tally))
        },
        |(own, counted): (Examples, Tally)| {
            tally.add(&counted);
            for (key, more) in own {
                let known = all.entry(key).or_default();
                let room = examples.saturating_sub(known.len());
                known.extend(more.into_iter().take(room));
            }
            Ok(())
        },
    )?;
    let findings = tally.found.iter().map(|(name, count)| {
        let (severity, code) = name.split_once(' ').unwrap_or(("", name));
        let key = (severity.to_owned(), code.to_owned());
        Finding {
            examples: all.remove(&key).unwrap_or_default(),
            severity: key.0,
            code: key.1,
            count: *count,
        }
    });
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|it| {
        (rank(&it.severity), std::cmp::Reverse(it.count.records), it.code.clone())
    });
    Ok(Checked { tally, findings })
}

/// Errors come first.
fn rank(severity: &str) -> u8 {
    match severity {
        "error" => 0,
        "warning" => 1,
        _ => 2,
    }
}

/// Returns the first examples of each diagnostic in a batch.
fn examples_of(file: &str, piece: &Piece, most: usize) -> Examples {
    let mut all = Examples::new();
    let Some(rows) = Findings::of(&piece.batch) else { return all };
    for (at, row) in piece.rows.iter().enumerate() {
        let place = usize::try_from(*row).ok().and_then(|row| piece.places.get(row));
        let RowPlace { row, .. } = place.copied().unwrap_or_default();
        rows.each(at, |severity, code, message, start| {
            let known = all.entry((severity.to_owned(), code.to_owned())).or_default();
            if known.len() < most {
                let (file, message) = (file.to_owned(), message.to_owned());
                known.push(Example { file, row, start, message });
            }
        });
    }
    all
}

/// The column `findings` of a batch.
struct Findings<'b> {
    offsets: &'b [i32],
    fields: [&'b arrow_array::StringArray; 3],
    starts: &'b arrow_array::PrimitiveArray<Int32Type>,
}

impl<'b> Findings<'b> {
    fn of(batch: &'b RecordBatch) -> Option<Self> {
        let lists = batch.column_by_name("findings")?.as_list_opt::<i32>()?;
        let values = lists.values().as_struct_opt()?;
        let text = |name: &str| values.column_by_name(name)?.as_string_opt::<i32>();
        let fields = [text("severity")?, text("code")?, text("message")?];
        let starts = values.column_by_name("start")?.as_primitive_opt::<Int32Type>()?;
        Some(Self { offsets: lists.value_offsets(), fields, starts })
    }

    fn each(&self, row: usize, mut visit: impl FnMut(&str, &str, &str, u64)) {
        let [start, end] = [row, row + 1].map(|at| self.offsets.get(at).copied().unwrap_or(0));
        for at in start..end {
            let Ok(at) = usize::try_from(at) else { continue };
            if at < self.starts.values().len() {
                let [severity, code, message] = self.fields.map(|field| field.value(at));
                let start = u64::try_from(self.starts.value(at)).unwrap_or_default();
                visit(severity, code, message, start);
            }
        }
    }
}
