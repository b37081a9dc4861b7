//! The turns of OpenChatML before 2.0: their tokens, and transcripts of 1.x with these turns.

use crate::Control;
use crate::check::CheckRules;
use crate::dialect::TextForm;
use crate::grammar::turn::{Close, Rules, Wrap};
use crate::lex::{Escape, TokenTable};
use crate::model::{FormId, Role};
use crate::pairing::Pairing;
use crate::rules::History;
use crate::signs::{Framing, TextSigns};

/// The control tokens (0.1 §2).
pub(in crate::dialects) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Bos, "<s>"),
        (Control::Eos, "</s>"),
        (Control::Start, "<|im_start|>"),
        (Control::End, "<|im_end|>"),
        (Control::FimPrefix, "<|fim_prefix|>"),
        (Control::FimSuffix, "<|fim_suffix|>"),
        (Control::FimMiddle, "<|fim_middle|>"),
        (Control::FileSeparator, "<|file_separator|>"),
    ],
    Escape::None,
);

/// The control tokens that open messages of 2.x, and that no header of these turns contains.
pub(in crate::dialects) static NEWER: TokenTable = TokenTable::new(
    &[(Control::Start, "<|start|>"), (Control::Message, "<|message|>")],
    Escape::None,
);

/// The roles.
pub(in crate::dialects) const ROLES: &[Role] =
    &[Role::System, Role::Tool, Role::User, Role::Assistant];

/// Transcripts of 1.x in this framing, which readers of 2.x accept (2.2 §13).
pub(in crate::dialects) static TRANSCRIPTS: TextForm = TextForm {
    checks: CHECKS,
    // Their version identifies them.
    signs: TextSigns { framing: Framing::Turns, look: |_, _| {} },
    history: |_| History::Answered,
    stops: &[Control::End],
    ..TextForm::new(RULES.form, &CONTROLS, &RULES)
};

pub(in crate::dialects) const CHECKS: CheckRules = CheckRules {
    controls: &CONTROLS,
    versions: &[],
    pairing: Pairing::None,
    requires_channels: false,
    rules: &[],
};

static RULES: Rules = Rules {
    form: FormId::new("openchatml-1.x"),
    controls: &CONTROLS,
    roles: ROLES,
    close: Close::Spaced,
    wrap: Wrap::Optional,
    newer: &NEWER,
    has_files: false,
};
