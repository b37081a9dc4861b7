//! Streams anything, cut anywhere, and compares with reading it whole.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::{Source, run};

fuzz_target!(|bytes: &[u8]| {
    run::streams(&mut Source::new(bytes));
});
