//! Checks whether a call may run: only a certain call runs (OpenChatML 2.2 §8).

mod arguments;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use openchatml::{Channel, Code, End, Message, Settings};

use self::arguments::Arguments;
pub(super) use self::arguments::check_arguments;
use super::reply::ReplyTarget;
use super::{Core, RegisteredTool, Routes};
use crate::Failure;

/// A practically unlimited time that still fits into an `Instant`.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A call that may run.
pub(super) struct Admission {
    pub(super) target: ReplyTarget,
    pub(super) tool: Arc<RegisteredTool>,
    pub(super) arguments: String,
    /// The timeout of the call.
    pub(super) time: Duration,
}

/// Why a call may not run.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) failure: Failure,
    /// Whether the id of the call is unique, so that the reply can contain it.
    pub(super) has_own_id: bool,
}

impl Core {
    /// Checks a call in a conversation with these settings. `taken` are the ids of its earlier
    /// calls.
    pub(super) fn admit(
        &self,
        message: &Message<'_>,
        settings: &Settings,
        taken: &HashSet<String>,
    ) -> Result<Admission, Refusal> {
        let call_id = message.call_id.as_deref();
        let has_own_id = call_id.is_some_and(|id| !id.is_empty() && !taken.contains(id));
        let refuse = |failure| Refusal { failure, has_own_id };
        is_certain(message).map_err(refuse)?;
        if !has_own_id {
            let text = match call_id {
                None | Some("") => "the call has no `call_id`: add one to its header".to_owned(),
                Some(id) => format!("duplicate `call_id` {}: give each call its own id", quote(id)),
            };
            return Err(refuse(Failure::with_code(Code::ParseHeader, text)));
        }
        let tool = self.tool(message).map_err(refuse)?;
        is_routed(message, settings, self.options.routes).map_err(refuse)?;
        let Arguments { text, deadline } =
            Arguments::read(message, tool.schema.as_ref()).map_err(refuse)?;
        let time = deadline.or(tool.entry.timeout).unwrap_or(self.options.timeout);
        Ok(Admission {
            target: ReplyTarget::of(message, true),
            tool: tool.clone(),
            arguments: text,
            time: time.min(self.options.longest).min(FOREVER),
        })
    }

    /// Finds the tool of a call.
    fn tool(&self, message: &Message<'_>) -> Result<&Arc<RegisteredTool>, Failure> {
        let name = message.recipient.as_deref().unwrap_or_default();
        // Some formats omit the namespace of functions.
        let bare = || self.tools.get(&format!("functions.{name}")).filter(|_| !name.contains('.'));
        self.tools.get(name).or_else(bare).ok_or_else(|| {
            let mut text = format!("unknown tool {}", quote(name));
            if let Some(meant) = self.similar(name) {
                text.push_str(&format!(": did you mean {}?", quote(meant)));
            }
            Failure::with_code(Code::CallUnknown, text)
        })
    }

    /// Finds the most similar name. At most a third of its letters may differ. Of several names
    /// with the same distance, it is the first in alphabetical order.
    fn similar(&self, name: &str) -> Option<&str> {
        const LONGEST: usize = 64;
        let bare = |name: &str| openchatml::function_name(name).unwrap_or(name).to_lowercase();
        if name.len() > LONGEST {
            return None;
        }
        let word = bare(name);
        let near = self.tools.keys().filter_map(|known| {
            let other = bare(known);
            let far = strsim::osa_distance(&word, &other);
            (far <= other.len().max(3) / 3).then_some((far, known.as_str()))
        });
        near.min().map(|(_, known)| known)
    }
}

/// Rejects a call that is incomplete, malformed, or without the token that ends calls.
fn is_certain(message: &Message<'_>) -> Result<(), Failure> {
    let wrong = |code, text: &str| Err(Failure::with_code(code, text));
    match message.end {
        End::Open | End::Prompt => wrong(Code::StreamTruncated, "the call is incomplete"),
        _ if message.recovered => {
            wrong(Code::ParseFrame, "the call is malformed, so it did not run")
        }
        End::Call => Ok(()),
        End::End | End::Return => {
            wrong(Code::ParseFrame, "the call does not end with the token of calls")
        }
    }
}

/// Rejects a call on a channel on which its tool must not be called (OpenChatML 2.2 §8.3, §12.5).
fn is_routed(message: &Message<'_>, settings: &Settings, routes: Routes) -> Result<(), Failure> {
    let name = message.recipient.as_deref().unwrap_or_default();
    let (channel, allowed) = (message.effective_channel(), settings.call_channels(name));
    let is_tolerated = routes == Routes::Lenient && channel == Channel::Analysis;
    if allowed.contains(&channel) || is_tolerated {
        return Ok(());
    }
    let words: Vec<_> = allowed.iter().map(|channel| channel.as_str()).collect();
    let text =
        format!("{} must be called on `{}`, not on `{channel}`", quote(name), words.join("` or `"));
    Err(Failure::with_code(Code::CallRoute, text))
}

/// Quotes a word of the model on one line, truncated if it is long.
fn quote(word: &str) -> String {
    const LONGEST: usize = 64;
    let end = word.floor_char_boundary(LONGEST);
    let more = if end < word.len() { "…" } else { "" };
    format!("`{}{more}`", word[..end].escape_debug())
}
