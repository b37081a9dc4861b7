//! The changes that no test needs to notice.

use std::fs;

use serde_json::Value;

/// Where they are written down.
const PATH: &str = "xtask/mutants.toml";

/// The names of changes that have a reason.
pub(super) struct Reasons(Vec<String>);

impl Reasons {
    /// Reads them. Each `[[reason]]` has `because`, and a list of `changes`: names, or their
    /// beginnings, which end in `*`.
    pub(super) fn read() -> Result<Self, String> {
        let text = fs::read_to_string(PATH).map_err(|error| format!("{PATH}: {error}"))?;
        let table: Value = toml::from_str(&text).map_err(|error| format!("{PATH}: {error}"))?;
        let mut names = Vec::new();
        for reason in table["reason"].as_array().into_iter().flatten() {
            let because = reason["because"].as_str().unwrap_or_default();
            let changes = reason["changes"].as_array().map_or(&[][..], Vec::as_slice);
            if because.is_empty() || changes.is_empty() {
                return Err(format!("{PATH}: a reason needs `because` and `changes`"));
            }
            names.extend(changes.iter().filter_map(|it| it.as_str().map(str::to_owned)));
        }
        Ok(Self(names))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|it| match it.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == it,
        })
    }
}
