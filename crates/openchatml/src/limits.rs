//! How much is read.

/// However high a limit of depth is, readers recurse no deeper: a stack is finite.
pub(crate) const DEEPEST: usize = 512;

/// Bounds on what a reader takes in. What exceeds one is reported as `E-LIMIT`, by its name here.
///
/// ```
/// use openchatml::{Limits, ReadOptions, parse};
///
/// let mut options = ReadOptions::default();
/// options.limits.messages = 1;
/// let text = "<|start|>user<|message|>a<|end|><|start|>user<|message|>b<|end|>";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &options);
/// assert!(parsed.diagnostics.iter().any(|found| found.message.contains("`messages`")));
/// assert_eq!(parsed.into_conversation().messages.len(), 1);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The text of one message, in bytes. What comes after is left out.
    pub message_bytes: usize,
    /// The header of one message, in bytes, and the header of the document.
    pub header_bytes: usize,
    /// One attribute value, in bytes.
    pub value_bytes: usize,
    /// The attributes of one message.
    pub attributes: usize,
    /// The messages of one document. What comes after is left out.
    pub messages: usize,
    /// How deep the YAML of a header nests; see [`highest`](Self::highest).
    pub yaml_depth: usize,
    /// How many nodes the YAML of a header has.
    pub yaml_nodes: usize,
    /// How many aliases the YAML of a header uses.
    pub yaml_aliases: usize,
    /// How deep JSON nests; see [`highest`](Self::highest).
    pub json_depth: usize,
    /// How many findings are kept. After them comes one that says so.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 32 << 20,
            header_bytes: 64 << 10,
            value_bytes: 4 << 10,
            attributes: 32,
            messages: 1_000_000,
            yaml_depth: 32,
            yaml_nodes: 1024,
            yaml_aliases: 0,
            json_depth: 128,
            diagnostics: 1000,
        }
    }
}

impl Limits {
    /// The names of the limits, as diagnostics give them.
    pub const NAMES: &'static [&'static str] = &[
        "message_bytes",
        "header_bytes",
        "value_bytes",
        "attributes",
        "messages",
        "yaml_depth",
        "yaml_nodes",
        "yaml_aliases",
        "json_depth",
        "diagnostics",
    ];

    /// The highest value of the limit of this name that makes a difference: readers recurse no
    /// deeper, however high a limit of depth is.
    ///
    /// ```
    /// use openchatml::Limits;
    ///
    /// assert_eq!(Limits::highest("json_depth"), 512);
    /// assert_eq!(Limits::highest("messages"), usize::MAX);
    /// ```
    pub fn highest(name: &str) -> usize {
        match name {
            "json_depth" | "yaml_depth" => DEEPEST,
            _ => usize::MAX,
        }
    }

    /// The limit of this name, one of [`NAMES`](Self::NAMES).
    ///
    /// ```
    /// use openchatml::Limits;
    ///
    /// let mut limits = Limits::default();
    /// for name in Limits::NAMES {
    ///     *limits.get_mut(name).unwrap() = 7;
    /// }
    /// assert_eq!(limits.messages, 7);
    /// assert_eq!(limits.get_mut("patience"), None);
    /// ```
    pub fn get_mut(&mut self, name: &str) -> Option<&mut usize> {
        Some(match name {
            "message_bytes" => &mut self.message_bytes,
            "header_bytes" => &mut self.header_bytes,
            "value_bytes" => &mut self.value_bytes,
            "attributes" => &mut self.attributes,
            "messages" => &mut self.messages,
            "yaml_depth" => &mut self.yaml_depth,
            "yaml_nodes" => &mut self.yaml_nodes,
            "yaml_aliases" => &mut self.yaml_aliases,
            "json_depth" => &mut self.json_depth,
            "diagnostics" => &mut self.diagnostics,
            _ => return None,
        })
    }
}
