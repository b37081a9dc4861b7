//! Detects the format of a text, with the evidence.
//!
//! Only structure is evidence: the framing of messages and the keys of JSON. The text of messages
//! is ignored, because it can quote any format. If several formats are likely, the text is read in
//! each of them.

mod json;
mod reading;

pub use crate::signs::Evidence;

use std::borrow::Cow;

use crate::Span;
use crate::dialect::{Carrier, Dialect, Format};
use crate::dialects::ALL;
use crate::limits::Limits;
use crate::options::ReadOptions;
use crate::signs::{Around, Case, Scan, Sketch};

/// How many bytes of a text are inspected.
const LOOK_BYTES: usize = 1 << 20;

/// A format that a text can be in.
///
/// ```
/// use openchatml::detect;
///
/// // Transcripts of OpenChatML have a header, those of Harmony have none.
/// let found = detect("<|start|>user<|message|>Hi.<|end|>\n");
/// let names: Vec<_> = found.iter().map(|candidate| candidate.format.to_string()).collect();
/// assert_eq!(names[..2], ["harmony", "openchatml-2.2"]);
/// assert!(found[0].confidence > found[1].confidence);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// The confidence from 1 to 100. It compares formats and is not a probability.
    pub confidence: u8,
    /// The evidence for the format.
    pub evidence: Vec<Evidence>,
    /// Whether the text is a raw completion of the assistant: see
    /// [`TextFormat::is_completion`](crate::TextFormat::is_completion).
    pub is_completion: bool,
    /// Whether the records are the captured events of a streamed response, which are one document.
    pub is_stream: bool,
}

impl Candidate {
    /// The confidence below which a format is only a guess. Ask the user to name the format.
    pub const CERTAIN: u8 = 40;

    /// Whether the confidence is at least [`CERTAIN`](Self::CERTAIN).
    ///
    /// ```
    /// use openchatml::detect;
    ///
    /// assert!(detect("version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n")[0].is_certain());
    /// ```
    pub fn is_certain(&self) -> bool {
        self.confidence >= Self::CERTAIN
    }
}

/// Input that is recognized, but cannot be read as it is.
///
/// ```
/// use openchatml::{detect, recognize};
///
/// let text = "analysisThe user says hi.assistantfinalHello!";
/// assert!(detect(text).is_empty());
/// assert!(recognize([text]).unwrap().name.contains("control tokens"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recognized {
    /// The name.
    pub name: Cow<'static, str>,
    /// The evidence.
    pub evidence: Evidence,
    /// What helps.
    pub help: Cow<'static, str>,
}

/// Returns the formats that `text` can be in, the most likely one first. Empty if there is no
/// evidence for any format.
///
/// ```
/// use openchatml::detect;
///
/// let found = detect("<|im_start|>user\nHi.<|im_end|>\n");
/// assert_eq!(found[0].format.to_string(), "chatml");
/// assert_eq!(found[0].evidence[0].what, "`<|im_start|>`");
/// assert!(detect("no markup at all").is_empty());
///
/// // What a model has written after a prompt is a completion.
/// let found = detect("<|channel|>final<|message|>Hi.<|return|>");
/// assert_eq!(found[0].format.to_string(), "harmony");
/// assert!(found[0].is_completion);
/// ```
pub fn detect(text: &str) -> Vec<Candidate> {
    detect_records([text])
}

/// Returns the formats that all these records can be in, such as the lines of a file, the most
/// likely one first. A record can decide what the others leave open.
///
/// ```
/// use openchatml::detect_records;
///
/// let plain = r#"[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello!"}]"#;
/// let calls = r#"[{"role":"assistant","tool_call":{"recipient":"functions.f","arguments":"{}"}}]"#;
/// let found = detect_records([plain, calls]);
/// assert_eq!(found[0].format.to_string(), "openchatml-2.2:json");
/// assert_eq!(found[0].evidence[1].record, 1);
/// ```
pub fn detect_records<'t>(records: impl IntoIterator<Item = &'t str>) -> Vec<Candidate> {
    let (sketch, looked) = sketch(records);
    if let Some(found) = looked.first().and_then(|first| detect_stream(first)) {
        return vec![found];
    }
    let mut found = match sketch {
        Some(sketch) => json::detect(&sketch),
        None => looked.first().map(|text| markup(text)).unwrap_or_default(),
    };
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.confidence));
    reading::decide(&mut found, &looked);
    found
}

/// Returns what these records are, if they are recognized but cannot be read as they are.
///
/// ```
/// use openchatml::recognize;
///
/// assert_eq!(recognize([r#"{"messages":[]}"#]), None);
///
/// // A server has removed the control tokens.
/// let stripped = recognize(["analysisThe user says hi.assistantfinalHello!"]).unwrap();
/// assert!(stripped.help.contains("skip_special_tokens=False"));
///
/// // A key is misspelled.
/// let misspelled = recognize([r#"{"mesages": [{"role": "user", "content": "Hi."}]}"#]).unwrap();
/// assert_eq!(misspelled.help, "did you mean `messages`?");
/// ```
pub fn recognize<'t>(records: impl IntoIterator<Item = &'t str>) -> Option<Recognized> {
    let first = records.into_iter().find(|record| !record.trim_ascii().is_empty())?;
    let first = &first[..first.floor_char_boundary(LOOK_BYTES)];
    match begins_json(first) {
        true => sketch([first])
            .0
            .filter(|it| json::detect(it).is_empty())
            .and_then(|it| json::misspelled(&it).or_else(|| json::misplaced(&it))),
        false => stripped(first),
    }
}

/// Whether a key of a record can be a part of its conversation in some format, or say whether a model is
/// trained on it. Other keys are columns beside the conversation.
///
/// ```
/// use openchatml::is_part_of_record;
///
/// assert!(is_part_of_record("messages") && is_part_of_record("label"));
/// assert!(!is_part_of_record("source") && !is_part_of_record("id"));
/// ```
pub fn is_part_of_record(key: &str) -> bool {
    json::is_part(key)
}

/// Recognizes a completion from which a server has removed the control tokens.
fn stripped(text: &str) -> Option<Recognized> {
    let forms = ALL.iter().filter_map(|dialect| dialect.text?.stripped);
    let mut found =
        forms.filter_map(|form| Some((form, (form.read)(text, &ReadOptions::default())?)));
    let (form, parsed) = found.next()?;
    let span = parsed.diagnostics.first().map_or(Span::at(0), |found| found.span);
    let what = "words of headers without control tokens".to_owned();
    let evidence = Evidence { what, record: 0, span };
    Some(Recognized { name: form.name.into(), evidence, help: form.help.into() })
}

/// Returns a sketch of the records if they are JSON, and the inspected records from the first that
/// is not blank.
fn sketch<'t>(records: impl IntoIterator<Item = &'t str>) -> (Option<Sketch>, Vec<&'t str>) {
    let mut sketch = Sketch::default();
    let (mut looked, mut is_json, mut bytes) = (Vec::new(), false, 0);
    for record in records {
        let record = &record[..record.floor_char_boundary(LOOK_BYTES - bytes)];
        bytes += record.len();
        if looked.is_empty() && record.trim_ascii().is_empty() {
            sketch.skip();
            continue;
        }
        is_json = if looked.is_empty() { begins_json(record) } else { is_json };
        if is_json {
            sketch.add(record.trim_start_matches('\u{feff}'), &Limits::default());
        }
        looked.push(record);
        if bytes >= LOOK_BYTES {
            break;
        }
    }
    sketch.forget_absent();
    (is_json.then_some(sketch), looked)
}

/// Whether a text begins like a JSON document that is not empty. No markup does.
fn begins_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let inside = text.strip_prefix(['{', '[']).map(str::trim_start);
    inside.is_some_and(|it| it.is_empty() || it.starts_with(['"', '{', '}', ']']))
}

/// Returns the format of the captured events of a streamed response, if `text` begins with one. Only
/// the first event is inspected, so a prefix of the text is enough.
///
/// ```
/// use openchatml::detect_stream;
///
/// let found = detect_stream("event: message_start\ndata: {\"type\": \"message_start\"}\n").unwrap();
/// assert_eq!(found.format.to_string(), "anthropic");
/// assert!(found.is_stream);
/// assert!(detect_stream(r#"{"messages": []}"#).is_none());
/// ```
pub fn detect_stream(text: &str) -> Option<Candidate> {
    let forms = ALL.iter().filter_map(|dialect| Some((*dialect, dialect.json.as_ref()?.streamed?)));
    let (dialect, (kind, span)) =
        forms.filter_map(|(dialect, find)| Some((dialect, find(text)?))).next()?;
    let evidence = vec![Evidence { what: format!("event `{kind}`"), record: 0, span }];
    let format = Format { dialect, carrier: Carrier::Json };
    Some(Candidate { format, confidence: 100, evidence, is_completion: false, is_stream: true })
}

fn markup(text: &str) -> Vec<Candidate> {
    let controls = ALL.iter().map(|dialect| dialect.controls);
    let around = &Around::new(text, controls);
    let forms = ALL.iter().filter_map(|dialect| Some((*dialect, dialect.text?)));
    let found = forms.filter_map(|(dialect, form)| {
        let scan = Scan::new(text, form.controls, form.signs.framing, around);
        let mut case = Case::default();
        if !scan.opens_elsewhere() {
            (form.signs.look)(&scan, &mut case);
        }
        let mut found = candidate(case, dialect, Carrier::Text)?;
        found.is_completion = scan.completion.is_some();
        Some(found)
    });
    found.collect()
}

/// Returns the format of a case, if there is evidence for it.
fn candidate(case: Case, dialect: &'static Dialect, carrier: Carrier) -> Option<Candidate> {
    let Case { evidence, score, is_doubtful } = case;
    let most = if is_doubtful { Candidate::CERTAIN - 1 } else { 100 };
    let confidence = u8::try_from(score).unwrap_or(most).min(most);
    let format = Format { dialect, carrier };
    let (is_completion, is_stream) = (false, false);
    (confidence > 0).then_some(Candidate { format, confidence, evidence, is_completion, is_stream })
}
