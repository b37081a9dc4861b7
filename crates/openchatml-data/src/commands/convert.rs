//! Conversations as texts or ids.

use std::collections::BTreeMap;

use super::pack::Packer;
use super::{Piece, Work, format_of};
use crate::error::DataError;
use crate::kernel::{KernelOptions, Tally, Task};
use crate::output::{Encoded, Encoder};
use crate::record::is_json;
use crate::run::{Fields, Inputs, Layout, Rejects, RunOptions, Shards, Summary, Writer, run};

/// Converts the conversations of a data set. The task of the kernel is [`Task::Convert`] or any
/// other one; its columns are the columns of the output, before those that are kept.
///
/// # Errors
///
/// The inputs cannot be read, or the outputs cannot be written.
///
/// ```
/// use openchatml::Format;
/// use openchatml_data::kernel::{KernelOptions, Task};
/// use openchatml_data::{Fields, RunOptions, convert};
///
/// let folder = tempfile::tempdir()?;
/// let input = folder.path().join("in.jsonl");
/// std::fs::write(&input, r#"{"messages":[{"role":"user","content":"Hi!"}]}"#)?;
/// let output = folder.path().join("out");
///
/// let run = RunOptions::new([input.display().to_string()], output.display().to_string());
/// let kernel = KernelOptions::new(Task::Convert { to: Format::CHATML });
/// let summary = convert(&run, &Fields::default(), kernel)?;
/// assert_eq!((summary.rows, summary.tally.rejected), (1, 0));
///
/// let written = std::fs::read_to_string(output.join("part-00000.jsonl"))?;
/// assert_eq!(written, "{\"text\":\"<|im_start|>user\\nHi!<|im_end|>\\n\"}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    options: &RunOptions,
    fields: &Fields,
    kernel: KernelOptions,
) -> Result<Summary, DataError> {
    write(options, fields, kernel, "convert", None)
}

/// Writes the conversations of a data set as token ids. The task of the kernel is
/// [`Task::Tokenize`]. With `pack`, whole conversations are joined to rows of at most this many ids.
///
/// # Errors
///
/// As for [`convert`]; or fields are kept although rows are packed.
pub fn tokenize(
    options: &RunOptions,
    fields: &Fields,
    mut kernel: KernelOptions,
    pack: Option<usize>,
) -> Result<Summary, DataError> {
    if let (Some(pack), Task::Tokenize(tokenize)) = (pack, &mut kernel.task) {
        let most = tokenize.max_length.unwrap_or(pack);
        tokenize.max_length = Some(most.min(pack));
    }
    write(options, fields, kernel, "tokenize", pack)
}

fn write(
    options: &RunOptions,
    fields: &Fields,
    kernel: KernelOptions,
    command: &str,
    pack: Option<usize>,
) -> Result<Summary, DataError> {
    let inputs = Inputs::open(options)?;
    let mut work = Work::new(&inputs, fields, kernel)?;
    let format = format_of(&inputs);
    let holder = match work.kernel.options().task {
        Task::Convert { to } if is_json(to) => Some(to.messages_key().unwrap_or("messages")),
        _ => None,
    };
    if fields.keep_all && inputs.has_lines() && !format.has_lines() {
        let text = "the fields of lines are not known before they are read: name those that become columns with `--keep`";
        return Err(DataError::usage(text));
    }
    let mut description = BTreeMap::from([
        ("--output-format".to_owned(), format.ending().to_owned()),
        ("the format of the input".to_owned(), work.format()),
        ("the columns".to_owned(), fields.describe()),
    ]);
    let layout = |encoder: &Encoder| Layout {
        format,
        schema: (!format.has_lines()).then(|| encoder.schema.clone()),
        folders: vec![String::new()],
        group_bytes: options.group_bytes(),
    };
    let Some(pack) = pack else {
        let mut encoder = Encoder::new(format, work.kernel.schema(), &work.kept, holder)?;
        let is_whole = fields.column.is_none() && work.kept.is_empty();
        if holder.is_some() && format.has_lines() && is_whole {
            encoder.are_lines = true;
            work.kernel = work.kernel.with_line_feeds();
        }
        let encode = |file: &_, rows| {
            let Piece { batch, kept, rejects, tally, .. } = work.process(file, rows)?;
            Ok(Rest { encoded: encoder.encode(&batch, &kept)?, rejects, tally })
        };
        return run(&inputs, command, layout(&encoder), description, encode, Plain);
    };
    if !fields.keep.is_empty() || fields.keep_all {
        let text = "a packed row has several conversations, so fields cannot be kept beside it";
        return Err(DataError::usage(text));
    }
    description.insert("--pack".to_owned(), pack.to_string());
    let packer = Packer::new(pack, format)?;
    let layout = layout(packer.encoder());
    run(&inputs, command, layout, description, |file, rows| work.process(file, rows), packer)
}

/// Rows that are encoded.
struct Rest {
    encoded: Encoded,
    rejects: Rejects,
    tally: Tally,
}

/// Writes rows as they come.
struct Plain;

impl Writer<Rest> for Plain {
    fn take(&mut self, done: Rest, shards: &mut Shards) -> Result<(), DataError> {
        shards.write(0, &done.encoded)?;
        shards.tell(&done.tally, done.rejects)
    }
}
