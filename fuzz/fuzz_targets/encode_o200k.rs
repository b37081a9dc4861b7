//! Encodes any text in the encoding of gpt-oss.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::ids;
use openchatml_tokens::O200kHarmony;

static CACHED: LazyLock<O200kHarmony> = LazyLock::new(O200kHarmony::default);
static UNCACHED: LazyLock<O200kHarmony> = LazyLock::new(|| O200kHarmony::with_cache(0));

fuzz_target!(|text: &str| {
    ids::encodes(&*CACHED, text);
    ids::encodes(&*UNCACHED, text);
    let [cached, uncached] = [&CACHED, &UNCACHED].map(|encoding| ids::of(&**encoding, text));
    assert_eq!(cached, uncached);
});
