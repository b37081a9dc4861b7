//! Reads anything as `openchatml-2.2:json`.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::run;

fuzz_target!(|text: &str| {
    run::reads(text, "openchatml-2.2:json");
});
