//! Reads input of any carrier into a [`Document`], with diagnostics.
//!
//! Reading never fails. Malformed input gives diagnostics, and the reader keeps what it can.

use crate::dialect::{Carrier, Format};
use crate::document::{is_pair, read_pair};
use crate::engine::Engine;
use crate::lex::Tape;
use crate::model::FormId;
use crate::options::{ReadOptions, Recover};
use crate::reading::{Keep, Parsed, Whole};
use crate::repair::repair_call;
use crate::tagged;
use crate::text_format::TextFormat;
use crate::{Control, Span};

/// Reads `text` in `format`. The result borrows from `text`.
///
/// ```
/// use openchatml::{Format, ReadOptions, Role, parse};
///
/// let text = "version: 2.2\n\n<|start|>user<|message|>What is 2 + 2?<|end|>\n";
/// let format: Format = "openchatml-2.2".parse()?;
/// let parsed = parse(text, format, &ReadOptions::default());
/// assert!(parsed.diagnostics.is_empty());
/// let conversation = parsed.into_conversation();
/// assert_eq!(conversation.messages[0].role, Role::User);
/// assert_eq!(conversation.messages[0].body.text(), "What is 2 + 2?");
///
/// // What is malformed is reported, and what can be saved is saved.
/// let parsed = parse("<|start|>user<|message|>Hel", format, &ReadOptions::default());
/// assert_eq!(parsed.diagnostics.last().unwrap().code.as_str(), "E-STREAM-TRUNCATED");
/// assert_eq!(parsed.into_conversation().messages[0].body.text(), "Hel");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn parse<'a>(text: &'a str, format: Format, options: &ReadOptions) -> Parsed<'a> {
    repaired(read(text, format, options), options)
}

/// Repairs the calls, if the options say so.
fn repaired<'a>(mut parsed: Parsed<'a>, options: &ReadOptions) -> Parsed<'a> {
    if let Some(repair) = options.repair {
        let all = parsed.document.conversations_mut();
        for call in all.into_iter().flat_map(|conversation| &mut conversation.messages) {
            parsed.diagnostics.extend(repair_call(call, repair, &options.limits));
        }
        parsed.diagnostics.truncate(options.limits.diagnostics);
    }
    parsed
}

fn read<'a>(text: &'a str, format: Format, options: &ReadOptions) -> Parsed<'a> {
    match (format.carrier, format.dialect.text, &format.dialect.json) {
        (Carrier::Json, _, Some(json)) => {
            let is_pair = match json.pair {
                Some(form) => (form.is_of_documents)(text, &options.limits),
                None => is_pair(text, &[], &options.limits),
            };
            let mut parsed = match is_pair {
                true => read_pair(text, json.read, options),
                false => (json.read)(text, options),
            };
            let mut found = Vec::new();
            for conversation in parsed.document.conversations_mut() {
                if conversation.is_of(FormId::NONE) {
                    conversation.origin = json.id;
                }
                if options.split_reasoning {
                    found.extend(tagged::split(conversation, options.limits.messages));
                }
            }
            if !found.is_empty() {
                parsed.diagnostics.append(&mut found);
                parsed.diagnostics.truncate(options.limits.diagnostics);
            }
            parsed
        }
        (_, Some(form), _) => {
            let stripped = form.stripped.filter(|_| options.recover == Recover::Stripped);
            if let Some(parsed) = stripped.and_then(|it| (it.read)(text, options)) {
                return parsed;
            }
            let mut whole = Whole::new(form.id);
            let mut engine = Engine::new(form, options, Keep::Whole(text));
            engine.feed(text, true, &mut whole);
            engine.finish(&mut whole);
            let diagnostics = std::mem::take(&mut whole.diagnostics);
            Parsed { document: whole.into_document(), diagnostics }
        }
        // A `Format` exists only for carriers that the dialect has.
        _ => Parsed::default(),
    }
}

/// Reads a [`Tape`] in a text format. The result borrows from the tape. Spans are places in the
/// text of the tape.
///
/// ```
/// use openchatml::lex::Tape;
/// use openchatml::{Control, TextFormat, parse_tape};
///
/// let mut tape = Tape::new(TextFormat::HARMONY.controls());
/// tape.text("Sure!");
/// tape.control(Control::Start);
/// tape.text("user");
/// let parsed = parse_tape(&tape, TextFormat::HARMONY, &Default::default());
/// // What is malformed is found as in text.
/// let codes: Vec<_> = parsed.diagnostics.iter().map(|found| found.code.as_str()).collect();
/// assert_eq!(codes, ["E-PARSE-FRAME", "E-STREAM-TRUNCATED"]);
/// ```
pub fn parse_tape<'t>(tape: &'t Tape, format: TextFormat, options: &ReadOptions) -> Parsed<'t> {
    let form = format.form();
    let text = tape.as_str();
    // If text can spell the start of a message, text is read as it comes.
    let keep = match tape.mask().has(Control::Start) {
        true => Keep::Copy,
        false => Keep::Whole(text),
    };
    let mut whole = Whole::new(form.id);
    let mut engine = Engine::new(form, options, keep).spelled(tape.mask());
    let mut at = 0;
    for (control, span) in tape.controls() {
        if at < span.start {
            engine.piece(&text[at..span.start], Span::new(at, span.start), &mut whole);
        }
        engine.control(*control, *span, &mut whole);
        at = span.end;
    }
    if at < text.len() {
        engine.piece(&text[at..], Span::new(at, text.len()), &mut whole);
    }
    engine.finish_pieces(text.len(), &mut whole);
    let diagnostics = std::mem::take(&mut whole.diagnostics);
    repaired(Parsed { document: whole.into_document(), diagnostics }, options)
}
