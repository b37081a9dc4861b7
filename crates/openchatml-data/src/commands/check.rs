//! What is wrong with the conversations of a data set.

use std::collections::{BTreeMap, HashMap};

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, FixedSizeBinaryArray, Int32Array, RecordBatch, StringArray};
use openchatml::{Code, Diagnostic, Severity, Span};
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
    /// The number of conversations that later ones were not compared with to find duplicates,
    /// because the memory does not suffice.
    pub unindexed: u64,
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

/// The findings of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowFindings {
    /// The file.
    pub file: String,
    /// The number of the row or line, from 1.
    pub row: u64,
    /// The first byte of the record in the file, if the file has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// The findings, in the order of the record.
    pub findings: Vec<RowFinding>,
}

/// A finding of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowFinding {
    /// The code.
    pub code: String,
    /// The severity.
    pub severity: String,
    /// The message.
    pub message: String,
    /// The first byte in the record.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

/// Checks the conversations of a data set. The task of the kernel is
/// [`Task::Check`](crate::kernel::Task::Check). For each code, the first `examples` are returned.
///
/// With [`Code::Duplicate`] among the lints, conversations with the same messages as an earlier one
/// are found. The index of earlier ones takes at most [`RunOptions::memory`]; then later
/// conversations are only compared with those in it, and [`Checked::unindexed`] counts them.
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
    check_rows(options, fields, kernel, examples, |_| Ok(()))
}

/// Like [`check`], but also passes each row with findings to `each`, in order.
///
/// # Errors
///
/// The inputs cannot be read, or `each` fails.
///
/// ```
/// use openchatml::Code;
/// use openchatml_data::kernel::{KernelOptions, Task};
/// use openchatml_data::{Fields, RunOptions, check_rows};
///
/// let folder = tempfile::tempdir()?;
/// let input = folder.path().join("in.jsonl").display().to_string();
/// let chat = r#"{"messages":[{"role":"user","content":"Hi!"}]}"#;
/// std::fs::write(&input, format!("{chat}\n{chat}\n"))?;
///
/// let kernel = KernelOptions::new(Task::Check { lints: vec![Code::Duplicate] });
/// let mut rows = Vec::new();
/// check_rows(&RunOptions::new([input], ""), &Fields::default(), kernel, 1, |row| {
///     rows.push(row);
///     Ok(())
/// })?;
/// assert_eq!((rows.len(), rows[0].row), (1, 2));
/// assert_eq!(rows[0].findings[0].message, "the same conversation as in row 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_rows(
    options: &RunOptions,
    fields: &Fields,
    kernel: KernelOptions,
    examples: usize,
    mut each: impl FnMut(RowFindings) -> Result<(), DataError>,
) -> Result<Checked, DataError> {
    let inputs = Inputs::open(options)?;
    // Nothing is written, so nothing else can be lost.
    let fields = Fields { keep_all: fields.column.is_some(), ..fields.clone() };
    let has_bytes = inputs.has_lines();
    let work = Work::new(&inputs, &fields, kernel)?;
    let mut tally = Tally::default();
    let mut all = Examples::new();
    let mut known = Known::new(options.memory);
    inputs.each(
        |file, rows| {
            let piece = work.process(file, rows)?;
            Ok((file.name.clone(), rows_of(&piece), piece.tally))
        },
        |(file, rows, counted): (String, Vec<Row>, Tally)| {
            tally.add(&counted);
            for mut row in rows {
                if let Some(found) = known.duplicate(&file, &row) {
                    tally.add_finding(&found, row.severity);
                    row.findings.insert(0, finding_of(&found));
                }
                if row.findings.is_empty() {
                    continue;
                }
                let RowPlace { row: number, byte } = row.place;
                add_examples(&file, number, &row.findings, examples, &mut all);
                let byte = has_bytes.then_some(byte);
                let (file, findings) = (file.clone(), row.findings);
                each(RowFindings { file, row: number, byte, findings })?;
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
    Ok(Checked { tally, findings, unindexed: known.unindexed })
}

/// Examples by severity and code.
type Examples = BTreeMap<(String, String), Vec<Example>>;

/// Adds the findings of a row to the examples, as long as there is room for them.
fn add_examples(file: &str, row: u64, findings: &[RowFinding], most: usize, all: &mut Examples) {
    for RowFinding { code, severity, message, start, .. } in findings {
        let known = all.entry((severity.clone(), code.clone())).or_default();
        if known.len() < most {
            let (file, message) = (file.to_owned(), message.clone());
            known.push(Example { file, row, start: *start, message });
        }
    }
}

/// A row, with what was found in it.
struct Row {
    place: RowPlace,
    findings: Vec<RowFinding>,
    /// The most severe finding.
    severity: Option<Severity>,
    /// What equal conversations share.
    fingerprint: Option<u128>,
}

/// The conversations that were read, to find those that occur again.
struct Known {
    first: HashMap<u128, (usize, u64)>,
    files: Vec<String>,
    most: usize,
    unindexed: u64,
}

impl Known {
    /// Knows as many conversations as fit into this memory.
    fn new(memory: usize) -> Self {
        // A fingerprint, its row, and the free space of the table.
        const ENTRY: usize = 64;
        Self { first: HashMap::new(), files: Vec::new(), most: memory / ENTRY, unindexed: 0 }
    }

    /// Returns the finding for a conversation that occurred before. Any other becomes known.
    fn duplicate(&mut self, file: &str, row: &Row) -> Option<Diagnostic> {
        let fingerprint = row.fingerprint?;
        if let Some((at, first)) = self.first.get(&fingerprint) {
            let other = self.files.get(*at).filter(|other| *other != file);
            let other = other.map_or(String::new(), |other| format!(" of {other}"));
            let text = format!("the same conversation as in row {first}{other}");
            return Some(Code::Duplicate.at(Span::at(0), text));
        }
        if self.first.len() >= self.most {
            self.unindexed += 1;
            return None;
        }
        if self.files.last().is_none_or(|last| last != file) {
            self.files.push(file.to_owned());
        }
        self.first.insert(fingerprint, (self.files.len() - 1, row.place.row));
        None
    }
}

fn finding_of(found: &Diagnostic) -> RowFinding {
    let [start, end] =
        [found.span.start, found.span.end].map(|at| u64::try_from(at).unwrap_or_default());
    RowFinding {
        code: found.code.to_string(),
        severity: found.severity.to_string(),
        message: found.message.clone(),
        start,
        end,
    }
}

fn severity_of(word: &str) -> Option<Severity> {
    let all = [Severity::Note, Severity::Warning, Severity::Error];
    all.into_iter().find(|severity| severity.as_str() == word)
}

/// Returns the rows of a batch that have findings or can be duplicates, in order.
fn rows_of(piece: &Piece) -> Vec<Row> {
    let rejected = piece.rejected.iter().map(|(place, found)| Row {
        place: *place,
        findings: found.iter().map(finding_of).collect(),
        severity: found.iter().map(|found| found.severity).max(),
        fingerprint: None,
    });
    let mut all: Vec<_> = rejected.collect();
    let Some(findings) = Findings::of(&piece.batch) else { return all };
    for (at, row) in piece.rows.iter().enumerate() {
        let place = usize::try_from(*row).ok().and_then(|row| piece.places.get(row));
        let mut row = Row {
            place: place.copied().unwrap_or_default(),
            findings: Vec::new(),
            severity: None,
            fingerprint: findings.fingerprint(at),
        };
        findings.each(at, |found| {
            row.severity = row.severity.max(severity_of(&found.severity));
            row.findings.push(found);
        });
        if !row.findings.is_empty() || row.fingerprint.is_some() {
            all.push(row);
        }
    }
    all.sort_by_key(|row| row.place.row);
    all
}

/// Errors come first.
fn rank(severity: &str) -> u8 {
    match severity {
        "error" => 0,
        "warning" => 1,
        _ => 2,
    }
}

/// The columns of a batch.
struct Findings<'b> {
    offsets: &'b [i32],
    fields: [&'b StringArray; 3],
    bounds: [&'b Int32Array; 2],
    fingerprints: Option<&'b FixedSizeBinaryArray>,
}

impl<'b> Findings<'b> {
    fn of(batch: &'b RecordBatch) -> Option<Self> {
        let lists = batch.column_by_name("findings")?.as_list_opt::<i32>()?;
        let values = lists.values().as_struct_opt()?;
        let text = |name: &str| values.column_by_name(name)?.as_string_opt::<i32>();
        let number = |name: &str| values.column_by_name(name)?.as_primitive_opt::<Int32Type>();
        let fields = [text("severity")?, text("code")?, text("message")?];
        let bounds = [number("start")?, number("end")?];
        let fingerprints =
            batch.column_by_name("fingerprint").and_then(|it| it.as_fixed_size_binary_opt());
        Some(Self { offsets: lists.value_offsets(), fields, bounds, fingerprints })
    }

    fn fingerprint(&self, row: usize) -> Option<u128> {
        let fingerprints = self.fingerprints.filter(|it| it.is_valid(row))?;
        fingerprints.value(row).try_into().ok().map(u128::from_le_bytes)
    }

    fn each(&self, row: usize, mut visit: impl FnMut(RowFinding)) {
        let [start, end] = [row, row + 1].map(|at| self.offsets.get(at).copied().unwrap_or(0));
        for at in start..end {
            let Ok(at) = usize::try_from(at) else { continue };
            if at < self.bounds[0].len() {
                let [severity, code, message] = self.fields.map(|field| field.value(at).to_owned());
                let [start, end] =
                    self.bounds.map(|it| u64::try_from(it.value(at)).unwrap_or_default());
                visit(RowFinding { code, severity, message, start, end });
            }
        }
    }
}
