//! Reads anything as a YAML header.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::run;

fuzz_target!(|text: &str| {
    run::reads_header(text);
});
