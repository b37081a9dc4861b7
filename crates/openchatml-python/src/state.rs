//! Events, diagnostics and losses as data to restore them from.

use openchatml::convert::{Loss, Lost};
use openchatml::{
    Applicability, Code, Diagnostic, Done, Dropped, Edit, Event, Fix, Message, Severity, Span,
};

/// A diagnostic: code, severity, span, message, help, pointer, dropped, fix.
pub(crate) type DiagnosticState = (
    String,
    String,
    (usize, usize),
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<(String, Vec<((usize, usize), String)>)>,
);

/// A loss: message, span, name, detail.
pub(crate) type LossState = (Option<usize>, (usize, usize), String, Option<String>);

/// The fields of an event, except for its message: type, index, text, whether it is a preamble,
/// diagnostic, code, reason, call.
pub(crate) type EventState = (
    String,
    Option<usize>,
    Option<String>,
    bool,
    Option<DiagnosticState>,
    Option<String>,
    Option<String>,
    Option<String>,
);

fn pair(span: Span) -> (usize, usize) {
    (span.start, span.end)
}

fn span((start, end): (usize, usize)) -> Option<Span> {
    (start <= end).then(|| Span::new(start, end))
}

pub(crate) fn diagnostic_state(found: &Diagnostic) -> DiagnosticState {
    let fix = found.fix.as_ref().map(|fix| {
        let edits = fix.edits.iter().map(|it| (pair(it.span), it.replacement.clone()));
        (fix.applicability.as_str().to_owned(), edits.collect())
    });
    (
        found.code.as_str().to_owned(),
        found.severity.as_str().to_owned(),
        pair(found.span),
        found.message.clone(),
        found.help.clone(),
        found.pointer.clone(),
        found.dropped.map(|it| it.as_str().to_owned()),
        fix,
    )
}

/// Restores a diagnostic, or returns `None` for malformed data.
pub(crate) fn diagnostic(state: DiagnosticState) -> Option<Diagnostic> {
    let (code, severity, place, message, help, pointer, dropped, fix) = state;
    let mut found = code.parse::<Code>().ok()?.at(span(place)?, message);
    let all = [Severity::Error, Severity::Warning, Severity::Note];
    found.severity = all.into_iter().find(|it| it.as_str() == severity)?;
    found.help = help;
    found.pointer = pointer;
    found.dropped = match dropped {
        Some(word) => Some(Dropped::from_word(&word)?),
        None => None,
    };
    found.fix = match fix {
        Some((word, edits)) => {
            let edit = |(place, replacement)| Some(Edit { span: span(place)?, replacement });
            let edits = edits.into_iter().map(edit).collect::<Option<Vec<_>>>()?;
            Some(Fix::new(Applicability::from_word(&word)?, edits))
        }
        None => None,
    };
    Some(found)
}

pub(crate) fn loss_state(loss: &Loss) -> LossState {
    let detail = loss.detail.as_deref().map(str::to_owned);
    (loss.message, pair(loss.span), loss.lost.word(), detail)
}

/// Restores a loss, or returns `None` for malformed data.
pub(crate) fn loss((message, place, name, detail): LossState) -> Option<Loss> {
    let lost = Lost::ALL.iter().copied().find(|it| it.word() == name)?;
    let mut loss = Loss::new(message, span(place)?, lost);
    loss.detail = detail.map(Into::into);
    Some(loss)
}

/// The fields of an event, and its message.
pub(crate) fn event_state<'a>(
    event: &'a Event<'static>,
) -> (EventState, Option<&'a Message<'static>>) {
    let mut state: EventState =
        (event.name().to_owned(), None, None, false, None, None, None, None);
    let mut with = None;
    match event {
        Event::MessageStart { index, message } | Event::MessageDone { index, message } => {
            state.1 = Some(*index);
            with = Some(&**message);
        }
        Event::Delta { index, text, is_preamble } => {
            state.1 = Some(*index);
            state.2 = Some(text.to_string());
            state.3 = *is_preamble;
        }
        Event::ReasoningDelta { index, text }
        | Event::ReasoningSummaryDelta { index, text }
        | Event::ToolCallDelta { index, text } => {
            state.1 = Some(*index);
            state.2 = Some(text.to_string());
        }
        Event::MessageHidden { index } => state.1 = Some(*index),
        Event::Flush { index, is_preamble } => {
            state.1 = Some(*index);
            state.3 = *is_preamble;
        }
        Event::Done { index, reason } => {
            state.1 = *index;
            state.6 = Some(reason.as_str().to_owned());
        }
        Event::Cancel { index } => state.1 = *index,
        Event::ToolCancel { call_id, reason } => {
            state.6 = Some(reason.to_string());
            state.7 = Some(call_id.to_string());
        }
        Event::Diagnostic { index, diagnostic } => {
            state.1 = *index;
            state.4 = Some(diagnostic_state(diagnostic));
        }
        Event::UserDiagnostic { index, code } => {
            state.1 = *index;
            state.5 = Some(code.as_str().to_owned());
        }
        _ => {}
    }
    (state, with)
}

/// Restores an event, or returns `None` for malformed data.
pub(crate) fn event(
    state: EventState,
    message: Option<Message<'static>>,
) -> Option<Event<'static>> {
    let (name, at, text, is_preamble, found, code, reason, call_id) = state;
    let text = || text.map(Into::into);
    Some(match name.as_str() {
        "message.start" => Event::MessageStart { index: at?, message: message?.into() },
        "message.done" => Event::MessageDone { index: at?, message: message?.into() },
        "response.delta" => Event::Delta { index: at?, text: text()?, is_preamble },
        "response.reasoning_text.delta" => Event::ReasoningDelta { index: at?, text: text()? },
        "response.reasoning_summary_text.delta" => {
            Event::ReasoningSummaryDelta { index: at?, text: text()? }
        }
        "response.tool_call.delta" => Event::ToolCallDelta { index: at?, text: text()? },
        "response.delta.flush" => Event::Flush { index: at?, is_preamble },
        "message.hidden" => Event::MessageHidden { index: at? },
        "response.done" => {
            let reason = reason?;
            let all = [Done::Return, Done::Call, Done::End];
            let reason = all.into_iter().find(|it| it.as_str() == reason)?;
            Event::Done { index: at, reason }
        }
        "response.cancel" => Event::Cancel { index: at },
        "tool.cancel" => Event::ToolCancel { call_id: call_id?.into(), reason: reason?.into() },
        "diagnostic" => match (found, code) {
            (Some(found), _) => {
                Event::Diagnostic { index: at, diagnostic: diagnostic(found)?.into() }
            }
            (None, code) => Event::UserDiagnostic { index: at, code: code?.parse().ok()? },
        },
        _ => return None,
    })
}
