//! Runs laws over random documents, and prints each way in which they are broken with a small text.
//!
//! ```text
//! cargo run --release -p openchatml-testkit --example survey -- LAW[,LAW…]|all COUNT [FORMAT…]
//! ```

#![allow(clippy::print_stdout, reason = "it prints what it finds")]

use openchatml_testkit::{grammar, laws};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [names, count, wanted @ ..] = args.as_slice() else {
        println!("usage: survey LAW[,LAW…]|all COUNT [FORMAT…]");
        return;
    };
    let count = count.parse().expect("a number of documents");
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    let formats: Vec<_> = grammar::formats().filter(is_wanted).collect();
    std::panic::set_hook(Box::new(|_| {}));
    for law in laws::ALL {
        if names != "all" && names.split(',').all(|name| name != law.name) {
            continue;
        }
        let start = std::time::Instant::now();
        let findings = laws::survey(law, 0..count, &formats);
        let broken: usize = findings.iter().map(|finding| finding.count).sum();
        println!("== {}: {broken} of {count} documents, {:.1?}", law.name, start.elapsed());
        for finding in findings {
            println!("{finding}");
        }
    }
}
