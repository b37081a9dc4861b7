//! The header.

use super::{ConversationRule, Loss, Lost};
use crate::model::Header;
use crate::rules::Carries;

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "header",
    fits: |conversation, carries| carries.header || conversation.header.is_none(),
    adapt: |conversation, _, home| {
        let header = conversation.header.take();
        let comes_back = |header: &Header<'_>| home.is_some_and(|home| implies(home, header));
        let lost = header.filter(|header| !comes_back(header));
        lost.map(|_| Loss::of_document(Lost::Header)).into_iter().collect()
    },
};

/// Whether a format adds this header to documents without one.
fn implies(home: &Carries, header: &Header<'_>) -> bool {
    header.fields().len() == 1 && home.version.is_some() && header.version() == home.version
}
