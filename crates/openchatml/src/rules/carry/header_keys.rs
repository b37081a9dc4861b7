//! Keys of the header that only version 2.2 has.

use super::{ConversationRule, Loss, Lost};
use crate::model::Header;
use crate::rules::Carries;

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "header keys",
    fits: |conversation, carries| {
        let header = conversation.header.as_ref();
        header.is_none_or(|header| {
            unknown(header, carries).iter().all(|key| header.get(key).is_none())
        })
    },
    adapt: |conversation, carries, _| {
        let Some(header) = &mut conversation.header else { return Vec::new() };
        let removed = unknown(header, carries).iter().filter(|key| header.remove(key).is_some());
        let lost = removed.map(|key| match *key {
            "profiles" => Lost::Profiles,
            _ => Lost::Capabilities,
        });
        lost.map(Loss::of_document).collect()
    },
};

/// Returns the keys that a format does not have. In headers of versions without these keys they
/// have no meaning, so they are kept like any unknown key.
fn unknown(header: &Header<'_>, carries: &Carries) -> &'static [&'static str] {
    if header.version() == Some("2.2") { carries.header_keys } else { &[] }
}
