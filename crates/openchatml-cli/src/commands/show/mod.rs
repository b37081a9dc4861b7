//! `show`: what a user may see.

mod out;

use std::path::PathBuf;

use clap::Args;
use openchatml::{Code, Content, Conversation, Diagnostic, Document, Format, Mode, Policy};

use self::out::{Place, body};
use crate::args::{JsonlArgs, PreambleArgs, ReadArgs, Verbosity};
use crate::console::{Console, error_line, finding_line, warning_line};
use crate::failure::{Failure, Status};
use crate::input::{Decoded, Input, Origin, Page, Slot, Unreadable, format_of};
use crate::jsonl::{Entry, Feed};
use crate::output::Target;
use crate::reader::Reader;
use crate::report::{Style, Tally};

/// Show what a user may see of a conversation
///
/// That is what the user said, the answers, and the preambles of the assistant. Everything else
/// is hidden: reasoning, calls and replies of tools, what the system and the developer say. So
/// are diagnostics, which may quote it: --verbose and --debug show them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml show chat.txt
  ocml show --message 3 chat.txt
  ocml show --debug chat.txt")]
pub(crate) struct ShowArgs {
    /// The file; standard input if it is `-` or not given
    file: Option<PathBuf>,
    /// Show hidden messages, too, marked as such
    #[arg(long)]
    debug: bool,
    /// Show one message only, its text and nothing else; counted from 0, hidden ones included
    #[arg(long, value_name = "N")]
    message: Option<usize>,
    #[command(flatten)]
    preambles: PreambleArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    jsonl: JsonlArgs,
}

/// Runs `show`.
pub(crate) fn run(args: &ShowArgs, console: &Console) -> Result<Status, Failure> {
    let origin = args.file.as_deref().map_or(Origin::Stdin, Origin::of);
    let mut target = Target::stdout();
    let show = Show {
        reader: Reader::new(&args.read, Mode::Lenient, console)?,
        policy: args.preambles.policy(),
        eyes: if args.debug { Eyes::Debug } else { Eyes::User },
        message: args.message,
        verbosity: console.verbosity(),
        place: Place::of(&target, console),
    };
    let name = origin.name();
    let most = args.read.reader.bounds().input_bytes;
    let bytes = match origin.input(args.read.from, args.jsonl.jsonl, most, console)? {
        Input::Lines(opened) => {
            let feed = Feed::open(name, opened, args.read.from, most, &args.jsonl, console)?;
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

const HAS_ERRORS: &str = "there are errors in the document: `ocml check` shows them";

/// How conversations are shown.
#[derive(Clone, Debug)]
struct Show {
    reader: Reader,
    policy: Policy,
    eyes: Eyes,
    /// The only message that is wanted.
    message: Option<usize>,
    verbosity: Verbosity,
    place: Place,
}

/// For whom they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eyes {
    User,
    Debug,
}

/// What is shown of some documents.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    report: String,
    status: Status,
}

impl Show {
    /// Shows each line of a file.
    fn lines(self, feed: Feed, target: &mut Target, console: &Console) -> Result<Status, Failure> {
        let mut status = Status::Fine;
        feed.run(
            console,
            move |entry: &Entry<'_>, format, lines: &mut Shown| {
                let Entry { page, found, slot, .. } = entry;
                let shown = self.document(page, slot.as_ref(), found.clone(), format);
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

    /// Shows a document of which `found` is known already.
    fn document(
        &self,
        page: &Page<'_>,
        slot: Option<&Slot<'_>>,
        mut found: Vec<Diagnostic>,
        format: Format,
    ) -> Shown {
        let Some(slot) = slot else { return self.nothing(page, &found) };
        let parsed = self.reader.parse(&slot.text, format);
        for mut diagnostic in parsed.diagnostics {
            slot.place(&mut diagnostic);
            found.push(diagnostic);
        }
        let mut shown = Shown { report: self.told(page, &found), ..Shown::default() };
        if Tally::of(&found).errors > 0 {
            shown.status = Status::Found;
            if self.reader.options.mode == Mode::Strict {
                shown.report.push_str(&error_line(HAS_ERRORS));
                return shown;
            }
        }
        self.conversations(&parsed.document, &mut shown);
        shown
    }

    /// Shows why there is nothing to show.
    fn nothing(&self, page: &Page<'_>, found: &[Diagnostic]) -> Shown {
        let mut report = self.told(page, found);
        report.push_str(&error_line("this cannot be read: `ocml check` says why"));
        Shown { text: String::new(), report, status: Status::Found }
    }

    /// Findings may quote what is hidden, so they are for those who ask for them. Everybody may
    /// know that the end is missing.
    fn told(&self, page: &Page<'_>, found: &[Diagnostic]) -> String {
        let mut report = String::new();
        if self.eyes == Eyes::Debug || self.verbosity == Verbosity::Verbose {
            for found in found {
                Style::Text.write(page, found, &mut report);
            }
        } else if found.iter().any(|found| found.code == Code::StreamTruncated) {
            report = warning_line(Code::StreamTruncated.user_summary());
        }
        report
    }

    fn conversations(&self, document: &Document<'_>, shown: &mut Shown) {
        let conversations: Vec<&Conversation<'_>> = match document {
            Document::Conversation(conversation) => vec![conversation],
            Document::Files(parts) => parts
                .iter()
                .filter_map(|part| match &part.content {
                    Content::Conversation(conversation) => Some(conversation),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        if conversations.is_empty() {
            shown.report.push_str(&warning_line("there is no conversation in this document"));
        }
        for conversation in conversations {
            match (self.message, self.eyes) {
                (Some(index), _) => return self.message(conversation, index, shown),
                (None, Eyes::Debug) => {
                    for message in self.policy.debug_view(conversation) {
                        self.place.debug(message, &mut shown.text);
                    }
                }
                (None, Eyes::User) => {
                    for message in self.policy.view(conversation).messages() {
                        self.place.user(message, &mut shown.text);
                    }
                }
            }
        }
    }

    /// Shows the text of one message.
    fn message(&self, conversation: &Conversation<'_>, index: usize, shown: &mut Shown) {
        let refusal = match self.eyes {
            Eyes::Debug => match conversation.messages.get(index) {
                Some(message) => return self.place.text(&body(message), &mut shown.text),
                None => error_line(&format!("there is no message {index}")),
            },
            Eyes::User => match self.policy.view(conversation).message(index) {
                Ok(message) => return self.place.text(message.text(), &mut shown.text),
                Err(refused) => finding_line(&refused),
            },
        };
        shown.report.push_str(&refusal);
        shown.status = Status::Found;
    }
}
