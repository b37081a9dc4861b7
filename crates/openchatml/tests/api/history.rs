//! The content of the next prompt for irregular conversations.

use openchatml::{Channel, End, Message, Role, history};

fn call(id: &str) -> Message<'_> {
    let mut call = Message::new(Role::Assistant, "{}");
    call.channel = Some(Channel::Commentary);
    call.recipient = Some("functions.f".into());
    call.call_id = Some(id.into());
    call.end = End::Call;
    call
}

fn reply(id: &str) -> Message<'_> {
    let mut reply = Message::new(Role::Tool, "1");
    reply.channel = Some(Channel::Commentary);
    reply.name = Some("functions.f".into());
    reply.call_id = Some(id.into());
    reply
}

fn think() -> Message<'static> {
    Message::reasoning("hm")
}

fn answer() -> Message<'static> {
    Message::answer("4.")
}

#[test]
fn reasoning_without_an_answer_stays() {
    assert_eq!(history::kept(&[think()]), [true]);
    assert_eq!(history::kept(&[think(), think()]), [true, true]);
}

#[test]
fn reasoning_before_an_unanswered_call_stays_even_before_an_answer() {
    assert_eq!(history::kept(&[think(), call("a"), answer()]), [true, true, true]);
    let answered = [think(), call("a"), reply("a"), answer()];
    assert_eq!(history::kept(&answered), [false, true, true, true]);
}

#[test]
fn an_unanswered_call_keeps_the_reasoning_of_its_own_turn_only() {
    let user = || Message::new(Role::User, "Hi.");
    let turns = [think(), answer(), user(), think(), call("a"), answer()];
    assert_eq!(history::kept(&turns), [false, true, true, true, true, true]);
    let users = [think(), user(), think(), call("a"), answer()];
    assert_eq!(history::kept(&users), [false, true, true, true, true]);
    let replies = [think(), call("a"), reply("a"), think(), call("b"), answer()];
    assert_eq!(history::kept(&replies), [false, true, true, true, true, true]);
    let answers = [think(), answer(), think(), call("a"), answer()];
    assert_eq!(history::kept(&answers), [false, true, true, true, true]);
}

#[test]
fn replies_are_paired_by_id_and_otherwise_by_name() {
    let mut nameless = reply("other");
    nameless.name = None;
    // The call of this reply is unknown.
    assert!(history::kept(&[think(), call("a"), nameless, answer()])[0]);
    // The id is unknown, but the tool matches the call.
    assert!(!history::kept(&[think(), call("a"), reply("other"), answer()])[0]);
    // A second reply to a call does not answer the next one.
    let again = [think(), call("a"), call("b"), reply("a"), reply("a"), think(), answer()];
    assert!(history::kept(&again)[0] && !history::kept(&again)[5]);
    let user = Message::new(Role::User, "Hi.");
    assert!(history::kept(&[think(), call("a"), user, answer()])[0]);
}

#[test]
fn calls_within_reasoning_are_dropped_with_it() {
    let on_analysis = |mut message: Message<'static>| {
        message.channel = Some(Channel::Analysis);
        message
    };
    let answered = [think(), on_analysis(call("a")), reply("a"), on_analysis(reply("b")), answer()];
    assert_eq!(history::kept(&answered), [false, false, false, false, true]);
    assert_eq!(history::kept(&answered[..4]), [true; 4]);
    let waiting = [think(), on_analysis(call("a")), answer()];
    assert_eq!(history::kept(&waiting), [true, true, true]);
    // A kept call keeps its reply.
    let reply = on_analysis(reply("a"));
    assert_eq!(history::kept(&[call("a"), reply, answer()]), [true, true, true]);
}
