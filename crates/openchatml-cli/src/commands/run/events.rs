//! Reports what happens during a run, to people or to a program.

use clap::Args;
use openchatml::wire::{Api, Ending, Framing, Response, Writer};
use openchatml::{Event, Policy, Severity, UserEvents};
use openchatml_tools::{CancellationToken, Session, SessionEvent};

use super::Kept;
use super::console_report::ConsoleReport;
use crate::args::{PreambleArgs, Protocol, now};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::Target;

#[derive(Args, Debug)]
#[command(next_help_heading = "Events")]
pub(super) struct EventsArgs {
    /// Write the events of OpenChatML and of the run (run.step, tool.start, tool.progress,
    /// tool.cancel, tool.done) to standard output instead of the answer, one per line
    #[arg(long, conflicts_with = "events")]
    json: bool,

    /// The same with this protocol. In the protocol of an API, each request to the model is one
    /// response
    #[arg(long, value_name = "PROTOCOL")]
    events: Option<Protocol>,

    /// Write server-sent events
    #[arg(long)]
    sse: bool,

    /// Write only what a user can see, without calls
    #[arg(long)]
    user: bool,

    #[command(flatten)]
    preambles: PreambleArgs,
}

impl EventsArgs {
    /// The protocol of the events, if a program reads them.
    pub(super) fn protocol(&self) -> Option<Protocol> {
        self.events.or(self.json.then_some(Protocol::Openchatml))
    }

    pub(super) fn json(&self) -> bool {
        self.json
    }
}

/// Reports what happens during a run.
pub(super) struct Events<'c> {
    protocol: Option<Protocol>,
    /// The reporter for people, if no program reads the events.
    console_report: Option<ConsoleReport<'c>>,
    framing: Framing,
    policy: Option<Policy>,
    /// The visible part of the current response.
    user: Option<UserEvents>,
    model: String,
    created: u64,
    /// The response that is being written.
    response: Option<Box<Writer>>,
    target: Target,
    console: &'c Console,
    text: String,
    /// The reason why the server ended the last truncated completion.
    cut_off: Option<String>,
    /// The error after which nothing can be written.
    failure: Option<Failure>,
}

impl<'c> Events<'c> {
    /// Returns the writer for the requested events.
    pub(super) fn new(
        args: &EventsArgs,
        model: &Option<String>,
        kept: Kept<'_>,
        console: &'c Console,
    ) -> Result<Self, Failure> {
        let protocol = args.protocol();
        if kept == Kept::Stdout && protocol.is_some() {
            let text = "the transcript and the events cannot both go to standard output: name a file for the transcript";
            return Err(Failure::Usage(text.to_owned()));
        }
        if args.sse && protocol.is_none() {
            let text = "`--sse` requires a protocol: name it with `--events`, or use `--json`";
            return Err(Failure::Usage(text.to_owned()));
        }
        let policy = args.user.then(|| args.preambles.policy());
        Ok(Self {
            protocol,
            console_report: protocol.is_none().then(|| ConsoleReport::new(policy, kept, console)),
            framing: if args.sse { Framing::Sse } else { Framing::Lines },
            policy,
            model: model.clone().unwrap_or_else(|| "unknown".to_owned()),
            created: now(),
            response: None,
            user: None,
            target: Target::stdout(),
            console,
            text: String::new(),
            cut_off: None,
            failure: None,
        })
    }

    /// Writes an event immediately. If nobody reads the output, the session is cancelled.
    pub(super) fn add(&mut self, event: &SessionEvent<'_>, cancel: &CancellationToken) {
        if let SessionEvent::CutOff { reason } = event {
            self.cut_off = Some((*reason).to_owned());
        }
        if let Some(console_report) = &mut self.console_report {
            if !console_report.add(event) {
                cancel.cancel();
            }
            return;
        }
        if let SessionEvent::Said(Event::Diagnostic { diagnostic, .. }) = event {
            let is_told = self.protocol == Some(Protocol::Openchatml) && self.policy.is_none();
            if !is_told && diagnostic.severity > Severity::Note {
                self.console.detail(&diagnostic.to_string());
            }
        }
        let Some(protocol) = self.protocol else { return };
        match protocol.api() {
            Some(api) => self.foreign(event, api),
            None if self.policy.is_some() => self.own_for_user(event),
            None => self.own(event),
        }
        self.flush();
        if self.failure.is_some() {
            cancel.cancel();
        }
    }

    /// Writes the part of an event that a user may see. Each step is a separate response.
    fn own_for_user(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Step { .. } => {
                self.end_user();
                self.user = self.policy.map(UserEvents::new);
            }
            SessionEvent::Said(event) => {
                let visible_event = self.user.as_mut().and_then(|user| user.push(event.borrowed()));
                if let Some(event) = visible_event {
                    self.own(&SessionEvent::Said(event));
                }
            }
            event => {
                let visible_event = self.policy.and_then(|policy| event.clone().for_user(policy));
                if let Some(event) = visible_event {
                    self.own(&event);
                }
            }
        }
    }

    /// Tells a user whether the response was truncated.
    fn end_user(&mut self) {
        if let Some(event) = self.user.take().and_then(UserEvents::finish) {
            self.own(&SessionEvent::Said(event));
        }
    }

    fn own(&mut self, event: &SessionEvent<'_>) {
        if self.framing == Framing::Sse {
            self.text.push_str("event: ");
            self.text.push_str(event.name());
            self.text.push_str("\ndata: ");
        }
        event.write_json(&mut self.text);
        self.text.push_str(if self.framing == Framing::Sse { "\n\n" } else { "\n" });
    }

    fn foreign(&mut self, event: &SessionEvent<'_>, api: Api) {
        match event {
            SessionEvent::Step { number, .. } => {
                self.end_response();
                self.begin_response(api, *number);
            }
            SessionEvent::Replied(_) => self.end_response(),
            SessionEvent::Said(event) => {
                let (response, text) = (&mut self.response, &mut self.text);
                let visible_event = match self.policy {
                    None => Some(event.borrowed()),
                    Some(policy) => event.borrowed().for_user(policy),
                };
                if let (Some(writer), Some(event)) = (response, visible_event) {
                    writer.push(&event, text);
                }
            }
            _ => {}
        }
    }

    fn begin_response(&mut self, api: Api, number: usize) {
        let id = format!("{}{}_{number}", api.id_prefix(), self.created);
        let response = Response::new(id, &self.model, self.created);
        let mut writer = Writer::new(api, response).framing(self.framing);
        writer.start(&mut self.text);
        self.response = Some(Box::new(writer));
    }

    fn end_response(&mut self) {
        if let Some(writer) = self.response.take() {
            writer.finish(&Ending::default(), &mut self.text);
        }
    }

    fn flush(&mut self) {
        if self.failure.is_none() && !self.text.is_empty() {
            self.failure = self.target.write(self.text.as_bytes()).err();
        }
        self.text.clear();
    }

    /// Returns the reason why the server ended the last truncated completion.
    pub(super) fn cut_off(&self) -> Option<String> {
        self.cut_off.clone()
    }

    /// Records the calls that run first.
    pub(super) fn expect(&mut self, session: &Session) {
        if let Some(console_report) = &mut self.console_report {
            console_report.expect(session);
        }
    }

    /// Writes the end of the output after the last event.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if let Some(console_report) = self.console_report.take() {
            return console_report.finish();
        }
        self.end_response();
        self.end_user();
        self.flush();
        self.failure.map_or(Ok(()), Err)
    }
}
