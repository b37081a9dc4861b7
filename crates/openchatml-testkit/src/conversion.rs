//! What must hold of conversions.

use openchatml::convert::Channels;
use openchatml::{Document, End, Format, Message, Policy, ReadOptions, RenderOptions, parse};

use crate::property::assert_structure;

/// What is converted reads back without anything about its structure being wrong, shows a user
/// nothing that was hidden, makes no call that was not made, and is converted again without any
/// loss.
///
/// # Panics
///
/// If it is not.
pub fn conversion(document: &Document<'_>, to: Format) {
    let options = RenderOptions::default();
    let Ok(converted) = openchatml::convert::convert(document, to, &options) else { return };
    let mut read = ReadOptions::default();
    read.open_prompt = true;
    let parsed = parse(&converted.output, to, &read);
    assert_structure(&parsed, to, &converted.output);
    if let (Document::Conversation(before), Document::Conversation(after)) =
        (document, &parsed.document)
    {
        let mut made = before.messages.iter().filter(|message| is_made(message));
        for call in after.messages.iter().filter(|message| is_made(message)) {
            let was_made = made.any(|before| before.body.text() == call.body.text());
            assert!(was_made, "{to}: {call:?} was not made before: {}", converted.output);
        }
        let policy = Policy::default();
        let before = policy.view(before);
        let shown: Vec<_> = before.messages().collect();
        let mut left = shown.as_slice();
        for message in policy.view(after).messages() {
            let joins = to.carries().channels == Channels::Sections;
            let wanted = (message.role(), message.text());
            let ends = (0..left.len()).find_map(|at| {
                let run = left[at..].iter().take_while(|it| it.role() == wanted.0);
                let mut said = String::new();
                // Texts that nothing stands between are one there.
                run.enumerate().take(if joins { usize::MAX } else { 1 }).find_map(|(len, it)| {
                    said.push_str(it.text());
                    (said == wanted.1).then_some(at + len + 1)
                })
            });
            let Some(end) = ends else {
                panic!(
                    "{to}: {:?} was not shown before: {document:#?}, {}",
                    wanted.1, converted.output
                )
            };
            left = &left[end..];
        }
    }
    let again = openchatml::convert::convert(&parsed.document, to, &options);
    let again = again.expect("what was converted can be written");
    assert_eq!(again.losses, [], "{to}: {}", converted.output);
    assert_eq!(again.output, converted.output, "{to}");
}

/// Whether a message is a call that is made for certain.
fn is_made(message: &Message<'_>) -> bool {
    message.is_call() && message.end == End::Call && !message.recovered && !message.foreign
}
