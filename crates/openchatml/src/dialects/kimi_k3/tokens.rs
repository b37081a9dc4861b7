//! The tokens of Kimi K3. Of an element, only `<|open|>`, `<|close|>` and `<|sep|>` are single ids.

use crate::lex::{Escape, TokenTable};
use crate::model::Role;
use crate::{Control, Section};

pub(super) static CONTROLS: TokenTable = TokenTable::new(
    &[
        (Control::Open(Role::System), "<|open|>message role=\"system\""),
        (Control::Open(Role::User), "<|open|>message role=\"user\""),
        (Control::Open(Role::Assistant), "<|open|>message role=\"assistant\""),
        (Control::Open(Role::Tool), "<|open|>message role=\"tool\""),
        (Control::Message, "<|sep|>"),
        (Control::End, "<|close|>message<|sep|>"),
        (Control::Eos, "<|end_of_msg|>"),
        (Control::OpenSection(Section::Reasoning), "<|open|>think<|sep|>"),
        (Control::CloseSection(Section::Reasoning), "<|close|>think<|sep|>"),
        (Control::OpenSection(Section::Answer), "<|open|>response<|sep|>"),
        (Control::CloseSection(Section::Answer), "<|close|>response<|sep|>"),
        (Control::OpenSection(Section::Calls), "<|open|>tools<|sep|>"),
        (Control::CloseSection(Section::Calls), "<|close|>tools<|sep|>"),
        (Control::OpenSection(Section::Call), "<|open|>call"),
        (Control::CloseSection(Section::Call), "<|close|>call<|sep|>"),
        (Control::OpenSection(Section::Key), "<|open|>argument"),
        (Control::CloseSection(Section::Value), "<|close|>argument<|sep|>"),
        (Control::OpenSection(Section::Unknown), "<|open|>"),
        (Control::CloseSection(Section::Unknown), "<|close|>"),
    ],
    Escape::None,
);
