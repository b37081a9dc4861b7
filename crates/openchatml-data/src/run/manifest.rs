//! What a run has done so far, so that it can be resumed, and what it has done in the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::input::InputFile;
use crate::kernel::Tally;
use crate::output::ShardFile;
use crate::store::Folder;

/// The file that is written last.
const MANIFEST: &str = "_manifest.json";

/// The beginning of the names of the journal: a file for each finished shard, until the manifest is
/// written.
const JOURNAL: &str = "_journal-";

/// The file of the journal that says what the run does.
const HEAD: &str = "_journal-run.json";

/// The ending of files that were not finished.
const UNFINISHED: &str = ".unfinished";

/// What a run does. Two runs that do the same give the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The version of this crate.
    version: String,
    pub(super) command: String,
    pub(super) options: BTreeMap<String, String>,
    inputs: Vec<InputVersion>,
}

/// An input file, and what tells its versions apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InputVersion {
    file: String,
    bytes: u64,
    version: String,
    /// Whether it can be read only once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_stream: bool,
}

/// Rows of an input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InputRange {
    pub(super) file: String,
    /// The number of the first row, from 1.
    pub(super) first_row: u64,
    /// The number of rows, without blank lines.
    pub(super) rows: u64,
    /// The first byte, if the file has lines.
    pub(super) first_byte: u64,
    /// The byte after the last row, if the file has lines.
    pub(super) end_byte: u64,
}

/// Where a shard ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InputEnd {
    /// The number of the input file, from 0.
    pub(super) file: usize,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// A finished shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShardEntry {
    pub(super) shard: u64,
    pub(super) inputs: Vec<InputRange>,
    pub(super) end: InputEnd,
    pub(super) outputs: Vec<ShardFile>,
    /// Files of lines beside the outputs: rejected rows, and others.
    pub(super) others: Vec<ShardFile>,
    pub(super) tally: Tally,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    #[serde(flatten)]
    head: Head,
    total: Tally,
    shards: Vec<ShardEntry>,
}

impl Head {
    pub(super) fn new(
        command: &str,
        options: BTreeMap<String, String>,
        inputs: &[InputFile],
    ) -> Self {
        let inputs = inputs.iter().map(|input| InputVersion {
            file: input.name.clone(),
            bytes: if input.blob.is_stream() { 0 } else { input.blob.len() },
            version: input.blob.version().to_owned(),
            is_stream: input.blob.is_stream(),
        });
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            options,
            inputs: inputs.collect(),
        }
    }

    /// Describes the first difference to an earlier run.
    fn difference(&self, before: &Self) -> Option<String> {
        if self == before {
            return None;
        }
        if self.command != before.command {
            return Some(format!("the command was `{}`", before.command));
        }
        if self.version != before.version {
            return Some(format!("the version was {}", before.version));
        }
        let names = self.options.keys().chain(before.options.keys());
        for name in names {
            let [now, then] = [self, before].map(|head| head.options.get(name));
            if now != then {
                let then = then.map_or("not given".to_owned(), |then| format!("`{then}`"));
                return Some(format!("the option {name} was {then}"));
            }
        }
        let changed = self.inputs.iter().zip(&before.inputs).find(|(now, then)| now != then);
        Some(match changed {
            Some((now, then)) if now.file == then.file && now.is_stream => {
                format!("`{}` can be read only once, so that run cannot be continued", now.file)
            }
            Some((now, then)) if now.file == then.file => format!("`{}` has changed", now.file),
            Some((_, then)) => format!("the input `{}` has moved", then.file),
            None => "the number of inputs was another".to_owned(),
        })
    }
}

/// The journal of a run in its folder.
pub(super) struct Journal {
    folder: Folder,
    head: Head,
    pub(super) shards: Vec<ShardEntry>,
    pub(super) is_complete: bool,
}

impl Journal {
    /// Opens the journal in a folder: a new one, or that of the same run, which was interrupted or
    /// is complete.
    ///
    /// # Errors
    ///
    /// The folder has files of another run, or other files.
    pub(super) fn open(folder: Folder, head: Head, overwrite: bool) -> Result<Self, DataError> {
        let mut files = folder.files()?;
        for file in files.extract_if(.., |file| is_unfinished(file)) {
            folder.remove(&file)?;
        }
        let mut journal = Self { folder, head, shards: Vec::new(), is_complete: false };
        if overwrite {
            journal.clear()?;
        } else if let Some(text) = journal.folder.read(MANIFEST)? {
            let manifest: Manifest = journal.parse(MANIFEST, &text)?;
            journal.refuse_other(&manifest.head)?;
            (journal.shards, journal.is_complete) = (manifest.shards, true);
            journal.check_files()?;
            journal.remove_entries()?;
            return Ok(journal);
        } else if let Some(text) = journal.folder.read(HEAD)? {
            let before: Head = journal.parse(HEAD, &text)?;
            journal.refuse_other(&before)?;
            journal.resume()?;
            return Ok(journal);
        } else if let Some(other) = files.first() {
            return Err(DataError::usage(format!(
                "the output folder is not empty: it has `{}`; name another folder, or use `--overwrite`",
                journal.folder.name_of(other)
            )));
        }
        let head = to_json(&journal.head)?;
        journal.folder.write(HEAD, &head)?;
        Ok(journal)
    }

    fn parse<T: serde::de::DeserializeOwned>(
        &self,
        file: &str,
        text: &[u8],
    ) -> Result<T, DataError> {
        serde_json::from_slice(text).map_err(|error| {
            let text = format!("it is not valid ({error}); use `--overwrite` to start again");
            DataError::input(&self.folder.name_of(file), text)
        })
    }

    fn refuse_other(&self, before: &Head) -> Result<(), DataError> {
        let Some(difference) = self.head.difference(before) else { return Ok(()) };
        Err(DataError::usage(format!(
            "the output folder has another run: {difference}; name another folder, or use `--overwrite`"
        )))
    }

    /// Reads the entries of the shards that are finished.
    fn resume(&mut self) -> Result<(), DataError> {
        for shard in 0.. {
            let file = entry(shard);
            let Some(text) = self.folder.read(&file)? else { break };
            let entry = self.parse(&file, &text)?;
            self.shards.push(entry);
        }
        self.check_files()
    }

    /// Finds output files that were removed or changed.
    fn check_files(&self) -> Result<(), DataError> {
        let files = self.shards.iter().flat_map(|entry| entry.outputs.iter().chain(&entry.others));
        for file in files {
            if self.folder.size(&file.file) != Some(file.bytes) {
                let what = "a finished file of the run was removed or changed; use `--overwrite` to start again";
                return Err(DataError::input(&self.folder.name_of(&file.file), what));
            }
        }
        Ok(())
    }

    /// Removes the files of the run that is in the folder.
    fn clear(&self) -> Result<(), DataError> {
        let mut entries = Vec::new();
        if let Some(text) = self.folder.read(MANIFEST)?
            && let Ok(manifest) = serde_json::from_slice::<Manifest>(&text)
        {
            entries.extend(manifest.shards);
        }
        for shard in 0.. {
            let Some(text) = self.folder.read(&entry(shard))? else { break };
            entries.extend(serde_json::from_slice::<ShardEntry>(&text));
        }
        self.folder.remove(MANIFEST)?;
        for file in entries.iter().flat_map(|entry| entry.outputs.iter().chain(&entry.others)) {
            self.folder.remove(&file.file)?;
        }
        self.remove_entries()
    }

    fn remove_entries(&self) -> Result<(), DataError> {
        let files = self.folder.files()?;
        for file in files.iter().filter(|file| file.starts_with(JOURNAL)) {
            self.folder.remove(file)?;
        }
        Ok(())
    }

    /// Adds a shard whose files are stored permanently.
    pub(super) fn add(&mut self, entry: ShardEntry) -> Result<(), DataError> {
        self.folder.write(&self::entry(entry.shard), &to_json(&entry)?)?;
        self.shards.push(entry);
        Ok(())
    }

    /// Writes the manifest, and removes the journal.
    pub(super) fn finish(mut self) -> Result<Vec<ShardEntry>, DataError> {
        if !self.is_complete {
            let mut total = Tally::default();
            self.shards.iter().for_each(|entry| total.add(&entry.tally));
            let shards = std::mem::take(&mut self.shards);
            let manifest = Manifest { head: self.head.clone(), total, shards };
            self.folder.write(MANIFEST, &to_json(&manifest)?)?;
            self.remove_entries()?;
            self.shards = manifest.shards;
        }
        Ok(self.shards)
    }
}

/// Whether a file of a run was not finished.
fn is_unfinished(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.ends_with(UNFINISHED) && (name.starts_with("part-") || name.starts_with('_'))
}

/// The file of a shard in the journal.
fn entry(shard: u64) -> String {
    format!("{JOURNAL}{shard:05}.json")
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, DataError> {
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|error| DataError::Internal(error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}
