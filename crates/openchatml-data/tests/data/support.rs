//! Data sets for tests, and what runs write.

use std::fs;
use std::io::Read as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use openchatml::Format;
use openchatml_data::kernel::{KernelOptions, Task, TokenizeOptions, Tokens};
use openchatml_data::record::Purpose;
use openchatml_data::{FileFormat, RunOptions};
use openchatml_tokens::ByteEncoding;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

/// A folder that is removed after the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        self.name(name)
    }

    /// The options of a run from these inputs to a folder.
    pub(crate) fn run(&self, inputs: &[&str], output: &str) -> RunOptions {
        RunOptions::new(inputs.iter().map(|name| self.name(name)), self.name(output))
    }

    /// The names and the contents of all files in a folder.
    pub(crate) fn files(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(inner) = folders.pop() {
            for entry in fs::read_dir(&inner).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.path(folder)).unwrap().display().to_string();
                files.push((name, fs::read(&path).unwrap()));
            }
        }
        files.sort();
        files
    }

    /// The lines of the outputs in a folder, in order, whatever their kind.
    pub(crate) fn lines(&self, folder: &str) -> Vec<String> {
        let files = self.files(folder).into_iter();
        let outputs = files.filter(|(name, _)| !name.starts_with('_'));
        outputs.flat_map(|(name, content)| lines_of(Path::new(&name), &content)).collect()
    }

    /// The lines of the files of this name beside the outputs.
    pub(crate) fn others(&self, folder: &str, name: &str) -> Vec<serde_json::Value> {
        let files = self.files(folder).into_iter();
        let others = files.filter(|(file, _)| file.starts_with(&format!("_{name}-")));
        let lines = others.flat_map(|(name, content)| lines_of(Path::new(&name), &content));
        lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
    }
}

fn lines_of(name: &Path, content: &[u8]) -> Vec<String> {
    let mut text = Vec::new();
    match name.extension().unwrap().to_str().unwrap() {
        "gz" => {
            flate2::read::MultiGzDecoder::new(content).read_to_end(&mut text).unwrap();
        }
        "zst" => text = zstd::decode_all(content).unwrap(),
        "parquet" => {
            let reader =
                ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(content.to_vec()));
            let batches = reader.unwrap().build().unwrap().map(|batch| batch.unwrap());
            return batches.flat_map(|batch| texts(&batch)).collect();
        }
        "arrow" => {
            let reader =
                arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(content), None);
            return reader.unwrap().flat_map(|batch| texts(&batch.unwrap())).collect();
        }
        _ => text = content.to_vec(),
    }
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

/// The column `text` as lines of JSON.
fn texts(batch: &RecordBatch) -> Vec<String> {
    let texts = batch.column_by_name("text").unwrap().as_string::<i64>();
    let line = |text: Option<&str>| serde_json::json!({ "text": text.unwrap() }).to_string();
    texts.iter().map(line).collect()
}

/// Random numbers, always the same.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
}

const PIECES: &[&str] = &[
    "hello",
    " world",
    "\n",
    "<|im_end|>",
    "<|",
    "é",
    "😀",
    "\"",
    "\\",
    "{\"a\":1}",
    "\u{0}",
    "\t",
    "<think>",
    "a longer piece of plain text, so that rows have different sizes. ",
];

/// A conversation as a line of Chat Completions.
pub(crate) fn conversation(random: &mut Random) -> String {
    let mut text = |pieces: usize| -> String {
        let count = 1 + random.below(pieces);
        std::iter::once("w").chain((0..count).map(|_| PIECES[random.below(PIECES.len())])).collect()
    };
    let message = |role: &str, text: String| {
        let text = serde_json::to_string(&text).unwrap();
        format!(r#"{{"role":"{role}","content":{text}}}"#)
    };
    let mut messages = vec![message("system", text(3))];
    for _ in 0..3 {
        messages.push(message("user", text(10)));
        messages.push(message("assistant", text(30)));
    }
    format!(r#"{{"messages":[{}]}}"#, messages.join(","))
}

/// Lines of conversations, of which some cannot be read, are refused, or are blank.
pub(crate) fn mixed_lines(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let line = |_| match random.below(20) {
        0 => "not a conversation".to_owned(),
        1 => r#"{"messages":[{"role":"user","content":"Hi","conten":"sad"}]}"#.to_owned(),
        2 => String::new(),
        3 => "{\"messages\":[{\"role\":\"user\",\"conte".to_owned(),
        _ => conversation(&mut random),
    };
    (0..count).map(line).collect()
}

pub(crate) fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(crate) fn convert_to(format: Format) -> KernelOptions {
    KernelOptions::new(Task::Convert { to: format })
}

/// Harmony, in which all of the conversations can be written.
pub(crate) fn to_harmony() -> KernelOptions {
    convert_to(Format::OPENCHATML_2_2)
}

pub(crate) fn tokens() -> Tokens {
    let controls = openchatml::TextFormat::HARMONY.controls().entries();
    let spellings: Vec<&'static str> = controls.iter().map(|(_, spelling)| *spelling).collect();
    Tokens::new(openchatml::TextFormat::HARMONY, move || {
        Box::new(ByteEncoding::new(spellings.iter().copied()))
    })
}

pub(crate) fn tokenize() -> KernelOptions {
    let mut options = KernelOptions::new(Task::Tokenize(TokenizeOptions::new(tokens())));
    options.purpose = Purpose::Training;
    options.render.keep_reasoning = true;
    options
}

/// The options with other sizes.
pub(crate) fn sized(mut run: RunOptions, memory: usize, jobs: usize, shard: u64) -> RunOptions {
    run.memory = memory;
    run.jobs = NonZeroUsize::new(jobs).unwrap();
    run.shard_rows = NonZeroU64::new(shard).unwrap();
    run
}

pub(crate) fn in_format(mut run: RunOptions, format: FileFormat) -> RunOptions {
    run.format = Some(format);
    run
}
