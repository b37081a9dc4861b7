//! Writes what the crate includes: the vocabulary as merges, and the classes of characters.

#![expect(clippy::print_stdout, reason = "so a build script speaks to cargo")]

mod classes;
#[path = "../src/joins.rs"]
#[allow(dead_code, reason = "only the pairs of tokens are needed here")]
mod joins;
mod vocabulary;

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let write = |name: &str, bytes: &[u8]| {
        fs::write(out.join(name), bytes).expect("OUT_DIR is writable");
    };
    let tokens = vocabulary::tokens();
    let lengths: Vec<u8> = tokens.iter().map(|token| token.len() as u8).collect();
    write("lengths.bin", &lengths);
    // Most tokens are text; some are parts of characters.
    let is_text = |token: &[u8]| std::str::from_utf8(token).is_ok();
    let (texts, parts): (Vec<&[u8]>, Vec<&[u8]>) =
        tokens.iter().map(Vec::as_slice).partition(|token| is_text(token));
    write("texts.txt", &texts.concat());
    write("parts.bin", &parts.concat());
    let ranks = (0_u32..).zip(&tokens).filter(|(_, token)| !is_text(token));
    write("ranks.bin", &ranks.flat_map(|(rank, _)| rank.to_le_bytes()).collect::<Vec<_>>());
    write("merges.bin", &vocabulary::merges(&tokens));
    write("joins.bin", &vocabulary::joins(&tokens));
    write("classes.bin", &classes::table());
}
