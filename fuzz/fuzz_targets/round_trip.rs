//! Writes random documents and reads them back.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::{Source, run};

fuzz_target!(|bytes: &[u8]| {
    run::round_trips(&mut Source::new(bytes));
});
