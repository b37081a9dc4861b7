//! Mending what can be mended for certain.

use openchatml::{Format, ReadOptions, apply_fixes, parse};

/// A mended place may show the next problem, but not for ever.
const ROUNDS: usize = 16;

/// The text with everything mended that can be, and how many problems that were. `None` if there
/// are none.
pub(super) fn fix(text: &str, format: Format, options: &ReadOptions) -> Option<(String, usize)> {
    let mut mended: Option<String> = None;
    let mut fixed = 0;
    for _ in 0..ROUNDS {
        let text = mended.as_deref().unwrap_or(text);
        let found = parse(text, format, options).diagnostics;
        let (next, applied) =
            apply_fixes(text, found.iter().filter_map(|found| found.fix.as_ref()));
        if applied == 0 || next == text {
            break;
        }
        fixed += applied;
        mended = Some(next);
    }
    Some((mended?, fixed))
}
