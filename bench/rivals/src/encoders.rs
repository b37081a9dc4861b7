//! Encoders of ordinary text in `o200k_base`, including ours.

use std::path::Path;

use openchatml_tokens::{Encoding as _, O200kHarmony};

/// Encodes text, and adds its ids.
pub type Encode = Box<dyn Fn(&str, &mut Vec<u32>)>;

/// Another encoder: its name, its package and its constructor.
pub struct Rival {
    pub name: &'static str,
    pub package: &'static str,
    pub make: fn(ranks: &Path) -> Encode,
}

/// All other encoders. Those that read a rank file get one.
pub const RIVALS: &[Rival] = &[
    Rival { name: "`fastokens`", package: "fastokens", make: fastokens },
    Rival { name: "`tiktoken` (crate)", package: "tiktoken", make: tiktoken },
    Rival { name: "`bpe-openai`", package: "bpe-openai", make: bpe_openai },
    Rival { name: "`tiktoken-rs`", package: "tiktoken-rs", make: tiktoken_rs },
];

/// Our encoder with a cache of this size in bytes.
pub fn ours(cache_bytes: usize) -> Encode {
    let encoding = O200kHarmony::with_cache(cache_bytes);
    Box::new(move |text, ids| encoding.encode(text, ids))
}

fn fastokens(ranks: &Path) -> Encode {
    let config = fastokens::TiktokenConfig::o200k_base();
    let tokenizer = fastokens::Tokenizer::from_tiktoken_file(ranks, config);
    let tokenizer = tokenizer.expect("the file was written");
    Box::new(move |text, ids| ids.extend(tokenizer.encode_ordinary(text).expect("it is text")))
}

fn tiktoken(_: &Path) -> Encode {
    let encoding = tiktoken::get_encoding("o200k_base").expect("it is embedded");
    Box::new(|text, ids| ids.extend(encoding.encode(text)))
}

fn bpe_openai(_: &Path) -> Encode {
    let encoding = bpe_openai::o200k_base();
    Box::new(|text, ids| ids.extend(encoding.encode(text)))
}

fn tiktoken_rs(_: &Path) -> Encode {
    let encoding = tiktoken_rs::o200k_base_singleton();
    Box::new(|text, ids| ids.extend(encoding.encode_ordinary(text)))
}
