//! Writes seeds for the fuzz targets from files of the repository: the inputs of conformance cases,
//! examples, and schemas of tests. Nothing is stored twice, and the seeds are always the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use openchatml::{Carrier, Format};
use serde_json::Value;

/// The folder of the seeds, with a folder for each target.
const CORPUS: &str = "fuzz/corpus";

/// Schemas with valid and invalid values.
const SCHEMAS: &str = "crates/openchatml-grammars/tests/schemas.json";

/// The targets that are not readers of a format, and their seeds.
const OTHERS: &[(&str, Takes)] = &[
    ("chat_template", Takes::Template),
    ("completion", Takes::All),
    ("convert", Takes::All),
    ("encode_o200k", Takes::All),
    ("encoding_files", Takes::All),
    ("header", Takes::Header),
    ("ids", Takes::Json),
    ("ids_round_trip", Takes::All),
    ("ids_stream", Takes::All),
    ("laws_fixes", Takes::All),
    ("laws_losses", Takes::All),
    ("laws_reading", Takes::All),
    ("laws_visibility", Takes::All),
    ("laws_writing", Takes::All),
    ("round_trip", Takes::All),
    ("router_schedule", Takes::All),
    ("schema", Takes::Schema),
    ("sidecar", Takes::Json),
    ("stream", Takes::All),
    ("stream_bytes", Takes::All),
    ("visibility", Takes::All),
];

/// Chat templates.
const TEMPLATES: &str = "crates/openchatml-templates/tests/goldens/templates";

/// The header is the text before this.
const FIRST_MESSAGE: &[u8] = b"<|start|>";

/// The seeds of a target.
#[derive(Clone, Copy)]
enum Takes {
    /// Inputs of the text formats.
    Text,
    /// Inputs of the JSON formats, and expected documents of cases.
    Json,
    /// The headers of inputs.
    Header,
    /// Schemas.
    Schema,
    /// Chat templates.
    Template,
    /// Everything: the target accepts any bytes.
    All,
}

/// The kind of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Json,
    Schema,
    Template,
}

/// An input from the repository.
struct Input {
    name: String,
    kind: Kind,
    bytes: Vec<u8>,
}

/// Writes the seeds of every fuzz target. Returns the names of the targets.
pub(crate) fn write() -> io::Result<Vec<String>> {
    let inputs = inputs()?;
    let targets = targets();
    for (target, takes) in &targets {
        write_target(target, *takes, &inputs)?;
    }
    Ok(targets.into_iter().map(|(target, _)| target).collect())
}

/// Returns the fuzz targets with their names in `fuzz/src/main.rs`: one for the reader of each
/// format, and the others.
fn targets() -> Vec<(String, Takes)> {
    let others = OTHERS.iter().map(|(name, takes)| ((*name).to_owned(), *takes));
    let readers = Format::all().map(|format| {
        let takes = match format.carrier() {
            Carrier::Json => Takes::Json,
            _ => Takes::Text,
        };
        (format!("read_{format}").replace(['-', '.', ':'], "_"), takes)
    });
    others.chain(readers).collect()
}

fn write_target(target: &str, takes: Takes, inputs: &[Input]) -> io::Result<()> {
    let folder = Path::new(CORPUS).join(target);
    fs::create_dir_all(&folder)?;
    for input in inputs {
        let bytes = match takes {
            Takes::Text if input.kind != Kind::Text => continue,
            Takes::Json if input.kind != Kind::Json => continue,
            Takes::Schema if input.kind != Kind::Schema => continue,
            Takes::Template if input.kind != Kind::Template => continue,
            Takes::Header => {
                let mut places = input.bytes.windows(FIRST_MESSAGE.len());
                let Some(end) = places.position(|bytes| bytes == FIRST_MESSAGE) else { continue };
                &input.bytes[..end]
            }
            _ => &input.bytes,
        };
        fs::write(folder.join(format!("seed-{}", input.name)), bytes)?;
    }
    Ok(())
}

/// Returns all inputs of the repository.
fn inputs() -> io::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in sorted("examples")? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push(Input { name, kind: Kind::Text, bytes: fs::read(path)? });
    }
    for folder in sorted("conformance")? {
        if !folder.is_dir() {
            continue;
        }
        for path in sorted(&folder)? {
            let text = fs::read_to_string(&path)?;
            let file: Value = toml::from_str(&text).map_err(io::Error::other)?;
            let cases = file["case"].as_array().map(Vec::as_slice).unwrap_or_default();
            let dialect = folder.file_name().unwrap_or_default().to_string_lossy();
            cases.iter().for_each(|case| add_case(case, &dialect, &mut inputs));
        }
    }
    add_schemas(&mut inputs)?;
    for path in sorted(TEMPLATES)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push(Input { name, kind: Kind::Template, bytes: fs::read(path)? });
    }
    Ok(inputs)
}

fn add_schemas(inputs: &mut Vec<Input>) -> io::Result<()> {
    let text = fs::read_to_string(SCHEMAS)?;
    let cases: Value = serde_json::from_str(&text)?;
    for (at, case) in cases.as_array().into_iter().flatten().enumerate() {
        let bytes = case["schema"].to_string().into_bytes();
        inputs.push(Input { name: format!("schema-{at}"), kind: Kind::Schema, bytes });
    }
    Ok(())
}

fn add_case(case: &Value, dialect: &str, inputs: &mut Vec<Input>) {
    let field = |key: &str| case[key].as_str();
    let name = field("name").unwrap_or_default();
    let format = field("format").unwrap_or(dialect);
    let carrier = format.parse().map(Format::carrier);
    let kind = if carrier == Ok(Carrier::Json) { Kind::Json } else { Kind::Text };
    let bytes = field("input").map(|text| text.as_bytes().to_vec());
    let bytes = bytes.or_else(|| field("bytes").map(unhex));
    if let Some(bytes) = bytes {
        inputs.push(Input { name: name.to_owned(), kind, bytes });
    }
    if let Some(expected) = field("expect") {
        let name = format!("{name}-expected");
        let bytes = expected.as_bytes().to_vec();
        inputs.push(Input { name, kind: Kind::Json, bytes });
    }
}

/// Decodes hexadecimal digits with white space between them.
fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)?.try_into().ok()).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Returns the entries of a folder in a fixed order.
fn sorted(folder: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}
