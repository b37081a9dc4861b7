//! Real text: the documentation and the code of the packages that these benchmarks use, split into
//! bodies. A corpus of few words would give an unfair advantage to encoders with a cache.

use std::fs;
use std::path::{Path, PathBuf};

use openchatml::{Conversation, Message, Role};

use crate::corpus::Random;

/// Returns bodies of 20 to 4,000 bytes with log-uniform sizes, about `total` bytes in all: half of
/// it code, and prose as far as there is enough.
pub fn bodies(seed: u64, total: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut files = files();
    // Any fixed order is sufficient.
    files.sort_by_cached_key(|file| Random::new(seed ^ hash(&file.to_string_lossy())).number());
    let mut bodies = Vec::new();
    let mut left = [total / 2; 2];
    for file in files {
        let left = &mut left[usize::from(is_prose(&file))];
        if let (1.., Ok(text)) = (*left, fs::read_to_string(&file)) {
            cut(&text, &mut random, left, &mut bodies);
        }
    }
    for at in (1..bodies.len()).rev() {
        bodies.swap(at, random.below(at + 1));
    }
    bodies
}

/// Groups the bodies into conversations: a user asks, the assistant thinks and answers. The last
/// turn has no answer yet, so that every renderer includes its reasoning.
pub fn conversations(bodies: &[String], turns: usize) -> Vec<Conversation<'static>> {
    let message = |(at, body): (usize, &String)| match at % 3 {
        0 => Message::new(Role::User, body.clone()),
        1 => Message::reasoning(body.clone()),
        _ => Message::answer(body.clone()),
    };
    let conversation =
        |bodies: &[String]| Conversation::from_messages(bodies.iter().enumerate().map(message));
    bodies.chunks_exact(3 * turns - 1).map(conversation).collect()
}

/// The maximum number of bytes from one file, so that no file dominates.
const OF_A_FILE: usize = 40_000;

fn cut(text: &str, random: &mut Random, left: &mut usize, bodies: &mut Vec<String>) {
    let mut rest = &text[..text.floor_char_boundary(OF_A_FILE)];
    while *left > 0 && rest.len() >= 20 {
        let scale = random.below(1_000_000) as f64 / 1e6;
        let size = (20.0 * 200_f64.powf(scale)) as usize;
        let (body, after) = rest.split_at(rest.ceil_char_boundary(size));
        bodies.push(body.to_owned());
        *left = left.saturating_sub(body.len());
        rest = after;
    }
}

fn is_prose(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// Returns the Markdown and Rust files of the packages in the lock file, from the registry folder
/// of cargo.
fn files() -> Vec<PathBuf> {
    let lock = include_str!("../Cargo.lock");
    let mut files = Vec::new();
    for entry in lock.split("[[package]]") {
        let field = |name: &str| {
            let (_, value) = entry.split_once(&format!("\n{name} = \""))?;
            value.split('"').next()
        };
        if let (Some(name), Some(version), Some(_)) =
            (field("name"), field("version"), field("checksum"))
        {
            for registry in registries() {
                collect_files(&registry.join(format!("{name}-{version}")), &mut files);
            }
        }
    }
    assert!(!files.is_empty(), "cargo's registry holds the sources of the packages");
    files
}

fn registries() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    registries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|it| it == "md" || it == "rs")
            && entry.metadata().is_ok_and(|data| data.len() < 300_000)
        {
            files.push(path);
        }
    }
}

/// FNV-1a of the path without the home folder, so that it is the same on each machine.
fn hash(path: &str) -> u64 {
    let path = path.split_once("/registry/src/").map_or(path, |(_, path)| path);
    let path = path.split_once('/').map_or(path, |(_, path)| path);
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
