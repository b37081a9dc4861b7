//! Files from outside of the repository that some tests use if they are available.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Returns the folder that `variable` names, or the folder `beside` the repository.
///
/// Without the folder, a line on standard error reports that the test of this thread is skipped,
/// with the number of its cases (`what`). The line is visible even if the output of tests is
/// captured, because a test must not silently pass without checking anything.
///
/// # Panics
///
/// The variable does not name a folder.
pub fn folder(variable: &str, beside: Option<&str>, what: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(variable) {
        let folder = PathBuf::from(folder);
        assert!(folder.is_dir(), "{variable} names no folder: {}", folder.display());
        return Some(folder);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = beside.map(|path| root.join(path)).filter(|path| path.is_dir());
    if folder.is_none() {
        say_skipped(what, &format!("{variable} can name their folder"));
    }
    folder
}

/// Reports on standard error that the test of this thread is skipped: `what`, and `why`. The line
/// is visible even if the output of tests is captured.
pub fn say_skipped(what: &str, why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let thread = std::thread::current();
    let line = skipped(thread.name().unwrap_or("a test"), what, why);
    let is_new = SAID.lock().is_ok_and(|mut said| said.insert(line.clone()));
    if is_new {
        // The test is skipped even if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Returns the line for a skipped test.
fn skipped(test: &str, what: &str, why: &str) -> String {
    format!("SKIPPED {test}: {what}; {why}")
}

#[cfg(test)]
mod tests {
    use super::{folder, skipped};

    #[test]
    fn missing_files_skip_the_test_by_name() {
        assert_eq!(folder("OPENCHATML_NO_SUCH_FOLDER", None, "a test of this"), None);
        let here = folder("OPENCHATML_NO_SUCH_FOLDER", Some("crates"), "nothing").unwrap();
        assert!(here.is_dir());
        let line = skipped("a::b", "12 cases", "A can name their folder");
        assert_eq!(line, "SKIPPED a::b: 12 cases; A can name their folder");
    }
}
