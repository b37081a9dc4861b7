//! Bounds on what a template may do.

/// Bounds on what a template may do, for templates that nobody has read. What exceeds one is
/// refused as `E-LIMIT`, by its name here.
///
/// Memory grows with [`steps`](Self::steps): 64 bytes of text or two places in a list are a step.
///
/// ```
/// use openchatml::{Code, Conversation};
/// use openchatml_templates::{Limits, Options, Template};
///
/// let mut limits = Limits::default();
/// limits.output_bytes = 10;
/// let template = Template::new("{% for i in range(9) %}{{ i }},{% endfor %}", &limits)?;
/// let error = template.render(&Conversation::default(), &Options::default()).unwrap_err();
/// assert_eq!(error.code, Code::Limit);
/// assert!(error.message.contains("`output_bytes` of 10"));
/// # Ok::<(), openchatml_templates::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The source of the template, in bytes.
    pub source_bytes: usize,
    /// What is written, in bytes.
    pub output_bytes: usize,
    /// One text that the template makes, in bytes.
    pub value_bytes: usize,
    /// The items of one value that the template keeps or compares, theirs included; what stands in
    /// several places counts in each.
    pub value_items: usize,
    /// How deep such a value nests.
    pub value_depth: usize,
    /// What the template does: instructions, items that are visited, and text that is made.
    pub steps: u64,
    /// How deep blocks and calls of macros nest; a call counts as four. More than 200 is 200.
    pub recursion: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 1 << 20,
            output_bytes: 64 << 20,
            value_bytes: 64 << 20,
            value_items: 1 << 20,
            value_depth: 200,
            steps: 1 << 22,
            recursion: 200,
        }
    }
}
