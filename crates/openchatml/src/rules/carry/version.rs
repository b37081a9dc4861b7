//! The version in the header: a format with a fixed version writes its own.

use super::{ConversationRule, Loss, Lost};
use crate::json::{Data, Value};
use crate::model::Header;
use crate::rules::Carries;

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "version",
    fits: |conversation, carries| {
        let header = conversation.header.as_ref();
        own(carries).is_none_or(|own| header.and_then(Header::version) == Some(own))
    },
    adapt: |conversation, carries, home| {
        let Some(own) = own(carries) else { return Vec::new() };
        let Some(header) = &mut conversation.header else {
            conversation.header = Some(Header::new(own));
            return Vec::new();
        };
        // Converted back, the version is that of the original format.
        let home = home.and_then(|home| home.version);
        let comes_back = home.is_some() && header.version() == home;
        let replaced = header.get("version").filter(|_| !comes_back).map(|it| it.span);
        header.insert("version", Value::from(Data::Number(own.into())));
        replaced.map(|span| Loss::new(None, span, Lost::Version)).into_iter().collect()
    },
};

/// Returns the version of the format, if it has headers.
fn own(carries: &Carries) -> Option<&'static str> {
    carries.version.filter(|_| carries.header)
}
