//! The transcript of a run.

use openchatml::convert::Channels;
use openchatml::{
    Carrier, Code, Conversation, Diagnostic, Format, Message, ReadOptions, RenderOptions, Role,
    TextFormat, detect, parse, render,
};
use openchatml_tools::{Transcript, TranscriptLayout, TranscriptStore, TranscriptStoreError};

use super::RunArgs;
use crate::args::{Bounds, Choice};
use crate::console::Console;
use crate::failure::Failure;
use crate::file_name;
use crate::input::{Decoded, Origin, Page, Unreadable, format_of};
use crate::report::{Style, Tally};

/// The transcript of a run, and where it is stored.
pub(super) struct RunTranscript {
    pub(super) conversation: Conversation<'static>,
    pub(super) format: Format,
    /// The layout of the transcript.
    pub(super) layout: TranscriptLayout,
    /// `None` if the transcript is not stored in a file.
    pub(super) store: Option<TranscriptStore>,
}

impl RunTranscript {
    /// Opens the transcript. Returns `None` if it has errors, which were reported.
    pub(super) fn open(args: &RunArgs, console: &Console) -> Result<Option<Self>, Failure> {
        if matches!(args.from, Choice::Tokens(_)) {
            let text = "a transcript must be text or JSON; `--ids` sends prompts as ids";
            return Err(Failure::Usage(text.to_owned()));
        }
        let origin = Origin::of(&args.transcript);
        if origin.is_jsonl() {
            let text = "`ocml run` continues a single transcript, but a JSONL file contains many";
            return Err(Failure::Usage(text.to_owned()));
        }
        // From here on, no other process can change it.
        let target = args.target().filter(|_| !args.dry_run);
        if target.is_some_and(|path| file_name::ends_with(path, &["gz", "zst"])) {
            let text = "a transcript is written again and again, so it is not compressed";
            return Err(Failure::Usage(format!("{text}: name another file with `-o`")));
        }
        let store =
            target.map(|path| TranscriptStore::open(path).map_err(|error| locked(args, &error)));
        let store = store.transpose()?;
        let Some((conversation, format, layout)) = read(&origin, args.from, console)? else {
            return Ok(None);
        };
        let kept = args.output.as_ref().filter(|path| store.is_some() && path.exists());
        let Some(path) = kept else {
            return Ok(Some(Self { conversation, format, layout, store }));
        };
        let Some((later, format, layout)) =
            read(&Origin::of(path), Choice::Format(format), console)?
        else {
            return Ok(None);
        };
        if !goes_on(&later, &conversation) {
            let text =
                "exists, but does not continue this transcript: remove it, or name another file";
            return Err(Failure::Usage(format!("`{}` {text}", path.display())));
        }
        Ok(Some(Self { conversation: later, format, layout, store }))
    }
}

impl RunTranscript {
    /// Whether an interpreter has answered calls of `python` and no longer exists.
    pub(super) fn has_python_replies(&self) -> bool {
        let is_reply = |message: &Message<'_>| {
            message.role == Role::Tool && message.name.as_deref() == Some("python")
        };
        self.conversation.messages.iter().any(is_reply)
    }
}

/// Returns the reason why the store cannot be opened.
fn locked(args: &RunArgs, error: &TranscriptStoreError) -> Failure {
    let name = Origin::of(args.target().unwrap_or(&args.transcript)).name();
    match error {
        TranscriptStoreError::Io(error) => Failure::write(&format!("`{name}`"), error),
        error => Failure::Io(format!("{name}: {error}")),
    }
}

/// Reads a transcript. Returns `None` if it has errors, which were reported.
fn read(
    origin: &Origin,
    choice: Choice,
    console: &Console,
) -> Result<Option<(Conversation<'static>, Format, TranscriptLayout)>, Failure> {
    let bytes = origin.read(Bounds::default().input_bytes, console)?;
    let (name, decoded) = (origin.name(), Decoded::new(&bytes, 0));
    let page = Page::new(&name, &decoded, 1);
    let mut found = decoded.found.clone();
    let is_unreadable = Tally::of(&found).errors > 0;
    let transcript = match format_of(choice, &decoded, &name, console) {
        Err(Unreadable::NoFormat(failure)) => return Err(failure),
        Err(Unreadable::NoText(_)) => None,
        Ok(format) if choice == Choice::Auto && is_doubtful(&decoded.text, format) => {
            let text = format!(
                "`{name}` is probably `{format}`, but another format is possible, in which its calls are text: to run them, name the format with `--from {format}`"
            );
            return Err(Failure::Usage(text));
        }
        Ok(format) => match transcript_of(&decoded.text, format) {
            Err(errors) => {
                found.extend(errors);
                None
            }
            Ok(whole) => {
                let text = whole.as_deref().unwrap_or(&decoded.text);
                let mut transcript = Transcript::read(text, format, &ReadOptions::default());
                if transcript.is_faithful && transcript.is_answer_open() {
                    // An earlier run left the answer incomplete, and this run asks for it again.
                    transcript.diagnostics.retain(|found| found.code != Code::StreamTruncated);
                    console.detail(&format!(
                        "{name}: the last answer is incomplete and will be requested again"
                    ));
                }
                found.append(&mut transcript.diagnostics);
                Some((transcript, format))
            }
        },
    };
    let mut report = String::new();
    found.iter().for_each(|found| Style::Text.write(&page, found, &mut report));
    console.print(&report);
    let is_faithful = transcript.as_ref().is_some_and(|(transcript, _)| transcript.is_faithful);
    if is_unreadable || !is_faithful {
        console.error(
            "cannot continue a transcript with these errors: the invalid parts would be lost",
        );
        return Ok(None);
    }
    match transcript {
        Some((Transcript { conversation: Some(conversation), layout, .. }, format)) => {
            Ok(Some((conversation, format, layout)))
        }
        _ => Err(Failure::Refused(format!("{name}: the document contains no conversation"))),
    }
}

/// Whether a detected format reads calls in a text, and another possible format only text. Whoever
/// wrote the text in that format could not know that it would become a call.
fn is_doubtful(text: &str, format: Format) -> bool {
    let has_calls = |format| {
        let parsed = parse(text, format, &ReadOptions::default());
        parsed.into_conversation().messages.iter().any(Message::is_call)
    };
    let others = || detect(text).into_iter().filter(|other| other.format != format);
    format.carrier() == Carrier::Text
        && format.carries().channels == Channels::Sections
        && has_calls(format)
        && others().any(|other| other.format.carrier() == Carrier::Text && !has_calls(other.format))
}

/// Returns the transcript of a raw completion: the same with the header that the prompt began.
/// `None` for other texts.
///
/// # Errors
///
/// The errors of the completion.
fn transcript_of(text: &str, format: Format) -> Result<Option<String>, Vec<Diagnostic>> {
    let text_format = TextFormat::try_from(format).ok();
    if text_format.and_then(|it| it.is_completion(text)) != Some(true) {
        return Ok(None);
    }
    let completion = parse(text, format, &ReadOptions::completion());
    if completion.has_errors() {
        return Err(completion.diagnostics);
    }
    Ok(render(&completion.document, format, &RenderOptions::default()).ok())
}

/// Whether one conversation continues another one: the messages of the user are the same.
fn goes_on(later: &Conversation<'_>, before: &Conversation<'_>) -> bool {
    fn user_messages<'c>(
        conversation: &'c Conversation<'_>,
    ) -> impl Iterator<Item = &'c Message<'c>> {
        conversation.messages.iter().filter(|message| message.role == Role::User)
    }
    later.messages.len() >= before.messages.len() && user_messages(later).eq(user_messages(before))
}
