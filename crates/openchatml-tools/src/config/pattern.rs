//! Patterns that select the tools of a server.

use super::error::{ConfigError, Location};

/// Names of tools, and patterns of names: `*` is any text, `?` any one character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// What is offered. Everything, if this is `None`.
    pub(super) included: Option<Vec<Pattern>>,
    /// What is not offered, even if it is included.
    pub(super) excluded: Vec<Pattern>,
    /// Where the list stands that leaves nothing.
    pub(super) location: Location,
}

/// A name or a pattern, and where it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) location: Location,
}

impl Selection {
    /// Keeps those of the names that are offered.
    ///
    /// # Errors
    ///
    /// A pattern matches none of the names: it may be misspelt, and then more is offered than was meant,
    /// or less. Or nothing is left.
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

    /// Whether a tool of this name is offered.
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

/// Whether a pattern matches the whole of a name, in time proportional to the product of their lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // The last `*`, and where what it matches ends.
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
        // Many stars take no more than a moment.
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }
}
