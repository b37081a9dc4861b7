//! The `<|im_start|>` framing, which is widely used and mostly called ChatML.

use super::older::{NEWER, ROLES};
use crate::Control;
use crate::Role;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::dialect::{Carrier, Dialect, TextForm};
use crate::grammar::turn::{Close, Rules, Wrap};
use crate::lex::{Escape, TokenTable};
use crate::model::End;
use crate::pairing::Pairing;
use crate::rules::History;
use crate::rules::{Carries, Completion};
use crate::signs::{Case, Framing, Scan, TextSigns};

/// The `<|im_start|>` framing: compact, with no text around the turns.
///
/// ```
/// use openchatml::{Carrier, Format, dialects, parse};
///
/// let format = Format::new(&dialects::CHATML, Carrier::Text).expect("it has it");
/// let text = "<|im_start|>user\nIs <s> a token?<|im_end|>\n";
/// let conversation = parse(text, format, &Default::default()).into_conversation();
/// assert_eq!(conversation.messages[0].body.text(), "Is <s> a token?");
/// ```
pub static DIALECT: Dialect = Dialect {
    id: "chatml",
    aliases: &["im"],
    title: "ChatML: the <|im_start|> framing",
    used_by: "Qwen, Yi, Hermes, SmolLM, OLMo and many other open models",
    carrier: Carrier::Text,
    controls: &CONTROLS,
    carries: &CARRIES,
    tools: ToolPlace::Json(Role::System),
    dated: false,
    opening: None,
    text: Some(&TEXT),
    json: None,
};

static CONTROLS: TokenTable = TokenTable::new(
    &[(Control::Start, "<|im_start|>"), (Control::End, "<|im_end|>")],
    Escape::None,
);

static CARRIES: Carries = Carries {
    roles: ROLES,
    names: |_| true,
    ends: &[End::End, End::Open, End::Prompt],
    ..Carries::NOTHING
};

static TEXT: TextForm = TextForm {
    checks: CHECKS,
    signs: TextSigns { framing: Framing::Turns, look },
    history: |_| History::Answered,
    stops: &[Control::End],
    framing: Some(Completion::Text { header: None, close: None }),
    ..TextForm::new(RULES.form, &CONTROLS, &RULES)
};

const CHECKS: CheckRules = CheckRules {
    controls: &CONTROLS,
    versions: &[],
    pairing: Pairing::None,
    requires_channels: false,
    rules: &[],
};

static RULES: Rules = Rules {
    form: DIALECT.form(),
    controls: &CONTROLS,
    roles: ROLES,
    close: Close::Compact,
    wrap: Wrap::None,
    newer: &NEWER,
    has_files: false,
};

/// Adds the evidence for the framing.
fn look(scan: &Scan<'_>, case: &mut Case) {
    let token = |control| format!("`{}`", CONTROLS.spelling(control).unwrap_or_default());
    case.sign(60, token(Control::Start), scan.begins_with(Control::Start));
    if case.score == 0 {
        case.sign(25, token(Control::Start), scan.line_begins_with(Control::Start));
    }
    if case.score == 0 {
        return case.sign(15, token(Control::Start), scan.token(Control::Start));
    }
    case.sign(10, token(Control::End), scan.token(Control::End));
    if scan.version.is_some() {
        case.against(30);
    }
}
