//! The options of all commands for data sets.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use openchatml::{Format, Mode, TextFormat};
use openchatml_data::kernel::{Count, KernelOptions, SharedEncoding, Tally, Task, Tokens};
use openchatml_data::{DataError, Fields, FileFormat, OnReject, RunOptions, Summary};

use crate::args::{Choice, ConsentArgs, O200K_HARMONY, ReaderArgs, choice, jobs, number};
use crate::console::Console;
use crate::encodings::{Encodings, Use};
use crate::failure::{Failure, Status};
use crate::report::count;
use crate::tools;

/// The inputs.
#[derive(Args, Clone, Debug)]
pub(super) struct InputArgs {
    /// Files, folders, patterns such as `data/*.parquet`, or URLs (JSONL or a JSON array, also
    /// compressed; Parquet; Arrow); `-` is standard input
    #[arg(value_name = "INPUT", default_value = "-")]
    inputs: Vec<String>,

    /// The number of threads that work (default: the number of cores)
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    jobs: Option<NonZeroUsize>,

    /// The approximate memory for rows in progress; it can end in K, M or G
    #[arg(long, value_name = "BYTES", default_value = "512M", value_parser = memory)]
    memory: usize,
}

/// Where the conversations are in rows.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(super) struct RecordArgs {
    /// The format of the conversations
    #[arg(short = 'f', long = "from", value_name = "FORMAT", default_value = "auto")]
    #[arg(value_parser = choice())]
    from: Choice,

    /// The column or field with the conversation (default: the whole row is the record)
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    #[command(flatten)]
    reader: ReaderArgs,
}

/// What is kept beside the conversations.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(super) struct KeepArgs {
    /// Keep these columns or fields beside the conversation. In a table, a field of lines is a
    /// column of JSON text
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    keep: Vec<String>,

    /// Keep all other columns or fields; requires --column
    #[arg(long, requires = "column", conflicts_with = "keep")]
    keep_all: bool,
}

/// The output.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(super) struct OutputArgs {
    /// The folder for the outputs, or its URL
    #[arg(short, long, value_name = "FOLDER", value_parser = folder)]
    output: String,

    /// The kind of the output files: jsonl, jsonl.gz, jsonl.zst, parquet or arrow (default: jsonl
    /// for lines, parquet for tables)
    #[arg(long, value_name = "KIND")]
    output_format: Option<FileFormat>,

    /// The number of input rows for each output file
    #[arg(long, value_name = "N", default_value = "100000")]
    shard_rows: NonZeroU64,

    /// Stop at the first row that is rejected
    #[arg(long)]
    stop_on_reject: bool,

    /// Replace the files of another run in the folder
    #[arg(long)]
    overwrite: bool,
}

/// Parses a size of memory.
fn memory(text: &str) -> Result<usize, &'static str> {
    const LEAST: usize = 1 << 20;
    let bytes = number(text).filter(|bytes| *bytes >= LEAST);
    bytes.ok_or("the memory must be a whole number of at least 1M, optionally with K, M or G")
}

/// Parses the location of a folder. One that is named as a file is meant as a file.
fn folder(text: &str) -> Result<String, String> {
    let has_ending = |format: &FileFormat| text.ends_with(&format!(".{}", format.ending()));
    let is_file = text.ends_with(".json") || FileFormat::ALL.iter().any(has_ending);
    match is_file && !Path::new(text).is_dir() {
        true => Err("the output is a folder of files: name a folder, without the ending of a \
                     file; `--output-format` names the kind of its files"
            .to_owned()),
        false => Ok(text.to_owned()),
    }
}

impl InputArgs {
    /// Returns the options of a run. Without `output`, nothing is written.
    pub(super) fn run(&self, output: Option<&OutputArgs>, console: &Console) -> RunOptions {
        let folder = output.map_or("", |output| &output.output);
        let mut options = RunOptions::new(self.inputs.clone(), folder);
        options.memory = self.memory;
        options.jobs = self.jobs.unwrap_or(options.jobs);
        if let Some(output) = output {
            options.format = output.output_format;
            options.shard_rows = output.shard_rows;
            options.overwrite = output.overwrite;
            if output.stop_on_reject {
                options.on_reject = OnReject::Stop;
            }
        }
        if console.wants_progress() {
            options.progress = Some(progress(console));
        }
        options
    }
}

/// Shows the progress of a run.
fn progress(console: &Console) -> openchatml_data::ProgressFn {
    let bar = ProgressBar::new(0);
    let style = "{bar:32} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    console.start_progress(bar.clone());
    Arc::new(move |progress: openchatml_data::Progress| {
        if bar.length() != Some(progress.total) {
            bar.set_length(progress.total);
        }
        bar.set_position(progress.read);
    })
}

impl RecordArgs {
    /// Returns where the conversations are.
    pub(super) fn fields(&self, keep: Option<&KeepArgs>) -> Result<Fields, Failure> {
        self.reader.limits_parts()?;
        let mut fields = Fields::default();
        fields.column.clone_from(&self.column);
        fields.from = match self.from {
            Choice::Auto => None,
            Choice::Format(format) => Some(format),
            Choice::Tokens(_) => {
                let text = "data sets of token ids cannot be read here: use `ocml convert`";
                return Err(Failure::Usage(text.to_owned()));
            }
        };
        if let Some(keep) = keep {
            fields.keep.clone_from(&keep.keep);
            fields.keep_all = keep.keep_all;
        }
        Ok(fields)
    }

    /// Returns the options of a kernel for this task.
    ///
    /// # Errors
    ///
    /// The file with the tools cannot be used.
    pub(super) fn kernel(
        &self,
        task: Task,
        consent: &ConsentArgs,
        console: &Console,
    ) -> Result<KernelOptions, Failure> {
        // A check says what `ocml check` says.
        let is_check = matches!(task, Task::Check { .. });
        let declares = matches!(task, Task::Convert { .. } | Task::Tokenize(_));
        let mut kernel = KernelOptions::new(task);
        kernel.read = self.reader.options(if is_check { Mode::Strict } else { Mode::Lenient });
        kernel.read.tools = tools::of_input(&self.reader, console)?;
        if declares && self.reader.tools.is_some() {
            kernel.tools = Some(kernel.read.tools.to_vec());
        }
        kernel.consent = self.reader.consent(consent);
        Ok(kernel)
    }

    /// Describes these options for the manifest.
    pub(super) fn describe(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("the options for reading".to_owned(), format!("{:?}", self.reader))])
    }
}

/// The encoding of token ids.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Token ids")]
pub(super) struct EncodingArgs {
    /// The encoding: o200k_harmony, or a file (a `tokenizer.json`, or a tiktoken rank file)
    #[arg(long, value_name = "NAME|FILE")]
    encoding: Option<String>,

    /// Write control tokens without an id in the encoding as ordinary text
    #[arg(long)]
    spell_control_tokens: bool,
}

impl EncodingArgs {
    /// Returns the ids of a format.
    ///
    /// # Errors
    ///
    /// There is no such encoding, or it lacks control tokens of the format.
    pub(super) fn tokens(&self, format: TextFormat, console: &Console) -> Result<Tokens, Failure> {
        let name = self.encoding.as_deref().unwrap_or(O200K_HARMONY);
        let encodings = Encodings::open(name, self.spell_control_tokens, console)?;
        encodings.tokenizer(format, Use::Writing)?;
        let make = move || Box::new(encodings.one()) as Box<dyn SharedEncoding>;
        let mut tokens = Tokens::new(format, make);
        tokens.may_spell = self.spell_control_tokens;
        Ok(tokens)
    }
}

/// Converts an error.
pub(super) fn failure(error: DataError) -> Failure {
    let text = error.to_string();
    match error {
        DataError::Usage(_) | DataError::Column { .. } => Failure::Usage(text),
        DataError::Rejected { .. } => Failure::Refused(text),
        _ => Failure::Io(text),
    }
}

/// Reports what a run did, and returns the exit status.
pub(super) fn report(
    summary: &Summary,
    output: &OutputArgs,
    more: &[String],
    console: &Console,
) -> Status {
    console.stop_progress();
    if summary.was_complete {
        console.detail("the run was already complete: nothing was written");
    } else if summary.resumed > 0 {
        let shards = count(usize::try_from(summary.resumed).unwrap_or(usize::MAX), "shard");
        console.summary(&format!("resumed after {shards}"));
    }
    tell(&summary.tally, console);
    let records = number_of(summary.tally.records, "record");
    let mut parts = vec![
        format!("{} in {}", number_of(summary.rows, "row"), count(summary.files, "file")),
        format!("{} rejected", summary.tally.rejected),
    ];
    parts.extend_from_slice(more);
    console.summary(&format!("{records}: {}", parts.join(", ")));
    if summary.tally.rejected == 0 {
        // What could be read of a record with errors is written, as by `convert`.
        return if summary.tally.with_errors > 0 { Status::Found } else { Status::Fine };
    }
    let folder = output.output.trim_end_matches('/');
    console.summary(&format!("the rejected records are in {folder}/_rejects-*.jsonl"));
    Status::Found
}

/// Prints what was found and lost.
pub(super) fn tell(tally: &Tally, console: &Console) {
    for (name, count) in &tally.found {
        if name.starts_with("note") {
            continue;
        }
        let (severity, code) = name.split_once(' ').unwrap_or(("", name));
        let text = format!("{code} in {}", times(*count));
        match severity {
            "error" => console.error(&text),
            _ => console.warning(&text),
        }
    }
    for (name, count) in &tally.lost {
        console.loss(&format!("{name}: in {}", times(*count)));
    }
}

/// Returns `3 records`, or `3 records, 5 times`.
pub(super) fn times(count: Count) -> String {
    let records = number_of(count.records, "record");
    match count.times == count.records {
        true => records,
        false => format!("{records}, {} times", grouped(count.times)),
    }
}

/// Returns `1 record`, `2,000 records`.
pub(super) fn number_of(number: u64, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped(number))
}

/// Returns a number with separators between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The name of a format, for the manifest.
pub(super) fn named(option: &str, format: Format) -> (String, String) {
    (option.to_owned(), format.to_string())
}
