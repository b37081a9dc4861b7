//! The example programs write what is recorded next to them.

#[test]
fn examples_write_what_is_recorded() {
    openchatml_testkit::examples::check(env!("CARGO_MANIFEST_DIR"));
}
