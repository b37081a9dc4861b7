//! Shrinks a text while it breaks a law in the same way.

use crate::grammar::json;

/// The maximum number of attempts.
const TRIES: usize = 4000;

/// Returns the smallest text that was found for which `breaks` holds.
pub(super) fn shrink(text: &str, is_json: bool, breaks: impl Fn(&str) -> bool) -> String {
    let mut best = text.to_owned();
    let mut tries = TRIES;
    loop {
        let before = best.len();
        if is_json {
            by_values(&mut best, &mut tries, &breaks);
        } else {
            by_pieces(&mut best, &mut tries, &breaks);
        }
        if best.len() == before || tries == 0 {
            return best;
        }
    }
}

/// Removes parts of the text: long ones first, then single characters.
fn by_pieces(best: &mut String, tries: &mut usize, breaks: &impl Fn(&str) -> bool) {
    let mut len = best.len();
    while len > 0 {
        let mut at = 0;
        while at < best.len() && *tries > 0 {
            let (from, to) = (best.floor_char_boundary(at), best.ceil_char_boundary(at + len));
            let to = to.min(best.len());
            let smaller = format!("{}{}", &best[..from], &best[to..]);
            *tries -= 1;
            if smaller.len() < best.len() && breaks(&smaller) {
                *best = smaller;
            } else {
                at += len;
            }
        }
        len /= 2;
    }
}

/// Removes members and items, and replaces values by nested values.
fn by_values(best: &mut String, tries: &mut usize, breaks: &impl Fn(&str) -> bool) {
    let Some((value, _)) = json::read(best) else { return by_pieces(best, tries, breaks) };
    let compact = json::compact(&value);
    if compact.len() < best.len() && breaks(&compact) {
        *best = compact;
    }
    let mut at = 0;
    while *tries > 0 {
        let Some((_, root)) = json::read(best) else { return };
        let mut cuts = Vec::new();
        collect(best, &root, &mut cuts);
        let Some((range, with)) = cuts.get(at).cloned() else { return };
        let mut smaller = best.clone();
        smaller.replace_range(range, &with);
        *tries -= 1;
        if smaller.len() < best.len() && breaks(&smaller) {
            *best = smaller;
        } else {
            at += 1;
        }
    }
}

/// Collects the possible replacements.
fn collect(text: &str, node: &json::Node, cuts: &mut Vec<(std::ops::Range<usize>, String)>) {
    let children = &node.children;
    for (index, (key, value)) in children.iter().enumerate() {
        let start = key.start.min(value.span.start);
        // Including the comma after or before it.
        let range = match (children.get(index + 1), index.checked_sub(1)) {
            (Some((next_key, next)), _) => start..next_key.start.min(next.span.start),
            (None, Some(before)) => children[before].1.span.end..value.span.end,
            (None, None) => start..value.span.end,
        };
        cuts.push((range, String::new()));
    }
    for (_, value) in children {
        let span = value.span.clone();
        if text[span.clone()].starts_with('"') {
            let inner = &text[span.start + 1..span.end - 1];
            let data = crate::grammar::data(inner);
            for (_, datum) in data {
                cuts.push((span.clone(), format!("\"{datum}\"")));
            }
            cuts.push((span, "\"\"".to_owned()));
        } else {
            for (_, child) in &value.children {
                cuts.push((span.clone(), text[child.span.clone()].to_owned()));
            }
        }
        collect(text, value, cuts);
    }
}
