//! Compares what a user sees of conversations that differ in hidden text.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::{Source, run};

fuzz_target!(|bytes: &[u8]| {
    run::hides(&mut Source::new(bytes));
});
