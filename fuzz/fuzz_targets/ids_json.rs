//! Reads anything as `json`, with the ids that its messages are known to have.

#![no_main]

use libfuzzer_sys::fuzz_target;

use openchatml_testkit::run;

fuzz_target!(|text: &str| {
    run::keeps_ids(text);
});
