//! Streams anything, cut anywhere, and compares with reading it whole; writes it as other protocols
//! do.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::{Source, run};

fuzz_target!(|bytes: &[u8]| {
    run::streams(&mut Source::new(bytes));
    run::writes(&mut Source::new(bytes));
});
