//! Which format a text is in, and what speaks for it.

mod json;

use crate::dialects::{self, Carrier, Format};
use crate::model::Role;
use crate::{Control, Span};

/// How much of a text is looked at, in bytes.
const LOOK_BYTES: usize = 1 << 20;

/// A format that a text may be in.
///
/// ```
/// use openchatml::detect;
///
/// // Nothing here says which of the two versions it is.
/// let found = detect("<|start|>user<|message|>Hi.<|end|>\n");
/// let names: Vec<_> = found.iter().map(|candidate| candidate.format.to_string()).collect();
/// assert_eq!(names, ["openchatml-2.2", "openchatml-2.0"]);
/// assert!(found[0].confidence > found[1].confidence);
/// ```
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// How sure that is, from 1 to 100. It compares formats; it is no probability.
    pub confidence: u8,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
}

/// Something that speaks for a format.
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
pub struct Evidence {
    /// What it is, for people: a control token, a key of the header or of JSON.
    pub what: String,
    /// Where it stands, in bytes.
    pub span: Span,
}

/// The formats that `text` may be in, the likeliest first. Empty if nothing speaks for any.
///
/// ```
/// use openchatml::detect;
///
/// let found = detect("<|im_start|>user\nHi.<|im_end|>\n");
/// assert_eq!(found[0].format.to_string(), "im");
/// assert_eq!(found[0].evidence[0].what, "`<|im_start|>`");
/// assert!(detect("no markup at all").is_empty());
/// ```
pub fn detect(text: &str) -> Vec<Candidate> {
    let looked = &text[..text.floor_char_boundary(LOOK_BYTES)];
    let mut found = match looked.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => json::detect(text),
        _ => Vec::new(),
    };
    if found.is_empty() {
        found = markup(looked);
    }
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.confidence));
    found
}

/// Collects what speaks for a format.
struct Case {
    format: Format,
    score: u32,
    evidence: Vec<Evidence>,
}

impl Case {
    fn new(dialect: &'static dialects::Dialect, carrier: Carrier) -> Self {
        Self { format: Format { dialect, carrier }, score: 0, evidence: Vec::new() }
    }

    fn speaks(&mut self, weight: u32, what: impl Into<String>, span: Span) {
        self.score += weight;
        self.evidence.push(Evidence { what: what.into(), span });
    }

    fn finish(self) -> Option<Candidate> {
        let confidence = u8::try_from(self.score.min(100)).unwrap_or(100);
        let Self { format, evidence, .. } = self;
        (confidence > 0).then_some(Candidate { format, confidence, evidence })
    }
}

/// A text and what of it has been found.
struct Look<'t> {
    text: &'t str,
}

impl Look<'_> {
    /// Where the first `needle` stands.
    fn find(&self, needle: &str) -> Option<Span> {
        let at = memchr::memmem::find(self.text.as_bytes(), needle.as_bytes())?;
        Some(Span::new(at, at + needle.len()))
    }

    /// Where a control token of a dialect stands first.
    fn token(&self, dialect: &dialects::Dialect, control: Control) -> Option<(String, Span)> {
        let spelling = dialect.controls.spelling(control)?;
        Some((format!("`{spelling}`"), self.find(spelling)?))
    }
}

fn markup(text: &str) -> Vec<Candidate> {
    let look = Look { text };
    let cases = [
        openchatml_2(&look, &dialects::OPENCHATML_2_2),
        openchatml_2(&look, &dialects::OPENCHATML_2_0),
        chatml(&look),
        harmony(&look),
        apertus(&look),
        openchatml_0_1(&look),
        im(&look),
    ];
    cases.into_iter().filter_map(Case::finish).collect()
}

fn openchatml_2(look: &Look<'_>, dialect: &'static dialects::Dialect) -> Case {
    let mut case = Case::new(dialect, Carrier::Text);
    let is_2_2 = dialect.id == dialects::OPENCHATML_2_2.id;
    let version = version(look.text);
    if let Some((version, span)) = version {
        let own = dialect
            .text
            .and_then(|form| form.book.versions.first())
            .is_some_and(|own| *own == version);
        if own {
            case.speaks(90, format!("`version: {version}` in the header"), span);
        } else if version.starts_with("2.") {
            // The other version says so itself.
            return case;
        }
    }
    if look.token(&dialects::CHATML, Control::End).is_some() {
        return case;
    }
    let frame = [Control::Start, Control::Message].map(|control| look.token(dialect, control));
    let [Some((start, at)), Some(_)] = frame else { return case };
    case.speaks(if is_2_2 { 50 } else { 40 }, start, at);
    if let Some((what, span)) = look.token(dialect, Control::Channel) {
        case.speaks(10, what, span);
    }
    let newer = [Control::Constrain, Control::Literal]
        .map(|control| look.token(&dialects::OPENCHATML_2_2, control));
    let newer = newer.into_iter().flatten();
    let attributes = [" call_id=", " intent="];
    let attributes =
        attributes.iter().filter_map(|name| Some((format!("`{}`", name.trim()), look.find(name)?)));
    for (what, span) in newer.chain(attributes) {
        if is_2_2 {
            case.speaks(15, what, span);
        } else {
            case.score = case.score.saturating_sub(15);
        }
    }
    case
}

fn chatml(look: &Look<'_>) -> Case {
    let mut case = Case::new(&dialects::CHATML, Carrier::Text);
    for (control, weight) in [(Control::End, 70), (Control::Start, 15), (Control::Message, 10)] {
        if let Some((what, span)) = look.token(&dialects::CHATML, control)
            && (control == Control::End || case.score > 0)
        {
            case.speaks(weight, what, span);
        }
    }
    case
}

fn harmony(look: &Look<'_>) -> Case {
    let dialect = &dialects::HARMONY;
    let mut case = Case::new(dialect, Carrier::Text);
    let spelled = |control| dialect.controls.spelling(control).unwrap_or_default();
    let start = spelled(Control::Start);
    let joined = [Control::End, Control::Call, Control::Return]
        .into_iter()
        .find_map(|end| look.find(&format!("{}{start}", spelled(end))));
    let signs = [
        ("messages with nothing between them", joined),
        ("a space before `<|constrain|>`", look.find(&format!(" {}", spelled(Control::Constrain)))),
        ("a function that is its own role", look.find(&format!("{start}functions."))),
        ("`# Valid channels`", look.find("# Valid channels")),
    ];
    let others = [(&dialects::CHATML, Control::End), (&dialects::OPENCHATML_2_2, Control::Literal)];
    let is_other = version(look.text).is_some()
        || others.iter().any(|(dialect, control)| look.token(dialect, *control).is_some());
    let frame = [Control::Start, Control::Message].map(|control| look.token(dialect, control));
    let [Some((what, at)), Some(_)] = frame else { return case };
    if is_other || signs.iter().all(|(_, sign)| sign.is_none()) {
        return case;
    }
    case.speaks(45, what, at);
    for control in [Control::Channel, Control::Constrain] {
        if let Some((what, span)) = look.token(dialect, control) {
            case.speaks(10, what, span);
        }
    }
    for (what, sign) in signs {
        if let Some(span) = sign {
            case.speaks(20, what, span);
        }
    }
    for attribute in [" call_id=", " intent="] {
        if look.find(attribute).is_some() {
            case.score = case.score.saturating_sub(20);
        }
    }
    case
}

fn apertus(look: &Look<'_>) -> Case {
    let dialect = &dialects::APERTUS;
    let mut case = Case::new(dialect, Carrier::Text);
    let opens = [Role::System, Role::Developer, Role::User, Role::Assistant].map(Control::Open);
    // A turn of the assistant that lost its beginning, or a completion, has only these.
    let inside = [Control::InnerPrefix, Control::InnerSuffix, Control::ToolsPrefix];
    let spelled = |control| dialect.controls.spelling(control).unwrap_or_default();
    let text = look.text.trim_start();
    let text = text.strip_prefix(spelled(Control::Bos)).unwrap_or(text).trim_start();
    let begins = opens.into_iter().chain(inside).any(|it| text.starts_with(spelled(it)));
    for (control, weight) in opens.map(|it| (it, 15)).into_iter().chain(inside.map(|it| (it, 10))) {
        if let Some((what, span)) = look.token(dialect, control) {
            // Another format may speak of these tokens; it does not begin with one.
            let first = if begins { 55 } else { 25 };
            case.speaks(weight + if case.score == 0 { first } else { 0 }, what, span);
        }
    }
    case
}

fn openchatml_0_1(look: &Look<'_>) -> Case {
    let dialect = &dialects::OPENCHATML_0_1;
    let mut case = Case::new(dialect, Carrier::Text);
    if let Some((what, span)) = look.token(dialect, Control::Start) {
        case.speaks(45, what, span);
        for control in [Control::Bos, Control::Eos] {
            if let Some((what, span)) = look.token(dialect, control) {
                case.speaks(25, what, span);
            }
        }
        if let Some(span) =
            dialect.controls.spelling(Control::End).and_then(|end| look.find(&format!("\n{end}")))
        {
            case.speaks(10, "a line break before `<|im_end|>`", span);
        }
    }
    for control in [Control::FimPrefix, Control::FimSuffix, Control::FileSeparator] {
        if let Some((what, span)) = look.token(dialect, control) {
            case.speaks(45, what, span);
        }
    }
    case
}

fn im(look: &Look<'_>) -> Case {
    let mut case = Case::new(&dialects::IM, Carrier::Text);
    if let Some((what, span)) = look.token(&dialects::IM, Control::Start) {
        case.speaks(60, what, span);
        if let Some((what, span)) = look.token(&dialects::IM, Control::End) {
            case.speaks(10, what, span);
        }
    }
    case
}

/// The version that a header names.
fn version(text: &str) -> Option<(&str, Span)> {
    let mut at = 0;
    for line in text.split_inclusive('\n').take(64) {
        if line.starts_with('<') {
            return None;
        }
        if let Some(rest) = line.strip_prefix("version:") {
            let value = rest.split('#').next().unwrap_or_default().trim();
            let value = value.trim_matches(['"', '\'']);
            return Some((value, Span::new(at, at + line.trim_end().len())));
        }
        at += line.len();
    }
    None
}
