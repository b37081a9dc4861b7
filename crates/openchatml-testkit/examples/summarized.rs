//! Writes a model's completion in Harmony, from standard input, as the Responses API streams it,
//! with each paragraph of reasoning summarized as its first word: `ocml` has no summarizer.

use std::io::{self, Read as _, Write as _};

use openchatml::wire::Api;
use openchatml::{Keep, ReadOptions, Role};
use openchatml_testkit::wire::{ReasoningMode, Setup};

fn main() -> io::Result<()> {
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    let setup = Setup {
        format: "harmony".parse().map_err(io::Error::other)?,
        options,
        thoughts: ReasoningMode::FirstWord,
        for_user: false,
        keep: Keep::Bodies,
    };
    io::stdout().lock().write_all(setup.written(Api::Responses, [text.as_slice()]).as_bytes())
}
