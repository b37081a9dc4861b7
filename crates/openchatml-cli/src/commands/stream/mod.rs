//! `stream`: converts the output of a model to events while it arrives.

mod opening;
mod wire;

use std::io::{self, Read as _};

use clap::Args;
use openchatml::wire::{Ending, Framing};
use openchatml::{
    Diagnostic, Event, Mode, ReadOptions, Recognized, Recover, Role, Severity, TextFormat,
    UserEvents, recognize,
};
use openchatml_templates::ResponseStream;

use self::opening::{Ids, TextStream, Texts};
use self::wire::{WireArgs, Writer};

use crate::args::{DenyArgs, O200K_HARMONY, PreambleArgs, ReaderArgs, ResponseArgs, text_format};
use crate::console::Console;
use crate::encodings::{Encodings, Use};
use crate::failure::{Failure, Status};
use crate::model::response_template;
use crate::output::Target;
use crate::report::{Tally, count};
use crate::tools;

/// The maximum number of errors, and of warnings, that are reported beside events that contain none.
const MOST_TOLD: usize = 10;

/// The maximum number of bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;

/// Convert the output of a model to events while it arrives
///
/// Reads raw output from standard input and writes each event as a JSON object as soon as it is
/// certain: message.start, response.delta, response.reasoning_text.delta, response.tool_call.delta,
/// response.delta.flush, message.done, response.done, diagnostic.
///
/// `--events` writes the stream of the Responses API, the chunks of Chat Completions or the stream of
/// the Messages API instead. These contain no reasoning without `--reasoning raw`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  my-model | ocml stream -f openchatml-2.2 --role assistant
  my-model | ocml stream -f openchatml-2.2 --role assistant --user --sse
  my-model --ids | ocml stream -f harmony --ids --role assistant
  my-model | ocml stream -f harmony --role assistant --events responses --sse
  my-model | ocml stream -f harmony --role assistant --events chat --sse --model gpt-oss-20b
  my-model | ocml stream -f qwen3 --role assistant --events anthropic --sse --reasoning raw")]
pub(crate) struct StreamArgs {
    /// The text format of the model's output
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(value_parser = text_format(), required_unless_present = "response_template")]
    from: Option<TextFormat>,
    #[command(flatten)]
    response: ResponseArgs,
    /// Read token ids: whole numbers, separated by white space, commas or brackets
    #[arg(long, conflicts_with = "response_template")]
    ids: bool,
    /// The encoding of the ids: o200k_harmony, or a file (a `tokenizer.json`, or a tiktoken rank
    /// file)
    #[arg(long, value_name = "NAME|FILE", default_value = O200K_HARMONY, requires = "ids")]
    encoding: String,
    /// Read control tokens without an id in the encoding from ordinary text
    #[arg(long, requires = "ids")]
    spell_control_tokens: bool,
    /// Write server-sent events
    #[arg(long)]
    sse: bool,
    /// Write only what a user can see
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

/// Runs `stream`, for a model of this name.
pub(crate) fn run(
    mut args: StreamArgs,
    model: Option<String>,
    console: &Console,
) -> Result<Status, Failure> {
    args.wire.model = model;
    let args = &args;
    let from = args.from.unwrap_or(ResponseArgs::FORMAT);
    args.reader.limits_parts()?;
    args.reader.check_reasoning(Some(from.into()))?;
    let mut options = args.reader.options(Mode::Lenient);
    options.tools = tools::of_input(&args.reader, console)?;
    let response = args.response.response_template.as_deref();
    let response = response.map(|path| response_template(path, console)).transpose()?;
    if response.is_some() {
        options.continues = Some(Role::Assistant);
    }
    if options.mode == Mode::Strict && args.user {
        let text = "the result of --strict can depend on hidden text: remove --strict or --user";
        return Err(Failure::Usage(text.to_owned()));
    }
    if options.recover == Recover::Stripped {
        let text = "--recover stripped needs the whole text: use `ocml parse` or `convert`";
        return Err(Failure::Usage(text.to_owned()));
    }
    if options.repair.is_some() {
        let text = "--repair needs the whole text: use `ocml parse` or `convert`";
        return Err(Failure::Usage(text.to_owned()));
    }
    let framing = if args.sse { Framing::Sse } else { Framing::Lines };
    let mut events = Events {
        writer: args.wire.writer(framing, &options.limits)?,
        user: args.user.then(|| UserEvents::new(args.preambles.policy())),
        console,
        text: String::new(),
        tally: Tally::default(),
        has_messages: false,
        continues: options.continues.is_some(),
        shows: false,
        withdraws: false,
        outside: None,
        unframed: None,
    };
    let mut target = Target::stdout();
    if args.ids {
        let (count, failure) = read_ids(args, from, options, &mut events, &mut target)?;
        let status = events.finish(&args.wire.ending(count), args.deny, &mut target)?;
        return failure.map_or(Ok(status), Err);
    }
    let in_reasoning = options.in_reasoning;
    let stream = match &response {
        Some(template) => TextStream::Response(ResponseStream::new(template, None, &options)),
        None => TextStream::Format(Texts::new(from, options)),
    };
    let is_unframed = read_text(from, stream, &mut events, &mut target)?;
    // Reasoning that is cut off has no control token.
    let is_unframed = is_unframed && !in_reasoning && response.is_none();
    events.unframed = is_unframed.then_some(from);
    events.finish(&args.wire.ending(0), args.deny, &mut target)
}

/// Reads ids from standard input. Returns how many they are, and why they end early.
fn read_ids(
    args: &StreamArgs,
    format: TextFormat,
    options: ReadOptions,
    events: &mut Events<'_>,
    target: &mut Target,
) -> Result<(usize, Option<Failure>), Failure> {
    let encodings = Encodings::open(&args.encoding, args.spell_control_tokens, events.console)?;
    let tokenizer = encodings.tokenizer(format, Use::Reading)?;
    let mut stream = Ids::new(&tokenizer, options);
    let mut numbers = Numbers::default();
    let mut count = 0;
    events.start(target)?;
    let read = each_chunk(|chunk| {
        let (ids, wrong) = numbers.of(chunk);
        count += ids.len();
        stream.feed(&ids, |event| events.add(event));
        events.flush(target)?;
        wrong.map_or(Ok(()), Err)
    });
    let (ids, wrong) = numbers.last();
    count += ids.len();
    stream.feed(&ids, |event| events.add(event));
    let stream = stream.opened(|event| events.add(event));
    let failure = read.err().or(wrong);
    match failure {
        None => stream.finish_with(|event| events.add(event)),
        Some(_) => stream.cancel_with(|event| events.add(event)),
    }
    Ok((count, failure))
}

/// Reads text from standard input. Returns whether it has no control tokens of the format, if this
/// matters for the events.
fn read_text(
    format: TextFormat,
    mut stream: TextStream,
    events: &mut Events<'_>,
    target: &mut Target,
) -> Result<bool, Failure> {
    let mut mark = ByteOrderMark::default();
    let mut unframed = Unframed::default();
    events.start(target)?;
    each_chunk(|chunk| {
        for part in mark.parts_after(chunk) {
            if events.user.is_some() {
                unframed.look(part, format);
            }
            stream.feed(part, |event| events.add(event));
        }
        events.flush(target)
    })?;
    stream.feed(mark.rest(), |event| events.add(event));
    stream.finish(|event| events.add(event));
    Ok(unframed.is_all())
}

/// Reads standard input as soon as data arrives.
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

/// Removes the byte order mark at the beginning of a text, as for files.
#[derive(Debug, Default)]
struct ByteOrderMark {
    /// The number of bytes of the mark that have arrived.
    seen: usize,
    is_over: bool,
}

impl ByteOrderMark {
    const BYTES: &'static [u8] = b"\xEF\xBB\xBF";

    /// Returns the text of a chunk: bytes that were held back but are not a mark, and the rest.
    fn parts_after<'c>(&mut self, chunk: &'c [u8]) -> [&'c [u8]; 2] {
        let wanted = &Self::BYTES[self.seen..];
        if self.is_over || wanted.is_empty() {
            self.is_over = true;
            return [b"", chunk];
        }
        let len = wanted.iter().zip(chunk).take_while(|(one, two)| one == two).count();
        if len == wanted.len() {
            self.is_over = true;
            return [b"", &chunk[len..]];
        }
        if len == chunk.len() {
            self.seen += len;
            return [b"", b""];
        }
        self.is_over = true;
        [&Self::BYTES[..self.seen], chunk]
    }

    /// Returns the incomplete mark at the end of the input.
    fn rest(&self) -> &'static [u8] {
        if self.is_over { b"" } else { &Self::BYTES[..self.seen] }
    }
}

/// Finds out whether a text has no control tokens.
#[derive(Debug, Default)]
struct Unframed {
    /// The end of the text so far, in which a token can begin.
    end: Vec<u8>,
    has_text: bool,
    has_token: bool,
}

impl Unframed {
    /// More bytes than a control token has.
    const LONGEST: usize = 64;

    fn look(&mut self, part: &[u8], format: TextFormat) {
        if self.has_token {
            return;
        }
        self.has_text |= !part.trim_ascii().is_empty();
        self.end.extend_from_slice(part);
        let text = String::from_utf8_lossy(&self.end);
        self.has_token = format.controls().find(&text).is_some();
        self.end.drain(..self.end.len().saturating_sub(Self::LONGEST));
    }

    /// Whether there is text, and all of it is without tokens.
    fn is_all(&self) -> bool {
        self.has_text && !self.has_token
    }
}

/// Parses numbers that arrive in pieces.
#[derive(Debug, Default)]
struct Numbers {
    /// The current word: digits, as long as it may be a number.
    word: String,
    /// The number of bytes before it.
    at: usize,
}

impl Numbers {
    /// The maximum number of digits.
    const LONGEST: usize = 20;

    /// Returns the complete numbers up to the first word that is not a number.
    fn of(&mut self, chunk: &[u8]) -> (Vec<u32>, Option<Failure>) {
        let mut numbers = Vec::new();
        for byte in chunk {
            self.at += 1;
            match byte {
                b'0'..=b'9' if self.word.len() < Self::LONGEST => self.word.push(*byte as char),
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' => match self.take() {
                    Ok(number) => numbers.extend(number),
                    Err(failure) => return (numbers, Some(failure)),
                },
                _ => {
                    self.word.push(char::from(*byte));
                    return (numbers, self.take().err());
                }
            }
        }
        (numbers, None)
    }

    /// Returns the number at the end of the input.
    fn last(&mut self) -> (Vec<u32>, Option<Failure>) {
        match self.take() {
            Ok(number) => (number.into_iter().collect(), None),
            Err(failure) => (Vec::new(), Some(failure)),
        }
    }

    fn take(&mut self) -> Result<Option<u32>, Failure> {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return Ok(None);
        }
        word.parse().map(Some).map_err(|_| {
            let text = format!("`{word}`, up to byte {}, is not a token id", self.at);
            Failure::Refused(text)
        })
    }
}

/// Events that have not been written yet.
struct Events<'a> {
    writer: Writer,
    /// The visible part, if the events are for a user.
    user: Option<UserEvents>,
    console: &'a Console,
    text: String,
    tally: Tally,
    /// Whether a message was read that is not text outside of messages.
    has_messages: bool,
    /// Whether the input continues a message.
    continues: bool,
    /// Whether a message was written for the user.
    shows: bool,
    /// Whether a message that was written for the user is hidden, as its end showed.
    withdraws: bool,
    /// What the text outside of messages is, if it is recognized.
    outside: Option<Recognized>,
    /// The format, if its control tokens are nowhere in the input.
    unframed: Option<TextFormat>,
}

impl Events<'_> {
    /// Writes the beginning of the output.
    fn start(&mut self, target: &mut Target) -> Result<(), Failure> {
        self.writer.start(&mut self.text);
        self.flush(target)
    }

    fn add(&mut self, event: Event<'_>) {
        if let Event::Diagnostic { diagnostic, .. } = &event {
            self.tally.count(diagnostic.severity);
            let is_told = self.user.is_none() && self.writer.tells_findings();
            // These events contain no diagnostics, which are not for users either.
            if !is_told && self.user.is_some() && diagnostic.severity > Severity::Note {
                self.console.detail(&diagnostic.to_string());
            } else if !is_told && self.user.is_none() {
                let Diagnostic { code, message, span, .. } = &**diagnostic;
                let text = format!("{message} ({code}, at byte {})", span.start);
                match diagnostic.severity {
                    Severity::Error if self.tally.errors <= MOST_TOLD => self.console.error(&text),
                    Severity::Warning if self.tally.warnings <= MOST_TOLD => {
                        self.console.warning(&text);
                    }
                    _ => self.console.detail(&diagnostic.to_string()),
                }
            }
        }
        if let Event::MessageDone { message, .. } = &event {
            self.has_messages |= !message.recovered;
            if !self.has_messages && self.outside.is_none() {
                self.outside = recognize([&*message.body.text()]);
            }
        }
        let Self { writer, text, user, .. } = self;
        let visible_event = match user {
            None => Some(event),
            Some(user) => user.push(event),
        };
        if let Some(event) = visible_event {
            self.shows |= matches!(event, Event::MessageStart { .. });
            self.withdraws |= matches!(event, Event::UserDiagnostic { .. });
            writer.push(&event, text);
        }
    }

    /// Writes the events immediately.
    fn flush(&mut self, target: &mut Target) -> Result<(), Failure> {
        if !self.text.is_empty() {
            target.write(self.text.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }

    /// Writes the end of the output. For a user, the exit status depends only on visible output,
    /// because other diagnostics may depend on hidden text.
    fn finish(
        mut self,
        ending: &Ending,
        deny: DenyArgs,
        target: &mut Target,
    ) -> Result<Status, Failure> {
        let mut status = self.tally.status(deny.deny_warnings);
        // For a user, this could depend on hidden text.
        if !self.has_messages && self.tally.errors > 0 && self.user.is_none() {
            if let Some(Recognized { name, help, .. }) = &self.outside {
                let text = format!("the input contains no message, but looks like {name}: {help}");
                self.console.error(&text);
            } else if !self.continues {
                self.console.error(
                    "the input contains no message; if it is a completion, use --role assistant",
                );
            }
        }
        if let Some(user) = self.user.take() {
            let cut_off = user.finish();
            status = if cut_off.is_some() { Status::Found } else { Status::Fine };
            if self.withdraws {
                self.console.error("a text that was written is not for a user, as its end showed");
                status = Status::Found;
            }
            // This says no more than the output does.
            if !self.shows && self.unframed.is_none() && !self.continues {
                self.console.warning(
                    "a user sees nothing of the input; if it is a completion, use --role assistant",
                );
            }
            // Without control tokens, there is no text that a token hides.
            if let Some(format) = self.unframed.filter(|_| !self.shows) {
                let text = format!(
                    "the input contains no control tokens of `{format}`, so a user sees nothing of it; if the server removes them, let it keep them (`skip_special_tokens=False`)"
                );
                self.console.error(&text);
                status = Status::Found;
            }
            if let Some(event) = cut_off {
                self.writer.push(&event, &mut self.text);
            }
        }
        if self.writer.has_uncertain_call() {
            self.console.error("a call is incomplete or uncertain, and must not be run");
            status = Status::Found;
        }
        let left_out = self.writer.finish(ending, &mut self.text);
        if !self.text.is_empty() {
            target.write(self.text.as_bytes())?;
        }
        if left_out > 0 {
            let messages = count(left_out, "message");
            let text = format!(
                "{messages} dropped: not output of the model, calls inside of reasoning, or without a counterpart in these events"
            );
            self.console.loss(&text);
        }
        Ok(status)
    }
}
