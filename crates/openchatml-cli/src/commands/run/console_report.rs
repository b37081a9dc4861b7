//! Reports to people: the answer on standard output and, on a terminal, the calls and replies.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};

use anstyle::{AnsiColor, Style};
use openchatml::{Event, Limits, Message, Policy, Reply, Severity, UserEvents, Visibility};
use openchatml_tools::{Session, SessionEvent};

use super::Kept;
use crate::args::Verbosity;
use crate::console::Console;
use crate::failure::Failure;
use crate::output::Target;
use crate::visible::{visible, visible_line};

/// The maximum number of characters of a line about a call.
const MOST: usize = 160;

const CALL: Style = AnsiColor::Cyan.on_default();
const FAILED: Style = AnsiColor::Red.on_default();
const QUIET: Style = Style::new().dimmed();

/// Reports to people what happens.
pub(super) struct ConsoleReport<'c> {
    console: &'c Console,
    /// The output for the answer; `None` if the transcript goes there.
    answer: Option<Target>,
    /// Whether preambles are shown, and whether calls and replies are shown.
    tells: bool,
    tells_calls: bool,
    policy: Policy,
    /// The visible part of the current response.
    user: Option<UserEvents>,
    /// The calls that have not started: id, name and arguments.
    calls: Vec<[String; 3]>,
    /// Whether the last written line is incomplete: that of the answer, and that of a preamble.
    answers: bool,
    notes: bool,
    /// Whether the run continues if nobody reads the answer, because the transcript contains it.
    goes_on: bool,
    failure: Option<Failure>,
}

impl<'c> ConsoleReport<'c> {
    /// Creates a reporter that shows only what users may see, if that is requested.
    pub(super) fn new(policy: Option<Policy>, kept: Kept<'_>, console: &'c Console) -> Self {
        let is_told = console.verbosity() > Verbosity::Quiet && io::stderr().is_terminal();
        Self {
            console,
            answer: (kept != Kept::Stdout).then(Target::stdout),
            goes_on: matches!(kept, Kept::File(_)),
            tells: is_told,
            tells_calls: is_told && policy.is_none(),
            policy: policy.unwrap_or_default(),
            user: None,
            calls: Vec::new(),
            answers: false,
            notes: false,
            failure: None,
        }
    }

    /// Records the calls that run first.
    pub(super) fn expect(&mut self, session: &Session) {
        if !self.tells_calls {
            return;
        }
        for (call, _) in session.pending_calls() {
            self.note_call(&call);
        }
    }

    fn note_call(&mut self, call: &Message<'_>) {
        let word = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
        let arguments = call.body.text().into_owned();
        self.calls.push([word(&call.call_id), word(&call.recipient), arguments]);
    }

    /// Returns the arguments of a call that starts. If the format has no ids, calls start in order.
    fn arguments(&mut self, call_id: &str, name: &str) -> String {
        let by_id = self.calls.iter().position(|call| call[0] == call_id);
        let at = by_id.or_else(|| self.calls.iter().position(|call| call[1] == name));
        at.map(|at| self.calls.remove(at)).map_or_else(String::new, |[.., arguments]| arguments)
    }

    /// Reports an event. Returns whether somebody still reads the output.
    pub(super) fn add(&mut self, event: &SessionEvent<'_>) -> bool {
        match event {
            SessionEvent::Step { .. } => {
                self.user = Some(UserEvents::new(self.policy));
            }
            SessionEvent::Said(event) => self.model_event(event),
            SessionEvent::Replied(Event::MessageDone { message, .. }) if self.tells_calls => {
                let name = message.name.as_deref().unwrap_or("a tool");
                self.line(QUIET, &format!("<- {name} {}", content(&message.body.text())));
            }
            SessionEvent::ToolStart { call_id, name } if self.tells_calls => {
                let arguments = self.arguments(call_id, name);
                self.line(CALL, &format!("-> {name} {arguments}"));
            }
            SessionEvent::ToolProgress { progress, .. } if self.tells_calls => {
                if let Some(message) = &progress.message {
                    self.line(QUIET, &format!("   {message}"));
                }
            }
            SessionEvent::ToolCancel { reason, .. } if self.tells_calls => {
                self.line(FAILED, &format!("   cancelled: {reason}"));
            }
            SessionEvent::ToolDone { code: Some(code), .. } if self.tells_calls => {
                self.line(FAILED, &format!("   {code}"));
            }
            _ => {}
        }
        if self.goes_on && self.failure == Some(Failure::Closed) {
            (self.answer, self.failure) = (None, None);
        }
        self.failure.is_none()
    }

    fn model_event(&mut self, event: &Event<'_>) {
        match event {
            Event::MessageDone { message, .. } if self.tells_calls && message.is_call() => {
                self.note_call(message);
            }
            Event::Diagnostic { diagnostic, .. } if diagnostic.severity > Severity::Note => {
                self.console.detail(&diagnostic.to_string());
            }
            _ => {}
        }
        let shown = self.user.as_mut().and_then(|user| user.push(event.borrowed()));
        if let Some(event) = shown {
            self.shown(&event);
        }
    }

    /// Prints the part that a user may see.
    fn shown(&mut self, event: &Event<'_>) {
        match event {
            Event::Delta { text, is_preamble: false, .. } => self.answer(text),
            Event::Delta { text, is_preamble: true, .. } if self.tells => {
                self.console.print(&visible(text));
                self.notes = !text.ends_with('\n');
            }
            Event::MessageDone { message, .. }
                if self.policy.visibility(message) == Visibility::User =>
            {
                self.end_line();
            }
            _ => {}
        }
    }

    fn answer(&mut self, text: &str) {
        let Some(target) = &mut self.answer else { return };
        if self.failure.is_some() || text.is_empty() {
            return;
        }
        let written = match target.is_terminal() {
            true => target.write(visible(text).as_bytes()),
            false => target.write(text.as_bytes()),
        };
        self.answers = !text.ends_with('\n');
        self.failure = written.err();
    }

    /// Prints a line about a call or a reply.
    fn line(&mut self, style: Style, text: &str) {
        self.end_line();
        let text = visible_line(text);
        let (text, rest) = match text.char_indices().nth(MOST) {
            Some((at, _)) => (&text[..at], "…"),
            None => (&*text, ""),
        };
        self.console.print(&format!("{style}{text}{rest}{style:#}\n"));
    }

    /// Ends an incomplete line.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.notes) {
            self.console.print("\n");
        }
        if std::mem::take(&mut self.answers)
            && let Some(target) = &mut self.answer
            && self.failure.is_none()
        {
            self.failure = target.write(b"\n").err();
        }
    }

    /// Reports the end.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.end_line();
        self.failure.map_or(Ok(()), Err)
    }
}

/// Returns the content of a reply: for an envelope, its content or its error.
fn content(reply: &str) -> Cow<'_, str> {
    let Some(envelope) = Reply::parse(reply, &Limits::default()) else { return reply.into() };
    let result_text = match envelope.ok {
        true => envelope.content.as_ref(),
        false => envelope.error.as_ref().and_then(|error| error.get("message")),
    };
    match result_text {
        Some(value) => value.as_str().map_or_else(|| value.to_json(), str::to_owned).into(),
        None => reply.into(),
    }
}
