//! The comparable content of a text: a fast but wrong result does not count.

/// A message with the fields that all parsers return.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub role: String,
    /// The name of the tool, for its reply.
    pub tool: Option<String>,
    pub recipient: Option<String>,
    pub channel: Option<String>,
    pub text: String,
}

/// The content of a completion.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The reasoning.
    pub reasoning: String,
    /// The text for the user.
    pub text: String,
    /// The calls: the name of the function, and the arguments unchanged.
    pub calls: Vec<(String, String)>,
}

impl Answer {
    pub fn of(said: Vec<Said>) -> Self {
        let mut answer = Self::default();
        for Said { recipient, channel, text, .. } in said {
            match (recipient, channel.as_deref()) {
                (Some(recipient), _) => answer.calls.push((function(&recipient), text)),
                (None, Some("analysis")) => answer.reasoning.push_str(&text),
                (None, _) => answer.text.push_str(&text),
            }
        }
        answer
    }
}

/// Returns the name of a function without the namespace, which some parsers drop.
pub fn function(name: &str) -> String {
    name.strip_prefix("functions.").unwrap_or(name).to_owned()
}
