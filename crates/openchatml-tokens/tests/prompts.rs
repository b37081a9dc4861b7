//! Properties of the prompts of a conversation, over random hostile conversations.

use openchatml::convert::prepare;
use openchatml::{
    Conversation, Document, Message, ReadOptions, RenderOptions, Role, TextFormat, history,
};
use openchatml_testkit::ids::{self, Pairs};
use openchatml_testkit::{Source, cases, document, pick};
use openchatml_tokens::{
    ByteEncoding, OldestFirst, PromptCache, Scheme, Tokenizer, TruncateError, Truncation, Unit,
};

/// The number of cases of a property.
const CASES: usize = 10_000;

fn tokenizer(source: &mut Source<'_>) -> Tokenizer<Pairs> {
    ids::tokenizer(source, |_, format| Pairs::all(format))
}

fn options() -> RenderOptions {
    RenderOptions::default()
}

/// A random conversation that this tokenizer can write.
fn conversation(
    source: &mut Source<'_>,
    tokenizer: &Tokenizer<Pairs>,
) -> Option<Conversation<'static>> {
    let document = document::document(source, tokenizer.format().into());
    tokenizer.render(&document, &options()).ok()?;
    document.as_conversation().cloned()
}

/// Splits some of the pairs: the same text in other ids, as a model might have sampled it.
fn resampled(source: &mut Source<'_>, ids: &[u32]) -> Vec<u32> {
    let mut sampled = Vec::new();
    for id in ids {
        match Pairs::apart(*id) {
            Some(apart) if source.arbitrary().unwrap_or(false) => sampled.extend(apart),
            _ => sampled.push(*id),
        }
    }
    sampled
}

#[test]
fn counting_equals_writing() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let document = document::document(source, tokenizer.format().into());
        match (tokenizer.render(&document, &options()), tokenizer.count(&document, &options())) {
            (Ok(rendered), Ok(counted)) => {
                assert_eq!(counted.ids, rendered.ids.len());
                assert_eq!(counted.spans, rendered.spans);
            }
            (rendered, counted) => assert_eq!(rendered.is_err(), counted.is_err()),
        }
    });
}

/// Messages with sampled ids are written as exactly these ids, and the prompt of the history is a
/// prefix of the prompt of its continuation.
#[test]
fn sampled_ids_are_written_again() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        // The token that opens a turn of GLM also ends the turn before it, and is kept with only one
        // of them: its messages are encoded anew.
        // The line break after a call of DeepSeek V3.2 and later, of MiniMax, of Nemotron 3 and of Hy3
        // is kept with the token after it, and ids of arguments in a syntax of their own are not kept.
        let name = tokenizer.format().to_string();
        let families =
            ["glm-", "deepseek-v3.2", "deepseek-v4", "minimax-", "nemotron-3", "gemma-4", "hy-3"];
        if families.iter().any(|family| name.starts_with(family)) {
            return;
        }
        let Some(conversation) = conversation(source, &tokenizer) else { return };
        let rendered = tokenizer.render(&conversation.into(), &options()).expect("it could");
        let sampled = resampled(source, &rendered.ids);
        let mut read = ReadOptions::default();
        read.open_prompt = true;
        let read = tokenizer.parse(&sampled, &read).with_ids(&sampled);
        let again = tokenizer.render(read.document(), &options()).expect("it could");
        // The header before the first message and the layout between messages are not sampled.
        let Document::Conversation(conversation) = read.document() else { return };
        for (span, message) in again.spans.iter().zip(&conversation.messages) {
            let known = message.ids().expect("they were kept");
            let written = &again.ids[span.opening.start..span.end.end];
            // A token that began in the message before belongs to both messages and is written
            // there.
            let before = again.ids[..span.opening.start].last();
            let shared = known.first().filter(|first| Some(*first) == before);
            let known = &known[usize::from(shared.is_some() && !known.starts_with(written))..];
            let format = tokenizer.format();
            assert!(known.starts_with(written), "{format}: {known:?} is written as {written:?}");
        }
    });
}

/// Ids of another text are ignored.
#[test]
fn ids_of_other_text_are_not_used() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let Some(mut conversation) = conversation(source, &tokenizer) else { return };
        let document = conversation.clone().into();
        let rendered = tokenizer.render(&document, &options()).expect("it could");
        let others: Vec<Vec<u32>> =
            rendered.spans.iter().map(|span| rendered.ids[span.ids()].to_vec()).rev().collect();
        for (message, ids) in conversation.messages.iter_mut().zip(&others) {
            let cut = source.int_in_range(0..=ids.len()).unwrap_or(0);
            message.set_ids(resampled(source, &ids[cut..]));
        }
        let again = tokenizer.render(&conversation.into(), &options()).expect("it could");
        let texts = [rendered, again].map(|rendered| {
            tokenizer.parse(&rendered.ids, &ReadOptions::default()).text().to_owned()
        });
        assert_eq!(texts[0], texts[1]);
    });
}

/// The ids do not depend on the size of the cache.
#[test]
fn a_cache_does_not_change_ids() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let size = pick(source, &[0, 100, 1000, 1 << 20]);
        let format = tokenizer.format();
        let mut prompts = PromptCache::new(tokenizer.clone(), size);
        for _ in 0..3 {
            let document = document::document(source, format.into());
            let expected = tokenizer.render(&document, &options()).ok();
            for _ in 0..2 {
                assert_eq!(prompts.render(&document, &options()).ok(), expected);
            }
            let Ok(prepared) = prepare(&document, format.into(), &options()) else { continue };
            let expected = tokenizer.render(&prepared.document, &options()).ok();
            assert_eq!(tokenizer.render_prepared(&prepared, &options()).ok(), expected);
            assert_eq!(prompts.render_prepared(&prepared, &options()).ok(), expected);
            assert!(prompts.statistics().bytes <= size as u64, "{:?}", prompts.statistics());
        }
    });
}

/// A rendering has no difference from itself, and the first difference of two renderings is at
/// their first different id.
#[test]
fn the_first_difference_is_found() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let Some(conversation) = conversation(source, &tokenizer) else { return };
        let before = tokenizer.render(&conversation.clone().into(), &options()).expect("it could");
        assert_eq!(tokenizer.first_difference(&before, &before), None);
        let next = history::next_prompt(&conversation);
        let Ok(after) = tokenizer.render(&next.into(), &options()) else { return };
        match tokenizer.first_difference(&before, &after) {
            None => assert!(after.ids.starts_with(&before.ids)),
            Some(first_difference) => {
                assert_eq!(before.ids[..first_difference.at], after.ids[..first_difference.at]);
                assert_ne!(before.ids.get(first_difference.at), after.ids.get(first_difference.at));
                assert!(first_difference.message < conversation.messages.len().max(1));
            }
        }
    });
}

/// A truncated conversation fits the limit; the required messages are kept; calls and replies are
/// kept or dropped together; the reported messages are the dropped ones.
#[test]
fn truncated_conversations_fit_and_report_their_changes() {
    cases(CASES, |source| {
        let tokenizer = tokenizer(source);
        let Some(conversation) = conversation(source, &tokenizer) else { return };
        let mut truncation = Truncation::new(source.int_in_range(0..=600).unwrap_or(0));
        truncation.message = pick(source, &[None, Some(5), Some(40), Some(2048)]);
        let truncated = match truncation.truncate(&tokenizer, &conversation, &options()) {
            Ok(truncated) => truncated,
            Err(TruncateError::TooLong { least, budget }) => return assert!(least > budget),
            // A call without its place in the order may need another `call_id`.
            Err(_) => return,
        };
        let left = &truncated.conversation.messages;
        let document = truncated.conversation.clone().into();
        let prepared = prepare(&document, tokenizer.format().into(), &options()).expect("as above");
        let written = tokenizer.count(&prepared.document, &options());
        assert_eq!(written.expect("it fits").ids, truncated.ids);
        assert!(truncated.ids <= truncation.budget);
        let kept = conversation.messages.iter().enumerate();
        let kept: Vec<_> = kept.filter(|(at, _)| !truncated.dropped.contains(at)).collect();
        assert_eq!(left.len(), kept.len());
        let calls = history::answers(&conversation.messages);
        for (at, message) in &kept {
            if let Some(call) = calls[*at] {
                assert!(!truncated.dropped.contains(&call), "a reply without its call");
            }
            let is_cut = truncated.cut.iter().any(|cut| cut.message == *at);
            let stays = left.iter().any(|left| left == *message);
            assert!(stays || is_cut, "{message:?} was changed, and nobody said so");
        }
        for at in &truncated.dropped {
            let role = conversation.messages[*at].role;
            assert!(!matches!(role, Role::System | Role::Developer), "{role:?} was dropped");
            assert!(!calls.iter().enumerate().any(|(reply, call)| {
                *call == Some(*at) && !truncated.dropped.contains(&reply)
            }));
        }
    });
}

/// A custom scheme that tries to drop even the required messages.
#[test]
fn other_schemes_can_be_used() {
    struct Nothing;
    impl Scheme for Nothing {
        fn keeps(&self, _: &[Unit], _: usize) -> Vec<bool> {
            Vec::new()
        }
    }
    let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    let messages = [
        Message::new(Role::System, "Be brief."),
        Message::new(Role::User, "One?"),
        Message::answer("1."),
        Message::new(Role::User, "Two?"),
    ];
    let conversation = Conversation::from_messages(messages);
    let truncated = Truncation::by(Nothing, 45).truncate(&tokenizer, &conversation, &options());
    assert_eq!(truncated.expect("it fits").dropped, [1, 2]);
}

/// Whole exchanges are dropped, the oldest first; in the last one, the oldest units.
#[test]
fn the_oldest_exchanges_are_dropped_first() {
    let unit = |exchange, ids, must_stay| Unit { messages: vec![0], ids, exchange, must_stay };
    let units = [
        unit(0, 5, true),
        unit(1, 10, false),
        unit(1, 10, false),
        unit(2, 10, false),
        unit(2, 10, false),
        unit(3, 5, true),
        unit(3, 10, false),
        unit(3, 10, false),
    ];
    let kept = |budget| {
        let keeps = OldestFirst.keeps(&units, budget);
        keeps.iter().map(|keep| if *keep { 'x' } else { '-' }).collect::<String>()
    };
    let expected = [
        (70, "xxxxxxxx"),
        (69, "x--xxxxx"),
        (50, "x--xxxxx"),
        (49, "x----xxx"),
        (30, "x----xxx"),
        (29, "x----x-x"),
        (20, "x----x-x"),
        (19, "x----x--"),
        (0, "x----x--"),
    ];
    for (budget, units) in expected {
        assert_eq!(kept(budget), units, "with a budget of {budget}");
    }
}
