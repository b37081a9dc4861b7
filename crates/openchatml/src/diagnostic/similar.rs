//! Finds the known word that is most similar to an unknown word.

use super::quote;

/// The maximum length of a known word.
const LONGEST: usize = 32;

/// Returns the help for the unknown `word`: the known word that is probably meant, and `help`.
pub(crate) fn did_you_mean(word: &str, known: &[&str], help: &str) -> String {
    match similar(word, known) {
        Some(meant) => {
            let help = if help.is_empty() { String::new() } else { format!(" {help}") };
            format!("did you mean {}?{help}", quote(meant))
        }
        None => help.to_owned(),
    }
}

/// Whether a word is a known word with one mistake, or what another format calls a known word.
/// Shorter words are too similar to others.
pub(crate) fn is_misspelled(word: &str, known: &[&str]) -> bool {
    let is_near = |known: &&str| {
        ELSEWHERE.contains(&(word, *known))
            || known.len().abs_diff(word.len()) < 2
                && word.len() > 3
                && strsim::osa_distance(word, known) == 1
    };
    known.iter().any(is_near)
}

/// Keys that other formats use, and the key that is meant.
const ELSEWHERE: &[(&str, &str)] = &[
    ("to", "recipient"),
    ("recipient", "to"),
    ("tool_call_id", "call_id"),
    ("text", "content"),
    ("value", "content"),
    ("from", "role"),
];

/// Returns the known word that another format calls `word`, or the most similar known word. At most
/// a third of its letters may differ.
pub(super) fn similar<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let called = |known: &&&str| ELSEWHERE.contains(&(word.as_str(), **known));
    if let Some(called) = known.iter().find(called) {
        return Some(called);
    }
    let far = |known: &&str| strsim::osa_distance(&word, known);
    let near = known.iter().filter(|known| far(known) <= known.len().max(3) / 3);
    near.copied().min_by_key(far)
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, similar};

    const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];

    #[test]
    fn words_of_other_formats_are_found() {
        let known = ["role", "recipient", "call_id", "content"];
        for (word, meant) in [("to", 1), ("tool_call_id", 2), ("text", 3), ("from", 0)] {
            assert_eq!(similar(word, &known), Some(known[meant]), "{word}");
        }
        assert_eq!(similar("to", &["too"]), Some("too"));
        assert_eq!(similar("to", &["role"]), None);
    }

    #[test]
    fn near_words_are_found() {
        for (word, meant) in [
            ("asistant", "assistant"),
            ("assitsant", "assistant"),
            ("User", "user"),
            ("SYSTEM", "system"),
            ("usr", "user"),
            ("tolo", "tool"),
            ("devloper", "developer"),
        ] {
            assert_eq!(similar(word, ROLES), Some(meant), "{word}");
        }
    }

    #[test]
    fn others_are_not() {
        let long = "assistant".repeat(100);
        for word in ["", "wizard", "human", "ai", "model", "x", "gpt", "functions.f", &long] {
            assert_eq!(similar(word, ROLES), None, "{word}");
        }
        assert_eq!(similar("", &[]), None);
    }

    #[test]
    fn help_follows_the_question() {
        assert_eq!(did_you_mean("usr", ROLES, "it is hidden"), "did you mean `user`? it is hidden");
        assert_eq!(did_you_mean("usr", ROLES, ""), "did you mean `user`?");
        assert_eq!(did_you_mean("wizard", ROLES, "it is hidden"), "it is hidden");
    }
}
