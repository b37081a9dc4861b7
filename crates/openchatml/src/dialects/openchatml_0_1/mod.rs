//! OpenChatML 0.1.

use super::older::{CHECKS, CONTROLS, NEWER, ROLES};
use crate::Control;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::turn::{Close, Rules, Wrap};
use crate::model::{End, Role};
use crate::rules::History;
use crate::rules::{Carries, Completion};
use crate::signs::{Case, Framing, Scan, TextSigns};

/// OpenChatML 0.1: turns between `<s>` and `</s>`, fill-in-the-middle tasks, multi-file sequences.
///
/// ```
/// use openchatml::{Carrier, Document, Format, Infill, dialects, parse};
///
/// let format = Format::new(&dialects::OPENCHATML_0_1, Carrier::Text).expect("it has it");
/// let text = "<|fim_prefix|>fn main() {<|fim_middle|><|fim_suffix|>}";
/// let document = parse(text, format, &Default::default()).document;
/// assert_eq!(document, Document::Infill(Infill::new("fn main() {", "}")));
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "openchatml-0.1",
    aliases: &[],
    title: "OpenChatML 0.1",
    used_by: "training data, with fill-in-the-middle and multi-file documents",
    carrier: Carrier::Text,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Json(Role::System),
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

/// The roles of SPEC §3.
static CARRIES: Carries = Carries {
    roles: ROLES,
    names: |_| true,
    ends: &[End::End, End::Open, End::Prompt],
    infill: true,
    files: true,
    ..Carries::NOTHING
};

static TEXT: TextForm = TextForm {
    checks: CHECKS,
    signs: TextSigns { framing: Framing::Turns, look },
    history: |_| History::Answered,
    stops: &[Control::End],
    framing: Some(Completion::Text { header: None, close: Some("\n") }),
    ..TextForm::new(RULES.form, &CONTROLS, &RULES)
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    roles: ROLES,
    close: Close::Spaced,
    wrap: Wrap::Required,
    newer: &NEWER,
    has_files: true,
};

/// Adds the evidence for documents.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let spelling = |control| CONTROLS.spelling(control).unwrap_or_default();
    let token = |control| format!("`{}`", spelling(control));
    for control in [Control::FimPrefix, Control::FimSuffix, Control::FileSeparator] {
        case.sign(45, token(control), scan.token(control));
    }
    for control in [Control::Start, Control::Bos] {
        case.sign(45, token(control), scan.begins_with(control));
    }
    if case.score == 0 {
        return case.sign(15, token(Control::Start), scan.line_begins_with(Control::Start));
    }
    if scan.begins_with(Control::Bos).is_some() {
        case.sign(25, token(Control::Start), scan.token(Control::Start));
    }
    case.sign(25, token(Control::Eos), scan.token(Control::Eos));
    let spaced = scan.token(Control::End).filter(|end| scan.text[..end.start].ends_with('\n'));
    case.sign(10, "a line break before the end token of a message", spaced);
    if scan.version.is_some() {
        case.against(30);
    }
}
