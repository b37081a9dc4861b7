//! Reads any token ids, whole and as they arrive.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::ids::{self, Pairs};
use openchatml_testkit::{Source, one_in};
use openchatml_tokens::O200kHarmony;

static O200K: LazyLock<O200kHarmony> = LazyLock::new(O200kHarmony::default);

fuzz_target!(|bytes: &[u8]| {
    let source = &mut Source::new(bytes);
    if one_in(source, 3) {
        let tokenizer = ids::tokenizer(source, |_, _| &*O200K);
        ids::streams(source, &tokenizer);
    } else {
        let tokenizer = ids::tokenizer(source, Pairs::any);
        ids::streams(source, &tokenizer);
    }
});
