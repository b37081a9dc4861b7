//! Fill-in-the-middle tasks.

use std::borrow::Cow;

use super::DocumentLayout;
use crate::Span;
use crate::words::words;

/// A fill-in-the-middle task (OpenChatML 0.1 §5).
///
/// ```
/// use openchatml::{Document, Infill, RenderOptions, render};
///
/// let mut task = Infill::new("The capital of France is ", ", known for its tower.");
/// task.middle = Some("Paris".into());
/// let document = Document::Infill(task);
/// let text = render(&document, "openchatml-0.1".parse()?, &RenderOptions::default())?;
/// assert!(text.contains("<|fim_middle|>Paris<|fim_suffix|>"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Infill<'a> {
    /// The text before the cursor.
    pub prefix: Cow<'a, str>,
    /// The text after the cursor.
    pub suffix: Cow<'a, str>,
    /// The text at the cursor, if known.
    pub middle: Option<Cow<'a, str>>,
    /// The order of the three parts in text. It is presentation, so comparisons ignore it.
    pub order: InfillOrder,
    /// The place of the task in the input.
    pub span: Span,
    pub(crate) layout: Option<Box<DocumentLayout<'a>>>,
}

impl<'a> Infill<'a> {
    /// Creates the task to find the text between `prefix` and `suffix`.
    ///
    /// ```
    /// use openchatml::Infill;
    ///
    /// let task = Infill::new("The capital of France is ", ", known for its tower.");
    /// assert_eq!(task.middle, None);
    /// ```
    pub fn new(prefix: impl Into<Cow<'a, str>>, suffix: impl Into<Cow<'a, str>>) -> Self {
        Self { prefix: prefix.into(), suffix: suffix.into(), ..Self::default() }
    }

    /// Returns the task with owned text.
    ///
    /// ```
    /// use openchatml::Infill;
    ///
    /// let text = String::from("fn main() {");
    /// let task = Infill::new(&text, "}").into_owned();
    /// drop(text);
    /// assert_eq!(task.prefix, "fn main() {");
    /// ```
    pub fn into_owned(self) -> Infill<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Infill {
            prefix: own(self.prefix),
            suffix: own(self.suffix),
            middle: self.middle.map(own),
            order: self.order,
            span: self.span,
            layout: self.layout.map(|layout| Box::new(layout.into_owned())),
        }
    }
}

impl PartialEq for Infill<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.prefix == other.prefix && self.suffix == other.suffix && self.middle == other.middle
    }
}

impl Eq for Infill<'_> {}

/// The order of the three tokens of a fill-in-the-middle task.
///
/// ```
/// use openchatml::render::TurnOptions;
/// use openchatml::{Document, Infill, InfillOrder, RenderOptions, render};
///
/// let task = Document::Infill(Infill::new("fn main() {", "}"));
/// let mut options = RenderOptions::default();
/// let mut turns = TurnOptions::default();
/// turns.infill_order = Some(InfillOrder::SuffixPrefixMiddle);
/// options.set(turns);
/// let text = render(&task, "openchatml-0.1".parse()?, &options)?;
/// assert_eq!(text, "<|fim_suffix|>}<|fim_prefix|>fn main() {<|fim_middle|>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InfillOrder {
    /// Prefix, middle, suffix: the order of the specification.
    #[default]
    PrefixMiddleSuffix,
    /// Prefix, suffix, middle.
    PrefixSuffixMiddle,
    /// Suffix, prefix, middle.
    SuffixPrefixMiddle,
}

words!(pub InfillOrder {
    PrefixMiddleSuffix = "prefix-middle-suffix",
    PrefixSuffixMiddle = "prefix-suffix-middle",
    SuffixPrefixMiddle = "suffix-prefix-middle",
});
