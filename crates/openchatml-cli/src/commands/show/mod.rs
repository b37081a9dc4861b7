//! `show`: shows the messages that a user may see.

mod out;

use std::path::PathBuf;

use clap::Args;
use openchatml::{
    Code, Conversation, Diagnostic, Document, End, Format, Message, Mode, Parsed, Policy,
    Visibility, lint,
};
use serde::de::IgnoredAny;

use self::out::{OutputTarget, body};
use crate::args::{JsonlArgs, PreambleArgs, ReadArgs, ResponseArgs, Verbosity};
use crate::console::{Console, error_line, finding_line, warning_line};
use crate::failure::{Failure, Status};
use crate::input::{Decoded, Input, Origin, Page, Slot, Unreadable, format_of, is_json};
use crate::jsonl::{Entry, LineReader};
use crate::output::Target;
use crate::reader::Reader;
use crate::report::{Style, Tally, count};

/// Show the part of a conversation that a user can see
///
/// Shows the messages of the user, and the answers and preambles of the assistant. Everything else
/// is hidden: reasoning, tool calls and replies, and messages of the system and the developer.
/// Diagnostics are also hidden, because they can quote hidden text; --verbose and --debug show
/// them.
///
/// The exit status is 1 if there is nothing to show or the answer is incomplete. Other errors
/// change it only with --verbose and --debug, because it would reveal something about hidden text.
/// Use `ocml check` to find all errors.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml show chat.txt
  ocml show --message 3 chat.txt
  ocml show --debug chat.txt")]
pub(crate) struct ShowArgs {
    /// File to read (`-` or none: standard input)
    file: Option<PathBuf>,
    /// Also show hidden messages, marked as hidden
    #[arg(long)]
    debug: bool,
    /// Show only the text of this message; counted from 0, including hidden messages
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number)]
    message: Option<usize>,
    #[command(flatten)]
    preambles: PreambleArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    response: ResponseArgs,
    #[command(flatten)]
    jsonl: JsonlArgs,
}

/// Parses the number of a message.
fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write the number of a message: 0 is the first one".to_owned())
}

/// Runs `show`.
pub(crate) fn run(mut args: ShowArgs, console: &Console) -> Result<Status, Failure> {
    args.response.apply(&mut args.read);
    let origin = args.file.as_deref().map_or(Origin::Stdin, Origin::of);
    let mut target = Target::stdout();
    let show = Show {
        reader: Reader::new(&args.read, Mode::Lenient, console)?
            .with_response(&args.response, console)?,
        policy: args.preambles.policy(),
        audience: if args.debug { Audience::Debug } else { Audience::User },
        message: args.message,
        tells_findings: args.debug || console.verbosity() == Verbosity::Verbose,
        place: OutputTarget::of(&target, console),
    };
    if show.reader.options().mode == Mode::Strict && !show.tells_findings {
        let text = "the result of --strict can depend on hidden text: add --debug or --verbose, or use `ocml check`";
        return Err(Failure::Usage(text.to_owned()));
    }
    let name = origin.name();
    let most = args.read.reader.bounds().input_bytes;
    let bytes = match origin.input(args.read.from, args.jsonl.jsonl, most, console)? {
        Input::Lines(opened) => {
            let feed = LineReader::open(name, opened, args.read.from, most, &args.jsonl, console)?;
            let Some(feed) = feed else { return Ok(Status::Fine) };
            return show.lines(feed, &mut target, console);
        }
        Input::Document(bytes) => bytes,
    };
    let decoded = Decoded::new(&bytes, 0);
    let page = Page::new(&name, &decoded, 1);
    let shown = match format_of(args.read.from, &decoded, &name, console) {
        Ok(format) => {
            let slot = Slot::whole(page.text);
            show.document(&page, Some(&slot), decoded.found.clone(), format)
        }
        Err(Unreadable::NoText(found)) => show.nothing(&page, found),
        Err(Unreadable::NoFormat(failure)) => return Err(failure),
    };
    console.print(&shown.report);
    target.write(shown.text.as_bytes())?;
    Ok(shown.status)
}

/// What is shown says this already.
const REASONS: &str = "an answer contains tags of reasoning, such as `<think>`: for JSON, --split-reasoning separates it; read text in the format of the model, such as `-f qwen3`";

const HAS_ERRORS: &str = "the document has errors: run `ocml check` to see them";

/// How to show conversations.
#[derive(Clone, Debug)]
struct Show {
    reader: Reader,
    policy: Policy,
    audience: Audience,
    /// The index of the only message to show.
    message: Option<usize>,
    /// Whether diagnostics are printed. They may depend on hidden text.
    tells_findings: bool,
    place: OutputTarget,
}

/// The audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    User,
    Debug,
}

/// The output for some documents.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    report: String,
    status: Status,
}

impl Show {
    /// Shows each line of a file.
    fn lines(
        self,
        feed: LineReader,
        target: &mut Target,
        console: &Console,
    ) -> Result<Status, Failure> {
        let mut status = Status::Fine;
        feed.run(
            console,
            move |entry: &Entry<'_>, lines: &mut Shown| {
                let Entry { page, found, slot, format, .. } = entry;
                let shown = self.document(page, slot.as_ref(), found.clone(), *format);
                lines.text.push_str(&format!(
                    "--- line {} ---\n{}\n",
                    page.first_line(),
                    shown.text
                ));
                lines.report.push_str(&shown.report);
                lines.status = lines.status.max(shown.status);
            },
            |_, _| {},
            |lines| {
                status = status.max(lines.status);
                console.print(&lines.report);
                target.write(lines.text.as_bytes())
            },
        )?;
        Ok(status)
    }

    /// Shows a document whose diagnostics `found` are already known.
    fn document(
        &self,
        page: &Page<'_>,
        slot: Option<&Slot<'_>>,
        mut found: Vec<Diagnostic>,
        format: Format,
    ) -> Shown {
        let Some(slot) = slot else { return self.nothing(page, &found) };
        let parsed = self.reader.parse(&slot.text, format);
        let is_cut_off = self.is_cut_off(&parsed);
        let document = parsed.document;
        for mut diagnostic in parsed.diagnostics {
            slot.place(&mut diagnostic);
            found.push(diagnostic);
        }
        let has_errors = Tally::of(&found).errors > 0;
        // The output for a user depends on the structure of the document, never on hidden text.
        if !self.tells_findings {
            if has_errors && is_empty(&document) {
                return self.nothing(page, &found);
            }
            let mut shown = Shown::default();
            let depth = self.reader.options().limits.json_depth;
            if has_errors && !is_whole(&slot.text, format, depth) {
                let text = "part of this cannot be read: run `ocml check` to see why";
                shown.report = error_line(text);
                shown.status = Status::Found;
            }
            if is_cut_off {
                shown.report.push_str(&warning_line(Code::StreamTruncated.user_summary()));
                shown.status = Status::Found;
            }
            self.conversations(&document, &mut shown);
            return shown;
        }
        let mut shown = Shown { report: self.diagnostics_text(page, &found), ..Shown::default() };
        if has_errors {
            shown.status = Status::Found;
            if self.reader.options().mode == Mode::Strict {
                shown.report.push_str(&error_line(HAS_ERRORS));
                return shown;
            }
        }
        self.conversations(&document, &mut shown);
        shown
    }

    /// Whether the last message has no end, or a visible one exceeds a limit. A stream reports the same
    /// to users. Text after the stop token of a completion does not count.
    fn is_cut_off(&self, parsed: &Parsed<'_>) -> bool {
        let document = &parsed.document;
        let is_visible =
            |message: &Message<'_>| self.policy.visibility(message) == Visibility::User;
        let mut limits = parsed.diagnostics.iter().filter(|found| found.code == Code::Limit);
        let is_limited = limits.any(|found| {
            let place = found.span.start;
            document.conversations().iter().any(|conversation| {
                let mut messages = conversation.messages.iter();
                messages.any(|it| is_visible(it) && it.span.start < place && place < it.span.end)
            })
        });
        let is_open = |message: &Message<'_>| matches!(message.end, End::Open | End::Prompt);
        let conversations = document.conversations();
        let is_own = |message: &&Message<'_>| !message.foreign;
        let mut last = conversations.iter().filter_map(|it| it.messages.iter().rfind(is_own));
        is_limited || !self.reader.options().open_prompt && last.any(is_open)
    }

    /// Explains why there is nothing to show.
    fn nothing(&self, page: &Page<'_>, found: &[Diagnostic]) -> Shown {
        let mut report = self.diagnostics_text(page, found);
        report.push_str(&error_line("this cannot be read: run `ocml check` to see why"));
        Shown { text: String::new(), report, status: Status::Found }
    }

    /// Prints diagnostics if the user requested them, because they may quote hidden text.
    fn diagnostics_text(&self, page: &Page<'_>, found: &[Diagnostic]) -> String {
        let mut report = String::new();
        if self.tells_findings {
            found.iter().for_each(|found| Style::Text.write(page, found, &mut report));
        }
        report
    }

    /// Whether a text that a user sees contains tags of reasoning.
    fn shows_reasoning(&self, document: &Document<'_>) -> bool {
        let conversations = document.conversations();
        let messages = conversations.iter().flat_map(|it| &it.messages);
        let is_visible = |it: &&Message<'_>| self.policy.visibility(it) == Visibility::User;
        let visible = Conversation::from_messages(messages.filter(is_visible).cloned());
        !lint::check(&visible.into(), &[Code::VisibleReasoning]).is_empty()
    }

    fn conversations(&self, document: &Document<'_>, shown: &mut Shown) {
        let conversations = document.conversations();
        if conversations.is_empty() {
            shown.report.push_str(&warning_line("the document contains no conversation"));
        }
        if self.shows_reasoning(document) {
            shown.report.push_str(&warning_line(REASONS));
        }
        let names = match document {
            Document::Pair(pair) if self.message.is_none() => Some(pair.sides().map(|side| side.0)),
            _ => None,
        };
        let mut names = names.into_iter().flatten();
        let mut shows_none = true;
        for conversation in &conversations {
            if let Some(name) = names.next() {
                self.place.heading(name, &mut shown.text);
            }
            let length = shown.text.len();
            match (self.message, self.audience) {
                (Some(index), _) => return self.message(conversation, index, shown),
                (None, Audience::Debug) => {
                    for message in self.policy.debug_view(conversation) {
                        self.place.debug(message, &mut shown.text);
                    }
                }
                (None, Audience::User) => {
                    for message in self.policy.view(conversation).messages() {
                        self.place.user(message, &mut shown.text);
                    }
                }
            }
            shows_none &= shown.text.len() == length;
        }
        if shows_none && conversations.iter().any(|it| !it.messages.is_empty()) {
            let text = "no message is visible: run `ocml show --debug`, which shows calls and reasoning, too, or `ocml check`";
            shown.report.push_str(&warning_line(text));
            shown.status = Status::Found;
        }
    }

    /// Shows the text of one message.
    fn message(&self, conversation: &Conversation<'_>, index: usize, shown: &mut Shown) {
        let all = &conversation.messages;
        let refusal = match self.audience {
            Audience::Debug => match all.get(index) {
                Some(message) => return self.place.text(&body(message), &mut shown.text),
                None => {
                    let messages = count(all.len(), "message");
                    let text = format!(
                        "there is no message {index}: the conversation has {messages}, numbered from 0"
                    );
                    error_line(&text)
                }
            },
            Audience::User => {
                // The number of all messages may depend on hidden text.
                match self.policy.view(conversation).message(index) {
                    Ok(message) => return self.place.text(message.text(), &mut shown.text),
                    Err(refused) => {
                        let help = refused.help.as_deref().unwrap_or_default();
                        format!("{}  = help: {help}\n", finding_line(&refused))
                    }
                }
            }
        };
        shown.report.push_str(&refusal);
        shown.status = Status::Found;
    }
}

/// Whether a conversation has no text.
fn is_empty(document: &Document<'_>) -> bool {
    document.as_conversation().is_some_and(|conversation| conversation.messages.is_empty())
}

/// Whether a text in a JSON format is JSON with at most this depth. Control characters in strings
/// are an error that ends nothing.
fn is_whole(text: &str, format: Format, most: usize) -> bool {
    if !is_json(format) {
        return true;
    }
    let (mut in_string, mut escaped) = (false, false);
    let (mut depth, mut deepest) = (0_usize, 0);
    let mended: String = text
        .chars()
        .map(|c| match c {
            _ if std::mem::take(&mut escaped) => c,
            '\\' if in_string => {
                escaped = true;
                c
            }
            '"' => {
                in_string = !in_string;
                c
            }
            _ if in_string => {
                if c.is_ascii_control() {
                    ' '
                } else {
                    c
                }
            }
            '{' | '[' => {
                depth += 1;
                deepest = deepest.max(depth);
                c
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                c
            }
            _ => c,
        })
        .collect();
    deepest <= most && serde_json::from_str::<IgnoredAny>(&mended).is_ok()
}

#[cfg(test)]
mod tests {
    use openchatml::RenderOptions;
    use openchatml::convert::convert;
    use openchatml_testkit::grammar::{self, GeneratorOptions, Sample};
    use openchatml_testkit::{Source, cases, one_in, pick, secrets};

    use super::*;
    use crate::args::ConsoleArgs;
    use crate::commands::{Cli, Command};

    /// What `ocml show` says of a text, and how it ends.
    fn shown(text: &str, format: &str, message: Option<usize>) -> (String, String, Status) {
        let args = match <Cli as clap::Parser>::parse_from(["ocml", "show", "-f", format]).command {
            Command::Show(args) => args,
            _ => unreachable!("it is `show`"),
        };
        let console = Console::new(&ConsoleArgs::default());
        let show = Show {
            reader: Reader::new(&args.read, Mode::Lenient, &console).expect("no encoding"),
            policy: args.preambles.policy(),
            audience: Audience::User,
            message,
            tells_findings: false,
            place: OutputTarget::of(&Target::stdout(), &console),
        };
        let decoded = Decoded::new(text.as_bytes(), 0);
        let page = Page::new("a", &decoded, 1);
        let format = match format_of(args.read.from, &decoded, "a", &console) {
            Ok(format) => format,
            Err(Unreadable::NoFormat(failure)) => {
                return (String::new(), failure.to_string(), Status::Found);
            }
            Err(Unreadable::NoText(_)) => unreachable!("it is text"),
        };
        let Shown { text, report, status } =
            show.document(&page, Some(&Slot::whole(page.text)), Vec::new(), format);
        (text, report, status)
    }

    /// The texts, perhaps cut off at the same place of what they end in.
    fn cut(source: &mut Source<'_>, pair: [Sample; 2]) -> [String; 2] {
        let format = pair[0].format;
        let texts = pair.map(|sample| sample.text);
        let [one, two] = texts.each_ref().map(|text| text.bytes().rev());
        let common = one.zip(two).take_while(|(one, two)| one == two).count();
        // A reply of a tool that is cut off may seem to end earlier in Apertus, which has no escape.
        let is_cut = common > 0 && format != "apertus" && one_in(source, 2);
        let dropped = if is_cut { source.int_in_range(1..=common).unwrap_or(1) } else { 0 };
        texts.map(|text| text[..text.floor_char_boundary(text.len() - dropped)].to_owned())
    }

    #[track_caller]
    fn look_alike(texts: &[String; 2], format: &str, message: Option<usize>) {
        let outputs = texts.each_ref().map(|text| shown(text, format, message));
        assert_eq!(outputs[0], outputs[1], "{format}: {:?}\n{:?}", texts[0], texts[1]);
    }

    fn index(source: &mut Source<'_>) -> Option<usize> {
        one_in(source, 4).then(|| source.int_in_range(0..=6).unwrap_or(0))
    }

    #[test]
    fn output_does_not_depend_on_hidden_text_of_grammatical_documents() {
        let formats: Vec<_> = grammar::formats().collect();
        cases(5_000, |source| {
            let mut knobs = GeneratorOptions::well_formed(source);
            let message = index(source);
            // Text that spells the control tokens of another format is evidence for that one.
            let is_auto = one_in(source, 4);
            knobs.hostile &= !is_auto;
            let dice: [u8; 8] = source.arbitrary().unwrap_or_default();
            let pair = Sample::pair(source, &formats, knobs);
            let format = if is_auto { "auto" } else { pair[0].format };
            look_alike(&cut(&mut Source::new(&dice), pair), format, message);
        });
    }

    #[test]
    fn output_does_not_depend_on_hidden_text() {
        let formats: Vec<_> = Format::all().collect();
        cases(5_000, |source| {
            let format = pick(source, &formats);
            let message = index(source);
            let one = secrets::anything(source).into();
            let two = secrets::with_other_secrets(source, &one);
            let documents = [one, two];
            let text = |document: &Document<'_>| match (format == Format::JSON, document) {
                (true, Document::Conversation(conversation)) => {
                    Some(secrets::segments_json(conversation, format))
                }
                _ => Some(convert(document, format, &RenderOptions::default()).ok()?.output),
            };
            if let [Some(one), Some(two)] = documents.each_ref().map(text) {
                look_alike(&[one, two], &format.to_string(), message);
            }
        });
    }
}
