//! The evidence for framed text in any dialect.

use super::Attribute;
use crate::signs::{Case, Scan};
use crate::{Control, Span};

/// Adds the evidence for frames: `base` if the text begins with one. Returns whether there are any.
pub(crate) fn look(scan: &Scan<'_>, base: u32, case: &mut Case) -> bool {
    if scan.token(Control::Message).is_none() {
        return false;
    }
    let [begins, line] = [scan.begins_with(Control::Start), scan.line_begins_with(Control::Start)];
    let what = |span: Span| format!("`{}`", scan.at(span));
    match (begins, scan.begins_inside(), line) {
        (Some(span), ..) => case.sign(base, what(span), Some(span)),
        (_, Some(span), _) => {
            let what = format!("a completion begins with {}", what(span));
            case.sign(base, what, Some(span));
        }
        (.., Some(span)) => case.sign(base / 2, what(span), Some(span)),
        _ => return false,
    }
    let closed = [Control::End, Control::Call, Control::Return].into_iter();
    let closed = closed.filter_map(|control| scan.token(control)).min_by_key(|span| span.start);
    let what = closed.map(|span| format!("`{}`", scan.at(span))).unwrap_or_default();
    case.sign(10, what, closed);
    if scan.version.is_none() && scan.quotes_frames {
        case.doubt();
    }
    true
}

/// Adds the evidence of the text between frames: a line break in OpenChatML, nothing in Harmony. But
/// transcripts of OpenChatML have a header, and Harmony's documentation has line breaks, too.
pub(crate) fn look_between(scan: &Scan<'_>, case: &mut Case) {
    let is_line = |text: &str| text.contains('\n') && text.trim().is_empty();
    let line = scan.gaps.iter().find(|gap| is_line(scan.at(**gap))).copied();
    case.sign(10, "each message begins a line", line);
    if scan.gaps.iter().any(|gap| gap.is_empty()) {
        case.against(20);
    }
    if scan.version.is_none() {
        case.against(if scan.gaps.is_empty() { 10 } else { 20 });
    }
}

/// Returns which of these tokens and attributes occur in headers. They distinguish dialects.
pub(crate) fn marks(
    scan: &Scan<'_>,
    tokens: impl Iterator<Item = (Control, &'static str)>,
    attributes: impl IntoIterator<Item = Attribute>,
) -> impl Iterator<Item = (String, Span)> {
    let tokens = tokens.filter_map(|(control, spelling)| {
        let span = scan.token(control).or_else(|| scan.header(|it| it.contains(spelling)))?;
        Some((format!("`{spelling}`"), span))
    });
    let attributes = attributes.into_iter().filter_map(|attribute| {
        let span = scan.header(|it| it.contains(&format!(" {attribute}=")))?;
        Some((format!("`{attribute}=`"), span))
    });
    tokens.chain(attributes)
}
