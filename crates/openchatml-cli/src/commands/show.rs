//! `show`: what a user may see.

use std::path::PathBuf;

use anstyle::{AnsiColor, Style as Look};
use clap::Args;
use openchatml::{
    Code, Content, Conversation, DebugMessage, Diagnostic, Document, Format, Mode, Policy, Role,
    Segment, UserMessage, Visibility, parse,
};

use crate::args::{PreambleArgs, ReadArgs, Verbosity};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::input::{Decoded, Origin, Page, Unreadable, format_of};
use crate::output::Target;
use crate::report::{Style, Tally};
use crate::visible::visible;

/// Show what a user may see of a conversation
///
/// That is what the user said, the answers, and the preambles of the assistant. Everything else
/// is hidden: reasoning, calls and replies of tools, what the system and the developer say.
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
}

/// Runs `show`.
pub(crate) fn run(args: &ShowArgs, console: &Console) -> Result<Status, Failure> {
    let origin = args.file.as_deref().map_or(Origin::Stdin, Origin::of);
    let name = origin.name();
    let bytes = origin.read(args.read.reader.bounds().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    let page = Page::new(&name, &decoded, 1);
    let mut found = decoded.found.clone();
    let format = match format_of(args.read.from, &decoded, &name, console) {
        Ok(format) => format,
        Err(Unreadable::NoText(found)) => {
            tell(args, &page, found, console);
            return Ok(Status::Found);
        }
        Err(Unreadable::NoFormat(failure)) => return Err(failure),
    };
    let document = read(args, page.text, format, &mut found);
    let has_errors = Tally::of(&found).errors > 0;
    tell(args, &page, &found, console);
    let options = args.read.reader.options(Mode::Lenient);
    if has_errors && options.mode == Mode::Strict {
        return Ok(Status::Found);
    }
    let shown = Show { args, policy: args.preambles.policy(), target: Target::stdout() };
    let status = shown.document(&document, console)?;
    Ok(status.max(if has_errors { Status::Found } else { Status::Fine }))
}

fn read<'t>(
    args: &ShowArgs,
    text: &'t str,
    format: Format,
    found: &mut Vec<Diagnostic>,
) -> Document<'t> {
    let parsed = parse(text, format, &args.read.reader.options(Mode::Lenient));
    found.extend(parsed.diagnostics);
    parsed.document
}

/// Findings may quote what is hidden, so they are for those who ask for them. Everybody may know
/// that the end is missing.
fn tell(args: &ShowArgs, page: &Page<'_>, found: &[Diagnostic], console: &Console) {
    if args.debug || console.verbosity() == Verbosity::Verbose {
        let mut report = String::new();
        for found in found.iter().filter(|found| console.shows(found.severity)) {
            Style::Text.write(page, found, &mut report);
        }
        console.print(&report);
    } else if found.iter().any(|found| found.code == Code::StreamTruncated) {
        console.warning(Code::StreamTruncated.user_summary());
    }
}

struct Show<'a> {
    args: &'a ShowArgs,
    policy: Policy,
    target: Target,
}

impl Show<'_> {
    fn document(mut self, document: &Document<'_>, console: &Console) -> Result<Status, Failure> {
        let nothing = Conversation::default();
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
            console.warning("there is no conversation in this document");
        }
        if let Some(index) = self.args.message {
            let conversation = conversations.first().copied().unwrap_or(&nothing);
            return self.message(conversation, index, console);
        }
        let mut out = Out::new(&self.target, console);
        for conversation in conversations {
            if self.args.debug {
                for message in self.policy.debug_view(conversation) {
                    out.debug(message);
                }
            } else {
                for message in self.policy.view(conversation).messages() {
                    out.user(message);
                }
            }
        }
        out.write(&mut self.target)?;
        Ok(Status::Fine)
    }

    /// Shows the text of one message.
    fn message(
        &mut self,
        conversation: &Conversation<'_>,
        index: usize,
        console: &Console,
    ) -> Result<Status, Failure> {
        let mut out = Out::new(&self.target, console);
        if self.args.debug {
            let Some(message) = conversation.messages.get(index) else {
                return Err(Failure::Refused(format!("there is no message {index}")));
            };
            out.text.push_str(&body(message));
        } else {
            match self.policy.view(conversation).message(index) {
                Ok(message) => out.text.push_str(message.text()),
                Err(refused) => {
                    console.refusal(&refused);
                    return Ok(Status::Found);
                }
            }
        }
        if !out.text.ends_with('\n') {
            out.text.push('\n');
        }
        if out.is_terminal {
            out.text = visible(&out.text).into_owned();
        }
        out.write(&mut self.target)?;
        Ok(Status::Fine)
    }
}

/// What is written.
struct Out {
    text: String,
    has_colors: bool,
    is_terminal: bool,
}

impl Out {
    fn new(target: &Target, console: &Console) -> Self {
        let is_terminal = target.is_terminal();
        Self { text: String::new(), has_colors: console.colors_output(), is_terminal }
    }

    /// Adds a message that a user may see.
    fn user(&mut self, message: &UserMessage<'_>) {
        let preamble = if message.is_preamble() { " (preamble)" } else { "" };
        let look = look(message.role(), Visibility::User);
        self.entry(look, &format!("{}{preamble}", message.role()), message.text());
    }

    /// Adds a message, and says whether it is hidden.
    fn debug(&mut self, DebugMessage { visibility, message, .. }: DebugMessage<'_, '_>) {
        let mut label = message.role.to_string();
        let attributes = [
            ("name", message.name.as_deref()),
            ("to", message.recipient.as_deref()),
            ("call_id", message.call_id.as_deref()),
            ("channel", message.channel.map(|channel| channel.as_str())),
            ("intent", message.intent.map(|intent| intent.as_str())),
            ("type", message.content_type.as_deref()),
        ];
        for (name, value) in attributes {
            if let Some(value) = value {
                label.push_str(&format!(" {name}={value}"));
            }
        }
        if visibility == Visibility::Hidden {
            label.push_str(" [hidden]");
        }
        if message.recovered {
            label.push_str(" [recovered]");
        }
        self.entry(look(message.role, visibility), &label, &body(message));
    }

    /// Adds a label and an indented text: no text can look like a label.
    fn entry(&mut self, look: Look, label: &str, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let (label, text) = if self.is_terminal {
            (visible(label), visible(text))
        } else {
            (label.into(), text.into())
        };
        match self.has_colors {
            true => self.text.push_str(&format!("{look}{label}{look:#}\n")),
            false => self.text.push_str(&format!("{label}\n")),
        }
        for line in text.lines() {
            if !line.is_empty() {
                self.text.push_str("  ");
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    fn write(self, target: &mut Target) -> Result<(), Failure> {
        target.write(self.text.as_bytes())
    }
}

/// The text of a message with its markers.
fn body(message: &openchatml::Message<'_>) -> String {
    let mut text = String::with_capacity(message.body.len());
    for segment in message.body.segments() {
        match segment {
            Segment::Text(part) | Segment::Literal(part) => text.push_str(&part),
            Segment::Marker(marker) => text.push_str(&format!("[{marker}] ")),
        }
    }
    text
}

fn look(role: Role, visibility: Visibility) -> Look {
    let color = match role {
        Role::User => AnsiColor::BrightBlue,
        Role::Assistant => AnsiColor::BrightGreen,
        Role::Tool => AnsiColor::BrightYellow,
        Role::System | Role::Developer => AnsiColor::BrightMagenta,
    };
    match visibility {
        Visibility::User => color.on_default().bold(),
        Visibility::Hidden => color.on_default().dimmed(),
    }
}
