//! The vocabulary `o200k_base`. Rivals would download it; here it is written to a folder from a
//! package that embeds it, so that benchmarks need no network and measure none.

use std::fs::File;
use std::io::{BufWriter, Result, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tempfile::TempDir;

/// The variable in which `openai-harmony` is told the folder.
pub const VARIABLE: &str = "TIKTOKEN_ENCODINGS_BASE";

/// How many tokens it has, without the special ones.
const TOKENS: u32 = 199_998;

/// Where it was written, in a process that is told.
pub fn file() -> PathBuf {
    Path::new(&std::env::var_os(VARIABLE).unwrap_or_default()).join(NAME)
}

/// How rivals call it.
const NAME: &str = "o200k_base.tiktoken";

/// Writes it to a folder, which is gone with the result. Whether it is the right one is checked by
/// the rival, which knows its hash.
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
