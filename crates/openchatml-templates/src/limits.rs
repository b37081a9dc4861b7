//! Limits for the execution of a template.

/// Limits for the execution of a template that is not trusted. If a limit is exceeded, the error is
/// `E-LIMIT` and names the limit.
///
/// Memory grows with [`steps`](Self::steps): 64 bytes of text or two items of a list are one step.
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
    /// The operators in one tag. The engine follows them with its stack.
    pub operators: usize,
    /// The output, in bytes.
    pub output_bytes: usize,
    /// One text that the template creates, in bytes.
    pub value_bytes: usize,
    /// The items of one value that the template keeps or compares, including nested items. An item
    /// that occurs several times is counted each time.
    pub value_items: usize,
    /// The depth of such a value.
    pub value_depth: usize,
    /// The work of the template: instructions, visited items and created text.
    pub steps: u64,
    /// The depth of nested blocks and macro calls; a call counts as four. Values above 200 mean
    /// 200.
    pub recursion: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 1 << 20,
            operators: 1000,
            output_bytes: 64 << 20,
            value_bytes: 64 << 20,
            value_items: 1 << 20,
            value_depth: 200,
            steps: 1 << 22,
            recursion: 200,
        }
    }
}
