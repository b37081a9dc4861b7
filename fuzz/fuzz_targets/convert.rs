//! Converts random documents from format to format.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::{Source, run};

fuzz_target!(|bytes: &[u8]| {
    run::conversions(&mut Source::new(bytes));
});
