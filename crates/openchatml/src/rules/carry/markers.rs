//! Chain-of-thought markers.

use super::{Adapted, Lost, MessageRule};
use crate::model::{Body, Channel, Role, Segment, Visibility};
use crate::rules::Markers;

pub(super) const RULE: MessageRule = MessageRule {
    name: "markers",
    fits: |message, at| {
        !message.body.has_markers()
            || match at.carries.markers {
                Markers::None => false,
                Markers::Analysis => {
                    message.role == Role::Assistant
                        && message.effective_channel() == Channel::Analysis
                }
                Markers::Hidden => message.visibility() == Visibility::Hidden,
            }
    },
    adapt: |message, _, _| {
        let rest = message.body.segments().filter_map(|segment| match segment {
            Segment::Marker(_) => None,
            Segment::Text(text) => Some(Segment::Text(text.into_owned().into())),
            Segment::Literal(text) => Some(Segment::Literal(text.into_owned().into())),
        });
        message.body = Body::from_segments(rest.collect::<Vec<_>>());
        Adapted::losing(Lost::Markers)
    },
};
