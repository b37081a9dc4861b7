//! Writes random documents as token ids and reads them back.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::{Source, ids};
use openchatml_tokens::O200kHarmony;

static O200K: LazyLock<O200kHarmony> = LazyLock::new(O200kHarmony::default);

fuzz_target!(|bytes: &[u8]| {
    let source = &mut Source::new(bytes);
    let tokenizer = ids::tokenizer(source, |source, format| ids::pairs_or(source, format, &*O200K));
    ids::round_trips(source, &tokenizer);
});
