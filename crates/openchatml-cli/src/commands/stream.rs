//! `stream`: a model's output as events, while it arrives.

use std::io::{self, Read as _};

use clap::{Args, ValueEnum};
use openchatml::{Event, Format, Mode, Policy, Severity, Stream};

use crate::args::{DenyArgs, PreambleArgs, ReaderArgs, text_format};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::output::Target;
use crate::report::Tally;

/// How much is read at once, if there is so much.
const CHUNK_BYTES: usize = 64 << 10;

/// Turn a model's output into events while it arrives
///
/// Reads raw output from standard input and writes one JSON object for each event as soon as that
/// is certain: message.start, response.delta, response.reasoning_text.delta,
/// response.tool_call.delta, response.delta.flush, message.done, response.done, diagnostic.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  my-model | ocml stream -f openchatml-2.2 --role assistant
  my-model | ocml stream -f openchatml-2.2 --role assistant --user --sse")]
pub(crate) struct StreamArgs {
    /// The format of the output; a text format
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(value_parser = text_format())]
    from: Format,
    /// Write server-sent events
    #[arg(long)]
    sse: bool,
    /// Write only what a user may see
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    preambles: PreambleArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    deny: DenyArgs,
}

/// Runs `stream`.
pub(crate) fn run(args: &StreamArgs, console: &Console) -> Result<Status, Failure> {
    let options = args.reader.options(Mode::Lenient);
    let stream = Stream::new(args.from, &options);
    let mut stream = stream.map_err(|error| Failure::Usage(error.to_string()))?;
    let mut events = Events {
        shape: if args.sse { Shape::Sse } else { Shape::Lines },
        policy: args.user.then(|| args.preambles.policy()),
        console,
        text: String::new(),
        tally: Tally::default(),
    };
    let mut target = Target::stdout();
    let mut stdin = io::stdin().lock();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match stdin.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| Failure::read("standard input", &error))?,
        };
        if read == 0 {
            break;
        }
        stream.feed(&chunk[..read], |event| events.add(&event));
        events.flush(&mut target)?;
    }
    stream.finish(|event| events.add(&event));
    events.flush(&mut target)?;
    Ok(events.tally.status(args.deny.deny_warnings))
}

/// How events are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    Lines,
    Sse,
}

/// Events that are not written yet.
struct Events<'a> {
    shape: Shape,
    /// What a user may see, if the events are for one.
    policy: Option<Policy>,
    console: &'a Console,
    text: String,
    tally: Tally,
}

impl Events<'_> {
    fn add(&mut self, event: &Event<'_>) {
        if let Event::Diagnostic { diagnostic, .. } = event {
            self.tally.count(diagnostic.severity);
            let is_told = self.policy.is_none();
            if !is_told && diagnostic.severity > Severity::Note {
                self.console.detail(&diagnostic.to_string());
            }
        }
        if self.policy.is_some_and(|policy| !event.is_for_user(policy)) {
            return;
        }
        match self.shape {
            Shape::Lines => {
                event.write_json(&mut self.text);
                self.text.push('\n');
            }
            Shape::Sse => {
                self.text.push_str("event: ");
                self.text.push_str(event.name());
                self.text.push_str("\ndata: ");
                event.write_json(&mut self.text);
                self.text.push_str("\n\n");
            }
        }
    }

    /// Writes the events, so that nobody waits for them.
    fn flush(&mut self, target: &mut Target) -> Result<(), Failure> {
        if !self.text.is_empty() {
            target.write(self.text.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }
}
