//! Keys of the header that only version 2.2 knows.

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

/// The keys that a format does not know. In headers of versions that do not know them either they say
/// nothing, and are kept like any other.
fn unknown(header: &Header<'_>, carries: &Carries) -> &'static [&'static str] {
    if header.version() == Some("2.2") { carries.header_keys } else { &[] }
}
