//! Declared capabilities, and their comparison.

/// The `capabilities` of a header (OpenChatML 2.2 §2). A missing list allows everything.
///
/// ```
/// use openchatml::Capabilities;
///
/// let mut declared = Capabilities::default();
/// declared.roles = Some(vec!["user".into(), "assistant".into(), "functions.*".into()]);
/// assert!(declared.has_role("functions.search"));
/// assert!(!declared.has_role("developer"));
/// assert!(declared.has_channel("analysis"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The roles. `functions.*` matches every function.
    pub roles: Option<Vec<String>>,
    /// The channels.
    pub channels: Option<Vec<String>>,
    /// The control tokens, as spelled.
    pub tokens: Option<Vec<String>>,
    /// The stream events.
    pub streaming: Option<Vec<String>>,
}

/// The comparison of the capabilities of two sides.
///
/// ```
/// use openchatml::Capabilities;
///
/// let roles = |words: [&str; 2]| {
///     let mut side = Capabilities::default();
///     side.roles = Some(words.map(str::to_owned).to_vec());
///     side
/// };
/// let agreed = roles(["user", "developer"]).negotiate(&roles(["user", "tool"]));
/// assert_eq!(agreed.common.roles.unwrap(), ["user"]);
/// assert_eq!(agreed.missing, ["roles: developer"]);
/// assert_eq!(agreed.unused, ["roles: tool"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Negotiation {
    /// The capabilities that both sides declare.
    pub common: Capabilities,
    /// What only the first side declares, as `kind: word`.
    pub missing: Vec<String>,
    /// What only the second side declares, as `kind: word`.
    pub unused: Vec<String>,
}

impl Capabilities {
    /// Whether a role is declared.
    ///
    /// ```
    /// use openchatml::Capabilities;
    ///
    /// let roles = Some(vec!["user".to_owned(), "functions.*".to_owned()]);
    /// let mut declared = Capabilities::default();
    /// declared.roles = roles;
    /// assert!(declared.has_role("functions.search") && !declared.has_role("system"));
    /// ```
    pub fn has_role(&self, role: &str) -> bool {
        has(self.roles.as_deref(), role)
    }

    /// Whether a channel is declared.
    ///
    /// ```
    /// use openchatml::Capabilities;
    ///
    /// let channels = Some(vec!["final".to_owned()]);
    /// let mut declared = Capabilities::default();
    /// declared.channels = channels;
    /// assert!(declared.has_channel("final") && !declared.has_channel("analysis"));
    /// assert!(Capabilities::default().has_channel("analysis"));
    /// ```
    pub fn has_channel(&self, channel: &str) -> bool {
        has(self.channels.as_deref(), channel)
    }

    /// Whether a control token is declared.
    ///
    /// ```
    /// use openchatml::Capabilities;
    ///
    /// let tokens = Some(vec!["<|start|>".to_owned(), "<|message|>".to_owned()]);
    /// let mut declared = Capabilities::default();
    /// declared.tokens = tokens;
    /// assert!(declared.has_token("<|start|>") && !declared.has_token("<|literal|>"));
    /// ```
    pub fn has_token(&self, token: &str) -> bool {
        has(self.tokens.as_deref(), token)
    }

    /// Whether a stream event is declared.
    ///
    /// ```
    /// use openchatml::Capabilities;
    ///
    /// let streaming = Some(vec!["response.*".to_owned()]);
    /// let mut declared = Capabilities::default();
    /// declared.streaming = streaming;
    /// assert!(declared.has_event("response.cancel") && !declared.has_event("tool.cancel"));
    /// ```
    pub fn has_event(&self, event: &str) -> bool {
        has(self.streaming.as_deref(), event)
    }

    /// Compares the capabilities of both sides. If one side has no list, the list of the other side
    /// is used.
    ///
    /// ```
    /// use openchatml::Capabilities;
    ///
    /// let channels = |words: &[&str]| {
    ///     let mut side = Capabilities::default();
    ///     side.channels = Some(words.iter().map(|word| word.to_string()).collect());
    ///     side
    /// };
    /// let agreed = channels(&["analysis", "final"]).negotiate(&channels(&["final"]));
    /// assert_eq!(agreed.common, channels(&["final"]));
    /// assert_eq!(agreed.missing, ["channels: analysis"]);
    /// ```
    pub fn negotiate(&self, other: &Self) -> Negotiation {
        let mut agreed = Negotiation::default();
        agreed.common.roles = both("roles", &self.roles, &other.roles, &mut agreed);
        agreed.common.channels = both("channels", &self.channels, &other.channels, &mut agreed);
        agreed.common.tokens = both("tokens", &self.tokens, &other.tokens, &mut agreed);
        agreed.common.streaming = both("streaming", &self.streaming, &other.streaming, &mut agreed);
        agreed
    }
}

fn has(declared: Option<&[String]>, word: &str) -> bool {
    declared.is_none_or(|declared| declared.iter().any(|pattern| covers(pattern, word)))
}

fn covers(pattern: &str, word: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(front) => word.starts_with(front),
        None => pattern == word,
    }
}

type List = Option<Vec<String>>;

fn both(kind: &str, one: &List, two: &List, agreed: &mut Negotiation) -> List {
    let (Some(one), Some(two)) = (one, two) else {
        return one.clone().or_else(|| two.clone());
    };
    let mut common = Vec::new();
    for word in one {
        if has(Some(two), word) {
            common.push(word.clone());
        } else {
            agreed.missing.push(format!("{kind}: {word}"));
        }
    }
    for word in two {
        if has(Some(one), word) {
            // A word that matches a pattern of the first side is common too.
            if !common.contains(word) && !one.contains(word) {
                common.push(word.clone());
            }
        } else {
            agreed.unused.push(format!("{kind}: {word}"));
        }
    }
    Some(common)
}
