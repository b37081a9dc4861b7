//! `stream`: a model's output as events, while it arrives.

mod wire;

use std::error::Error;
use std::io::{self, Read as _};

use clap::Args;
use openchatml::wire::{Ending, Framing};
use openchatml::{Event, Format, Mode, Severity, Stream, UserEvents};

use self::wire::{WireArgs, Writer};

use crate::args::{DenyArgs, PreambleArgs, ReaderArgs, text_format};
use crate::console::Console;
use crate::encodings::{Encodings, O200K_HARMONY, Use};
use crate::failure::{Failure, Status};
use crate::output::Target;
use crate::report::{Tally, count};

/// How much is read at once, if there is so much.
const CHUNK_BYTES: usize = 64 << 10;

/// Turn a model's output into events while it arrives
///
/// Reads raw output from standard input and writes one JSON object for each event as soon as that
/// is certain: message.start, response.delta, response.reasoning_text.delta,
/// response.tool_call.delta, response.delta.flush, message.done, response.done, diagnostic.
///
/// `--events` writes the stream of the Responses API or the chunks of Chat Completions instead, as
/// clients of these read them. They have no reasoning then, unless `--reasoning raw` says so.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  my-model | ocml stream -f openchatml-2.2 --role assistant
  my-model | ocml stream -f openchatml-2.2 --role assistant --user --sse
  my-model --ids | ocml stream -f harmony --ids --role assistant
  my-model | ocml stream -f harmony --role assistant --events responses --sse
  my-model | ocml stream -f harmony --role assistant --events chat --sse --model gpt-oss-20b")]
pub(crate) struct StreamArgs {
    /// The format of the output; a text format
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(value_parser = text_format())]
    from: Format,
    /// Read token ids: numbers, with anything between them
    #[arg(long)]
    ids: bool,
    /// The encoding of the ids: o200k_harmony, or a file: a `tokenizer.json`, or a rank file of
    /// tiktoken
    #[arg(long, value_name = "NAME|FILE", default_value = O200K_HARMONY, requires = "ids")]
    encoding: String,
    /// Read control tokens that the encoding has no id for where ordinary text spells them
    #[arg(long, requires = "ids")]
    spell_control_tokens: bool,
    /// Write server-sent events
    #[arg(long)]
    sse: bool,
    /// Write only what a user may see
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    preambles: PreambleArgs,
    #[command(flatten)]
    wire: WireArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    deny: DenyArgs,
}

/// Runs `stream`.
pub(crate) fn run(args: &StreamArgs, console: &Console) -> Result<Status, Failure> {
    let options = args.reader.options(Mode::Lenient);
    let usage = |error: &dyn Error| Failure::Usage(error.to_string());
    let mut events = Events {
        writer: args.wire.writer(if args.sse { Framing::Sse } else { Framing::Lines })?,
        user: args.user.then(|| UserEvents::new(args.preambles.policy())),
        console,
        text: String::new(),
        tally: Tally::default(),
    };
    let mut target = Target::stdout();
    let mut count = 0;
    if args.ids {
        let encodings = Encodings::open(&args.encoding, args.spell_control_tokens, console)?;
        let tokenizer = encodings.tokenizer(args.from, Use::Reading)?;
        let mut stream = tokenizer.stream(&options);
        let mut numbers = Numbers::default();
        events.start(&mut target)?;
        each_chunk(|chunk| {
            let ids = numbers.of(chunk);
            count += ids.len();
            stream.feed(&ids, |event| events.add(&event));
            events.flush(&mut target)
        })?;
        let ids = numbers.last();
        count += ids.len();
        stream.feed(&ids, |event| events.add(&event));
        stream.finish(|event| events.add(&event));
    } else {
        let mut stream = Stream::new(args.from, &options).map_err(|error| usage(&error))?;
        events.start(&mut target)?;
        each_chunk(|chunk| {
            stream.feed(chunk, |event| events.add(&event));
            events.flush(&mut target)
        })?;
        stream.finish(|event| events.add(&event));
    }
    let tally = events.finish(&args.wire.ending(count), &mut target)?;
    Ok(tally.status(args.deny.deny_warnings))
}

/// Takes what arrives on standard input, as soon as it does.
fn each_chunk(mut take: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut stdin = io::stdin().lock();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match stdin.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| Failure::read("standard input", &error))?,
        };
        if read == 0 {
            return Ok(());
        }
        take(&chunk[..read])?;
    }
}

/// Numbers that arrive digit by digit.
#[derive(Debug, Default)]
struct Numbers {
    /// What has arrived of a number.
    digits: Option<u32>,
}

impl Numbers {
    /// The numbers that are whole. One that no id can be is the largest that one can be.
    fn of(&mut self, chunk: &[u8]) -> Vec<u32> {
        let mut numbers = Vec::new();
        for byte in chunk {
            match byte {
                b'0'..=b'9' => {
                    let digits = self.digits.unwrap_or(0).saturating_mul(10);
                    self.digits = Some(digits.saturating_add(u32::from(byte - b'0')));
                }
                _ => numbers.extend(self.digits.take()),
            }
        }
        numbers
    }

    /// The number that nothing follows.
    fn last(&mut self) -> Vec<u32> {
        self.digits.take().into_iter().collect()
    }
}

/// Events that are not written yet.
struct Events<'a> {
    writer: Writer,
    /// What a user may be told, if the events are for one.
    user: Option<UserEvents>,
    console: &'a Console,
    text: String,
    tally: Tally,
}

impl Events<'_> {
    /// Writes what stands before the first event.
    fn start(&mut self, target: &mut Target) -> Result<(), Failure> {
        self.writer.start(&mut self.text);
        self.flush(target)
    }

    fn add(&mut self, event: &Event<'_>) {
        if let Event::Diagnostic { diagnostic, .. } = event {
            self.tally.count(diagnostic.severity);
            let is_told = self.user.is_none() && self.writer.tells_findings();
            if !is_told && diagnostic.severity > Severity::Note {
                self.console.detail(&diagnostic.to_string());
            }
        }
        let Self { writer, text, user, .. } = self;
        match user {
            None => writer.push(event, text),
            Some(user) => {
                user.push(*event, |event| writer.push(&event, text));
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

    /// Writes what stands after the last event. What was found.
    fn finish(mut self, ending: &Ending, target: &mut Target) -> Result<Tally, Failure> {
        if let Some(event) = self.user.take().and_then(UserEvents::finish) {
            self.writer.push(&event, &mut self.text);
        }
        let left_out = self.writer.finish(ending, &mut self.text);
        if !self.text.is_empty() {
            target.write(self.text.as_bytes())?;
        }
        if left_out > 0 {
            let messages = count(left_out, "message");
            let text = format!("what is no output of the model for a client dropped ({messages})");
            self.console.loss(&text);
        }
        Ok(self.tally)
    }
}
