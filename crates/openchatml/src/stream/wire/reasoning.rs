//! How to write reasoning. The operator of the server decides.

use std::fmt;

/// How a writer handles reasoning. The content of a stream cannot change it.
///
/// ```
/// use openchatml::Event;
/// use openchatml::wire::{Api, Ending, Reasoning, Response, Writer};
///
/// let written = |policy| {
///     let mut out = String::new();
///     let response = Response::new("chatcmpl-1", "m", 0);
///     let mut writer = Writer::new(Api::ChatCompletions, response).reasoning(policy);
///     let message = openchatml::Message::reasoning("");
///     for event in [
///         Event::MessageStart { index: 0, message: (&message).into() },
///         Event::ReasoningDelta { index: 0, text: "Two and two is four.".into() },
///         Event::MessageDone { index: 0, message: (&message).into() },
///     ] {
///         writer.push(&event, &mut out);
///     }
///     writer.finish(&Ending::default(), &mut out);
///     out
/// };
/// assert!(!written(Reasoning::Drop).contains("reasoning"));
/// assert!(written(Reasoning::Raw).contains(r#""reasoning_content":"Two and two is four.""#));
/// let told = written(Reasoning::summary(|_| "Adding.".to_owned()));
/// assert!(told.contains("Adding.") && !told.contains("four"));
/// ```
#[derive(Default)]
#[non_exhaustive]
pub enum Reasoning {
    /// Drops all reasoning, and does not reveal that there was any.
    #[default]
    Drop,
    /// Writes summaries. The summarizer gets each paragraph of reasoning that is not blank, without
    /// surrounding white space, when the paragraph or the message ends. Its result is written
    /// unless it is empty.
    ///
    /// A reader of the response can see how often, and when, the summarizer returned something.
    Summary(Box<dyn FnMut(&str) -> String + Send>),
    /// Writes all reasoning.
    Raw,
}

impl Reasoning {
    /// Creates [`Reasoning::Summary`] from a function.
    pub fn summary(summarizer: impl FnMut(&str) -> String + Send + 'static) -> Self {
        Self::Summary(Box::new(summarizer))
    }
}

impl fmt::Debug for Reasoning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drop => "Drop",
            Self::Summary(_) => "Summary",
            Self::Raw => "Raw",
        })
    }
}

/// The policy, and the current paragraph.
#[derive(Default)]
pub(super) struct Thoughts {
    pub(super) policy: Reasoning,
    paragraph: String,
}

impl Thoughts {
    pub(super) fn are_dropped(&self) -> bool {
        matches!(self.policy, Reasoning::Drop)
    }

    pub(super) fn are_raw(&self) -> bool {
        matches!(self.policy, Reasoning::Raw)
    }

    /// Adds text of a message and returns the summaries of the paragraphs that end in it.
    pub(super) fn add(&mut self, text: &str) -> Vec<String> {
        let mut summaries = Vec::new();
        let Reasoning::Summary(summarizer) = &mut self.policy else { return summaries };
        for line in text.split_inclusive('\n') {
            self.paragraph.push_str(line);
            if self.paragraph.ends_with("\n\n") || self.paragraph.ends_with("\n\r\n") {
                summaries.extend(summary(&mut **summarizer, &self.paragraph));
                self.paragraph.clear();
            }
        }
        summaries
    }

    /// Ends a message and returns the summary of its last paragraph.
    pub(super) fn end(&mut self) -> Option<String> {
        let paragraph = std::mem::take(&mut self.paragraph);
        let Reasoning::Summary(summarizer) = &mut self.policy else { return None };
        summary(&mut **summarizer, &paragraph)
    }
}

/// Returns the summary of a paragraph, if neither the paragraph nor the summary is blank.
fn summary(summarizer: &mut dyn FnMut(&str) -> String, paragraph: &str) -> Option<String> {
    let paragraph = paragraph.trim();
    if paragraph.is_empty() {
        return None;
    }
    Some(summarizer(paragraph)).filter(|summary| !summary.is_empty())
}
