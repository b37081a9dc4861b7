//! Limits on the input.

/// The maximum recursion depth of readers, whatever the limits say: the stack is finite.
pub(crate) const DEEPEST: usize = 512;

/// Limits on the input of a reader. Input that exceeds one is reported as `E-LIMIT`, with the name
/// of the field.
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
    /// The maximum length of the text of one message, in bytes. The rest is dropped.
    pub message_bytes: usize,
    /// The maximum length of the header of one message, and of the header of the document, in
    /// bytes.
    pub header_bytes: usize,
    /// The maximum length of one attribute value, in bytes.
    pub value_bytes: usize,
    /// The maximum number of attributes of one message.
    pub attributes: usize,
    /// The maximum number of messages in one document. The rest is dropped.
    pub messages: usize,
    /// The maximum nesting depth of the YAML of a header; see [`highest`](Self::highest).
    pub yaml_depth: usize,
    /// The maximum number of nodes in the YAML of a header.
    pub yaml_nodes: usize,
    /// The maximum number of aliases in the YAML of a header.
    pub yaml_aliases: usize,
    /// The maximum nesting depth of JSON; see [`highest`](Self::highest).
    pub json_depth: usize,
    /// The maximum number of diagnostics. One more diagnostic reports that there were more.
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
    /// The names of the limits, as in diagnostics.
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

    /// Returns the highest effective value of the limit with this name. Readers have a maximum
    /// recursion depth, so a higher depth has no effect.
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

    /// Returns the limit with this name, which must be one of [`NAMES`](Self::NAMES).
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
