//! Streams bytes that need not be text.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::run;

fuzz_target!(|bytes: &[u8]| {
    run::streams_bytes(bytes);
});
