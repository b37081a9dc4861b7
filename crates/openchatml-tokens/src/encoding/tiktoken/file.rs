//! Rank files: each line contains a token in base64 and its rank.

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::encoding::error::{EncodingError, Quoted};

/// The maximum length of a token, in bytes.
const LONGEST: usize = 4096;

/// The tokens and their ranks. Ranks are ids.
pub(super) type Ranks = HashMap<Box<[u8]>, u32>;

/// Parses a rank file. Ranks may have gaps: `p50k_base` has one.
///
/// # Errors
///
/// A line is not a token and a rank, a token occurs twice, or the file has no tokens.
pub(super) fn read(file: &[u8]) -> Result<Ranks, EncodingError> {
    let mut ranks = Ranks::new();
    for (at, line) in (1..).zip(file.split(|byte| *byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let wrong = |reason| EncodingError::Line { line: at, reason };
        let (token, rank) = entry(line).map_err(wrong)?;
        if ranks.insert(token, rank).is_some() {
            return Err(wrong("the token of an earlier line".to_owned()));
        }
    }
    match ranks.is_empty() {
        true => {
            Err(EncodingError::Line { line: 1, reason: "expected a token and its rank".to_owned() })
        }
        false => Ok(ranks),
    }
}

/// Parses a line.
fn entry(line: &[u8]) -> Result<(Box<[u8]>, u32), String> {
    let text = String::from_utf8_lossy(line);
    let (token, rank) = text
        .split_once(' ')
        .ok_or_else(|| format!("expected a token and its rank, found {}", Quoted(&text)))?;
    let bytes = BASE64_STANDARD.decode(token);
    let bytes = bytes.map_err(|error| format!("{} is not base64: {error}", Quoted(token)))?;
    let rank = rank.parse().map_err(|_| format!("{} is not a rank", Quoted(rank)))?;
    match bytes.len() {
        0 => Err("a token is empty".to_owned()),
        1..=LONGEST => Ok((bytes.into(), rank)),
        count => Err(format!("a token has {count} bytes, but the maximum is {LONGEST}")),
    }
}
