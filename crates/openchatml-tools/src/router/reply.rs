//! The replies to calls.

use std::fmt::Write as _;

use openchatml::{Channel, Code, Data, Message, Reply, Role, Value};
use sha2::{Digest, Sha256};

use super::options::{Envelope, RouterOptions};
use crate::{Failure, Outcome, Output, Provenance};

/// The call that a reply answers.
#[derive(Debug)]
pub(super) struct ReplyTarget {
    /// The name of the tool, as the model wrote it.
    pub(super) name: String,
    /// `None` for a call without a unique id.
    pub(super) call_id: Option<String>,
}

impl ReplyTarget {
    pub(super) fn of(message: &Message<'_>, has_own_id: bool) -> Self {
        let call_id = message.call_id.as_deref().filter(|_| has_own_id);
        let name = message.recipient.as_deref().unwrap_or_default();
        Self { name: name.to_owned(), call_id: call_id.map(str::to_owned) }
    }
}

/// Writes replies.
#[derive(Debug)]
pub(super) struct Replies {
    options: RouterOptions,
}

/// The maximum length of an error message, in bytes.
pub(super) const MESSAGE_BYTES: usize = 4096;

/// The keys of every error. Details must not replace them.
const OWN: [&str; 2] = ["code", "message"];

/// The maximum nesting depth of content. Readers reject deeper JSON.
const DEPTH: usize = 120;

impl Replies {
    pub(super) fn new(options: RouterOptions) -> Self {
        Self { options }
    }

    /// Returns the reply for an outcome.
    pub(super) fn outcome(
        &self,
        target: &ReplyTarget,
        outcome: Outcome,
    ) -> (Option<Code>, Message<'static>) {
        match outcome.and_then(|output| self.output(target, output)) {
            Ok(reply) => (None, reply),
            Err(failure) => {
                let (code, reply) = self.failure(target, &failure);
                (Some(code), reply)
            }
        }
    }

    /// Returns the reply that contains the output of a tool.
    fn output(&self, target: &ReplyTarget, output: Output) -> Result<Message<'static>, Failure> {
        let Output { content, provenance } = output;
        let most = self.options.output_bytes;
        if !is_shallow(&content, DEPTH) {
            let text = format!("the output is nested deeper than {DEPTH} levels");
            return Err(Failure::with_code(Code::ToolOutput, text));
        }
        let spelled = match content.as_str() {
            Some(text) => text.to_owned(),
            None => content.to_json(),
        };
        if spelled.len() > most {
            let text = format!("the output has {} bytes, but the maximum is {most}", spelled.len());
            return Err(Failure::with_code(Code::ToolOutput, text));
        }
        if self.options.envelope == Envelope::Raw {
            return Ok(message(target, spelled));
        }
        let provenance = self.provenance(target, provenance, &spelled);
        let mut reply = Reply::success(content);
        reply.error = Some(Data::Null.into());
        reply.provenance = Some(provenance);
        Ok(self.envelope(target, &reply))
    }

    /// Returns the reply that contains a failure.
    pub(super) fn failure(
        &self,
        target: &ReplyTarget,
        failure: &Failure,
    ) -> (Code, Message<'static>) {
        let mut error = vec![
            ("code".into(), Value::from(failure.code.as_str())),
            ("message".into(), Value::from(clip(&failure.message, MESSAGE_BYTES))),
        ];
        let check_arguments = |details: &Value<'static>| {
            is_shallow(details, DEPTH) && details.to_json().len() <= self.options.output_bytes
        };
        match failure.details.clone().filter(check_arguments) {
            Some(Value { data: Data::Map(details), .. }) => {
                error.extend(details.into_iter().filter(|(key, _)| !OWN.contains(&key.as_ref())));
            }
            Some(details) => error.push(("details".into(), details)),
            None => {}
        }
        let mut reply = Reply::failure(Data::Map(error));
        reply.content = Some(Data::Null.into());
        (failure.code, self.envelope(target, &reply))
    }

    fn envelope(&self, target: &ReplyTarget, reply: &Reply<'_>) -> Message<'static> {
        let mut message = message(target, reply.to_json());
        if self.options.envelope == Envelope::Json {
            message.content_type = Some("json".into());
        }
        message
    }

    fn provenance(&self, to: &ReplyTarget, given: Provenance, content: &str) -> Value<'static> {
        let source = given.source.unwrap_or_else(|| to.name.clone());
        let timestamp = given.timestamp.or_else(|| Some(self.options.clock.as_ref()?()));
        let checksum = given.checksum.unwrap_or_else(|| checksum(content.as_bytes()));
        let mut fields = vec![("source".into(), Value::from(source))];
        fields.extend(timestamp.map(|it| ("timestamp".into(), Value::from(it))));
        fields.push(("checksum".into(), Value::from(checksum)));
        fields.extend(given.arguments.map(|it| ("arguments".into(), Value::from(it))));
        Data::Map(fields).into()
    }
}

/// Creates a reply to a call (OpenChatML 2.2 §8.1).
fn message(target: &ReplyTarget, body: String) -> Message<'static> {
    let mut message = Message::new(Role::Tool, body);
    message.name = Some(target.name.clone().into());
    message.call_id = target.call_id.clone().map(Into::into);
    message.recipient = Some("assistant".into());
    message.channel = Some(Channel::Commentary);
    message
}

/// Returns `sha256:` and the SHA-256 digest in 64 hexadecimal digits.
pub(crate) fn checksum(content: &[u8]) -> String {
    let mut out = String::from("sha256:");
    for byte in Sha256::digest(content) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn is_shallow(value: &Value<'_>, depth: usize) -> bool {
    match &value.data {
        Data::List(items) => depth > 0 && items.iter().all(|it| is_shallow(it, depth - 1)),
        Data::Map(entries) => depth > 0 && entries.iter().all(|it| is_shallow(&it.1, depth - 1)),
        _ => true,
    }
}

/// Truncates a long text.
pub(super) fn clip(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most - '…'.len_utf8());
    format!("{}…", &text[..end])
}
