//! Reads and writes JSONL line by line through plain structs, as the baseline for the command.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};

use openchatml_bench::plain::PlainConversation;

/// The buffer size in bytes. A larger buffer is not faster.
const BUFFER: usize = 1 << 18;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: plain-jsonl FILE")?;
    let mut lines = BufReader::with_capacity(BUFFER, File::open(path)?);
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        let plain: PlainConversation<'_> = serde_json::from_str(&line)?;
        serde_json::to_writer(&mut out, &plain)?;
        out.write_all(b"\n")?;
        line.clear();
    }
    out.flush()?;
    Ok(())
}
