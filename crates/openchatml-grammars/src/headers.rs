//! The headers of calls, in completions.

use openchatml::dialects::Framed;
use openchatml::{Channel, Control};

use crate::shape::Shape;

/// Returns the allowed headers of a call, without the type of its body.
///
/// Functions are called on `commentary`, built-in tools also on `analysis` (SPEC 2.2 §8.3).
pub(crate) fn call_headers(framed: &Framed, recipient: &str, is_function: bool) -> Vec<Shape> {
    let channels: &[Channel] = if is_function {
        &[Channel::Commentary]
    } else {
        &[Channel::Analysis, Channel::Commentary]
    };
    let mut headers = Vec::new();
    let to = Shape::text(&format!(" to={recipient}"));
    for channel in channels {
        let channel = Shape::Control(Control::Channel).then(Shape::text(channel.as_str()));
        let mut early = to.clone();
        if framed.call_ids {
            early = early.then(Shape::text(" call_id=")).then(Shape::CallId);
        }
        headers.push(early.then(channel.clone()));
        if framed.late_recipients {
            headers.push(channel.then(to.clone()));
        }
    }
    headers
}

/// Returns the types of the body of a call. JSON must be declared, except for a built-in tool.
pub(crate) fn types(framed: &Framed, is_function: bool, is_json: bool) -> Shape {
    let json = framed.constrain.filter(|_| is_json).map(|space| {
        Shape::text(space).then(Shape::Control(Control::Constrain)).then(Shape::text("json"))
    });
    if is_function {
        return json.unwrap_or(Shape::Sequence(Vec::new()));
    }
    let mut ways: Vec<Shape> = json.into_iter().collect();
    if !framed.builtin_type.is_empty() {
        ways.push(Shape::text(framed.builtin_type));
    }
    if ways.is_empty() { Shape::Sequence(ways) } else { Shape::optional(Shape::either(ways)) }
}
