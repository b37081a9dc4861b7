//! Repairs the arguments of calls that are almost JSON.

use crate::json;
use crate::limits::Limits;
use crate::model::{Body, End, Message};
use crate::options::Repair;
use crate::{Code, Diagnostic, function_name};

/// Repairs the arguments of a call that are almost JSON: other quotation marks, words of Python, extra or missing
/// commas, keys without quotation marks, control characters, comments, a code fence,
/// missing or extra brackets, JSON in a string. A call that was cut off behind its arguments is
/// complete again. A mistake is repaired only if there is one way to read it: never a string or a number without
/// its end, text between values, or a key that is given twice.
///
/// Returns a diagnostic (`W-CALL-REPAIRED`) that names what was wrong, or `None` if the message is no
/// such call. The arguments are then a JSON object, and differ from what the model wrote. With
/// [`Repair::Mark`], the call stays uncertain. With [`Repair::Accept`], it is a call like any other, and
/// programs run it.
///
/// [`ReadOptions::repair`](crate::ReadOptions::repair) does the same with each call while reading.
///
/// ```
/// use openchatml::{Format, Limits, ReadOptions, Repair, parse, repair_call};
///
/// let text = "[TOOL_CALLS]weather[ARGS]{'city': 'Bern', 'wind': True,}</s>";
/// let parsed = parse(text, Format::MISTRAL_V11, &ReadOptions::completion());
/// let mut call = parsed.into_conversation().messages.remove(0);
/// let found = repair_call(&mut call, Repair::Mark, &Limits::default()).unwrap();
/// assert_eq!(call.body.text(), r#"{"city": "Bern", "wind": true}"#);
/// assert!(call.recovered);
/// assert_eq!(
///     found.message,
///     "the arguments were repaired: quotation marks other than `\"`, a word of Python, an extra comma"
/// );
/// ```
pub fn repair_call(call: &mut Message<'_>, repair: Repair, limits: &Limits) -> Option<Diagnostic> {
    let is_function = call.recipient.as_deref().and_then(function_name).is_some();
    let is_json = matches!(call.content_type.as_deref(), Some("json") | None);
    // Calls that are uncertain for another reason have another end.
    let is_cut = call.end == End::Open && call.recovered;
    let is_whole = call.end == End::Call && !call.recovered;
    if !call.is_call() || !is_function || !is_json || !is_cut && !is_whole {
        return None;
    }
    let (json, mistakes) = json::repair(&call.body.text(), limits)?;
    if mistakes.is_empty() && is_whole {
        return None;
    }
    let mut kinds: Vec<_> = mistakes.iter().map(|mistake| mistake.as_str()).collect();
    if is_cut {
        kinds.push("the end of the call");
    }
    let text = format!("the arguments were repaired: {}", kinds.join(", "));
    let found = Code::CallRepaired.at(call.span, text);
    (call.body, call.body_at, call.pieces, call.layout) = (Body::from(json), 0, None, None);
    call.end = End::Call;
    call.recovered = repair == Repair::Mark;
    Some(match repair {
        Repair::Mark => found.help("the call is not run"),
        Repair::Accept => found.help("the call is now one like any other"),
    })
}
