//! The vocabulary `o200k_base`. Other libraries would download it; here it is written to a folder
//! from a package that contains it, so that benchmarks need no network.

use std::fs::File;
use std::io::{BufWriter, Result, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tempfile::TempDir;

/// The environment variable that names the folder for `openai-harmony`.
pub const VARIABLE: &str = "TIKTOKEN_ENCODINGS_BASE";

/// The number of tokens without special ones.
const TOKENS: u32 = 199_998;

/// Returns its path, in a process with the variable.
pub fn file() -> PathBuf {
    Path::new(&std::env::var_os(VARIABLE).unwrap_or_default()).join(NAME)
}

/// The file name that other libraries expect.
const NAME: &str = "o200k_base.tiktoken";

/// Writes the vocabulary to a folder, which is removed with the result. The other library checks
/// its hash.
///
/// # Errors
///
/// The file cannot be written.
pub fn write() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let mut file = BufWriter::new(File::create(folder.path().join(NAME))?);
    let tokenizer = tiktoken_rs::o200k_base().expect("it is embedded");
    for rank in 0..TOKENS {
        let token = tokenizer.decode_bytes(&[rank]).expect("all ranks below are tokens");
        writeln!(file, "{} {rank}", BASE64_STANDARD.encode(token))?;
    }
    file.flush()?;
    Ok(folder)
}
