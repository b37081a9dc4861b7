//! Helpers of the router's tests.

use openchatml::{Channel, End, Limits, Message, Role, Value};
use openchatml_tools::{Entry, Outcome, Output, Toolbox, Turn, TurnEvent, function};

/// Parses JSON.
pub fn json(text: &str) -> Value<'static> {
    Value::from_json(text, &Limits::default()).unwrap().into_owned()
}

/// A call of a function with these arguments.
pub fn call(name: &str, id: &str, body: &str) -> Message<'static> {
    let mut call = Message::new(Role::Assistant, body.to_owned());
    call.recipient = Some(name.to_owned().into());
    call.call_id = Some(id.to_owned().into());
    call.channel = Some(Channel::Commentary);
    call.end = End::Call;
    call
}

/// A toolbox of one tool without a schema, `functions.f`.
pub fn one<R>(run: impl Fn(openchatml_tools::Call) -> R + Send + Sync + 'static) -> Toolbox
where
    R: Future<Output = Outcome> + Send + 'static,
{
    boxed(Entry::new(function(run)))
}

/// A toolbox of this tool, `functions.f`.
pub fn boxed(entry: Entry) -> Toolbox {
    let mut tools = Toolbox::default();
    tools.insert("functions.f", entry).unwrap();
    tools
}

/// A tool that returns its arguments.
pub fn echo() -> Entry {
    Entry::new(function(|call| async move { Ok(Output::text(call.arguments())) }))
}

/// The replies to all calls of a turn, in the order of their completion.
pub async fn replies(turn: &mut Turn) -> Vec<Message<'static>> {
    let mut replies = Vec::new();
    while let Some(event) = turn.next().await {
        if let TurnEvent::Done { reply, .. } = event {
            replies.push(reply);
        }
    }
    replies
}
