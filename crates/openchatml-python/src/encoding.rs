//! Encodings: by name, from files, and from the tokenizers of other libraries.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openchatml_tokens::{
    ByteEncoding, Encoding, EncodingError, HuggingFace, O200kHarmony, Tiktoken,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::argument::{Argument, cut};
use crate::error::{Failure, detached, wrong_type, wrong_value};

/// An encoding that threads share.
pub(crate) trait SharedEncoding: Encoding + fmt::Debug + Send + Sync {}

impl<E: Encoding + fmt::Debug + Send + Sync> SharedEncoding for E {}

/// A pointer to an encoding.
pub(crate) type AnyEncoding = Arc<dyn SharedEncoding>;

/// The name of the built-in encoding.
pub(crate) const O200K_HARMONY: &str = "o200k_harmony";

/// The name of the encoding with one id for each byte, for tests.
const BYTES: &str = "bytes";

/// The file with the encoding in the folder of a model.
const TOKENIZER: &str = "tokenizer.json";

/// Returns an encoding and its name for messages.
pub(crate) fn encoding(argument: &Argument<'_, '_>) -> PyResult<(AnyEncoding, String)> {
    let py = argument.value.py();
    let value = argument.value;
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        return Ok((of_file(py, bytes)?, "bytes".to_owned()));
    }
    if value.is_instance_of::<PyString>() {
        return match argument.text()? {
            O200K_HARMONY => Ok((Arc::new(O200kHarmony::default()), O200K_HARMONY.to_owned())),
            BYTES => Ok((Arc::new(ByteEncoding::default()), BYTES.to_owned())),
            path => Ok((open(py, argument.name, Path::new(path))?, path.to_owned())),
        };
    }
    if value.hasattr("__fspath__")? {
        let path = value.extract::<PathBuf>()?;
        return Ok((open(py, argument.name, &path)?, path.display().to_string()));
    }
    let name = value.get_type().name()?.to_string();
    // A tokenizer of `transformers` contains one of `tokenizers`.
    let inner = value.getattr_opt("backend_tokenizer")?;
    let inner = inner.as_ref().unwrap_or(value);
    if let Some(to_str) = inner.getattr_opt("to_str")? {
        let json: String = to_str.call0()?.extract()?;
        let read = detached(py, || HuggingFace::from_json(json.as_bytes()))?;
        return Ok((Arc::new(read.map_err(Failure::from)?), name));
    }
    if let Some(ranks) = value.getattr_opt("_mergeable_ranks")? {
        return Ok((of_tiktoken(argument, &ranks)?, name));
    }
    let expected = "the name of an encoding, a file, or a tokenizer of `transformers`, `tokenizers` or `tiktoken`";
    Err(wrong_type(argument.name, expected, value))
}

/// Reads a file, or the file in the folder of a model.
fn open(py: Python<'_>, name: &str, path: &Path) -> PyResult<AnyEncoding> {
    let mut path = path.to_owned();
    if path.is_dir() {
        path.push(TOKENIZER);
    }
    let bytes = detached(py, || std::fs::read(&path))?.map_err(|error| {
        let shown = cut(&path.display().to_string());
        let why = format!(
            "`{shown}` is neither an encoding ({O200K_HARMONY}) nor a readable file ({error})"
        );
        wrong_value(name, &why)
    })?;
    of_file(py, &bytes)
}

/// Reads the content of a `tokenizer.json`, or of a rank file that is known.
fn of_file(py: Python<'_>, bytes: &[u8]) -> PyResult<AnyEncoding> {
    let read = detached(py, || -> Result<AnyEncoding, EncodingError> {
        match bytes.trim_ascii_start().starts_with(b"{") {
            true => Ok(Arc::new(HuggingFace::from_json(bytes)?)),
            false => Ok(Arc::new(Tiktoken::from_known(bytes)?)),
        }
    })?;
    Ok(read.map_err(Failure::from)?)
}

/// Reads an `Encoding` of `tiktoken`: its ranks, its pattern and its special tokens.
fn of_tiktoken(argument: &Argument<'_, '_>, ranks: &Bound<'_, PyAny>) -> PyResult<AnyEncoding> {
    let py = argument.value.py();
    let refused =
        |_: PyErr| wrong_type(argument.name, "an `Encoding` of `tiktoken`", argument.value);
    let ranks = ranks.cast::<PyDict>().map_err(|error| refused(error.into()))?;
    let base64 = py.import("base64")?.getattr("b64encode")?;
    let mut file = Vec::new();
    for entry in ranks.items() {
        let (token, rank) = entry.extract::<(Bound<'_, PyAny>, u32)>().map_err(refused)?;
        let token = base64.call1((token,)).map_err(refused)?;
        file.extend_from_slice(token.cast::<PyBytes>()?.as_bytes());
        file.extend_from_slice(format!(" {rank}\n").as_bytes());
    }
    let pattern: String = argument.value.getattr("_pat_str")?.extract().map_err(refused)?;
    let controls = argument.value.getattr("_special_tokens")?;
    let controls = controls.cast::<PyDict>().map_err(|error| refused(error.into()))?;
    let controls: Vec<(String, u32)> =
        controls.items().iter().map(|it| it.extract().map_err(refused)).collect::<PyResult<_>>()?;
    let read = detached(py, || Tiktoken::from_ranks(&file, &pattern, controls))?;
    Ok(Arc::new(read.map_err(Failure::from)?))
}
