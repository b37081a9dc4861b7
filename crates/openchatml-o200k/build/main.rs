//! Writes what the crate includes: the vocabulary as merges, and the classes of characters.

#![expect(clippy::print_stdout, reason = "so a build script speaks to cargo")]

mod classes;
mod vocabulary;

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("o200k_base.merges"), vocabulary::merges()).expect("OUT_DIR is writable");
    fs::write(out.join("classes.bin"), classes::table()).expect("OUT_DIR is writable");
}
