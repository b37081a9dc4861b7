//! Patterns that select the tools of a server.

use super::error::{ConfigError, Location};

/// Names and patterns of tools: `*` matches any text, `?` any single character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// The selected tools. `None`: all.
    pub(super) included: Option<Vec<Pattern>>,
    /// The excluded tools. They take precedence.
    pub(super) excluded: Vec<Pattern>,
    /// The location of the list, for the error that no tool remains.
    pub(super) location: Location,
}

/// A name or a pattern, with its location in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) location: Location,
}

impl Selection {
    /// Checks the selection against the names of the tools.
    ///
    /// # Errors
    ///
    /// A pattern matches no name, so it may be misspelled, or no tool remains.
    pub(super) fn check<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), Vec<ConfigError>> {
        let patterns = self.included.iter().flatten().chain(&self.excluded);
        let unmatched = patterns.filter(|it| !names.clone().any(|name| it.matches(name)));
        let mut errors: Vec<_> = unmatched.map(Pattern::unmatched).collect();
        let is_restricted = self.included.is_some() || !self.excluded.is_empty();
        let is_empty =
            || names.clone().next().is_some() && !names.clone().any(|it| self.listings(it));
        if errors.is_empty() && is_restricted && is_empty() {
            errors.push(self.location.error("the server has no tool left after filtering"));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Whether the tool with this name is selected.
    pub(super) fn listings(&self, name: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|it| it.matches(name));
        self.included.as_deref().is_none_or(any) && !any(&self.excluded)
    }
}

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        matches(&self.text, name)
    }

    fn unmatched(&self) -> ConfigError {
        let text = self.text.escape_debug();
        self.location.error(if self.text.contains(['*', '?']) {
            format!("no tool of the server matches `{text}`")
        } else {
            format!("the server has no tool `{text}`")
        })
    }
}

/// Whether a pattern matches a whole name, in time proportional to the product of their lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // The last `*`, and the end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((before, end)) = star else { return false };
                star = Some((before, end + 1));
                (at, in_name) = (before + 1, end + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "read_file", false),
            ("read", "Read", false),
            ("read*", "read_file", true),
            ("*file", "read_file", true),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbxc", false),
            ("r??d", "read", true),
            ("r??d", "rad", false),
            ("*", "", true),
            ("?", "é", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        // Patterns with many stars are fast.
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }
}
