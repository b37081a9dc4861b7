//! The evidence for a format in a text: what the detector collects, and what dialects look for.

mod json;
mod scan;
mod sketch;

pub(crate) use self::json::{JsonSigns, Sign};
pub(crate) use self::scan::{Around, Framing, Scan};
pub(crate) use self::sketch::{ALONE, Items, Kind, SIDES, Seen, Sketch};

use crate::Span;

/// A feature of a text that is evidence for a format.
///
/// ```
/// use openchatml::detect;
///
/// let text = "version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n";
/// let found = detect(text);
/// let evidence = &found[0].evidence[0];
/// assert_eq!(evidence.what, "`version: 2.2` in the header");
/// assert_eq!(&text[evidence.span.range()], "version: 2.2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The feature, for people: a control token, a key of the header or of JSON.
    pub what: String,
    /// The number of its record, from 0; see [`detect_records`](crate::detect_records).
    pub record: usize,
    /// The place in the record, in bytes.
    pub span: Span,
}

/// Collects the evidence for a format.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) score: u32,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) is_doubtful: bool,
}

impl Case {
    /// Adds evidence.
    pub(crate) fn speaks(&mut self, weight: u32, what: impl Into<String>, seen: Seen) {
        self.score += weight;
        let Seen { record, span } = seen;
        let evidence = Evidence { what: what.into(), record, span };
        if !self.evidence.contains(&evidence) {
            self.evidence.push(evidence);
        }
    }

    /// Adds evidence, if there is any.
    pub(crate) fn sign(&mut self, weight: u32, what: impl Into<String>, span: Option<Span>) {
        if let Some(span) = span {
            self.speaks(weight, what, Seen { record: 0, span });
        }
    }

    /// Adds evidence against the format.
    pub(crate) fn against(&mut self, weight: u32) {
        self.score = self.score.saturating_sub(weight);
    }

    /// Marks the format as uncertain, whatever the evidence.
    pub(crate) fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    /// Rules the format out.
    pub(crate) fn rule_out(&mut self) {
        self.score = 0;
        self.evidence.clear();
    }
}

/// The evidence for a dialect in marked-up text.
pub(crate) struct TextSigns {
    pub(crate) framing: Framing,
    /// Adds the evidence of a scan.
    pub(crate) look: fn(&Scan<'_>, &mut Case),
}

impl TextSigns {
    /// No evidence.
    pub(crate) const NONE: Self = Self { framing: Framing::Turns, look: |_, _| {} };
}

impl std::fmt::Debug for TextSigns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextSigns").field("framing", &self.framing).finish_non_exhaustive()
    }
}
