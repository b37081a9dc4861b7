//! What framed text is known by, whatever the dialect.

use crate::Control;
use crate::detect::{Case, Scan};
use crate::dialects::OPENCHATML_2_2;

/// Adds the evidence that text has frames: `base` if it begins with one. Whether there are any.
pub(crate) fn look(scan: &Scan<'_>, base: u32, case: &mut Case) -> bool {
    let Some(start) = scan.token(Control::Start) else { return false };
    let what = || format!("`{}`", scan.at(start));
    if scan.token(Control::Message).is_none() {
        return false;
    }
    match (scan.begins_with(Control::Start), scan.line_begins_with(Control::Start)) {
        (Some(span), _) => case.sign(base, what(), Some(span)),
        (_, Some(span)) => case.sign(base / 2, what(), Some(span)),
        _ => return false,
    }
    let closed = [Control::End, Control::Call, Control::Return].into_iter();
    let closed = closed.filter_map(|control| scan.token(control)).min_by_key(|span| span.start);
    let what = closed.map(|span| format!("`{}`", scan.at(span))).unwrap_or_default();
    case.sign(10, what, closed);
    if scan.version.is_none() && has_block_of_frames(scan.text) {
        case.doubt();
    }
    true
}

/// Whether one frame ends and another one begins between the two ends of a literal block: what one
/// format quotes, another one says, and both readings are well-formed. Nothing but a version tells
/// which it is.
fn has_block_of_frames(text: &str) -> bool {
    let controls = OPENCHATML_2_2.controls;
    let spelled = |control| controls.spelling(control).unwrap_or_default();
    let mut rest = text;
    while let Some((_, block)) = rest.split_once(spelled(Control::Literal)) {
        let Some((mut block, after)) = block.split_once(spelled(Control::EndLiteral)) else {
            break;
        };
        let (mut first, mut last) = (None, None);
        while let Some((at, control, len)) = controls.find(block) {
            first = first.or(Some(control));
            last = Some(control);
            block = &block[at + len..];
        }
        if first.is_some_and(Control::ends_message) && last == Some(Control::Message) {
            return true;
        }
        rest = after;
    }
    false
}

/// Weighs what stands between frames: a line break in OpenChatML, nothing in Harmony.
pub(crate) fn look_between(scan: &Scan<'_>, case: &mut Case) {
    let is_line = |text: &str| text.contains('\n') && text.trim().is_empty();
    let line = scan.gaps.iter().find(|gap| is_line(scan.at(**gap))).copied();
    case.sign(10, "messages on lines of their own", line);
    if scan.gaps.iter().any(|gap| gap.is_empty()) {
        case.against(20);
    }
}
