//! The data of one event of a completion.

use serde_json::Value;

use super::{Piece, UpstreamError, Usage};

/// The data of one event of a completion.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Chunk {
    /// The text. It may be empty.
    pub(super) text: String,
    /// The ids, if the server returns them.
    pub(super) ids: Option<Vec<u32>>,
    /// The reason for the end of the completion, if it ended.
    pub(super) finish: Option<FinishReason>,
    /// The usage, if the server reports it.
    pub(super) usage: Option<Usage>,
}

/// The reason for the end of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FinishReason {
    /// The model ended the completion, with this stop token if the server reports it.
    Stop(Option<Stop>),
    /// The server cut the completion off, for this reason.
    CutOff(String),
}

/// The stop token of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Text(String),
    Id(u32),
}

/// The maximum length of a quoted server message, in bytes.
const QUOTED: usize = 500;

/// Parses the data of one event.
///
/// # Errors
///
/// The server reports an error, or the data is not part of a completion.
pub(super) fn read(data: &str) -> Result<Chunk, UpstreamError> {
    let value: Value = serde_json::from_str(data)
        .map_err(|error| UpstreamError::InvalidResponse(format!("{error} in {}", quoted(data))))?;
    if let Some(error) = error_message(&value) {
        return Err(UpstreamError::Failed(error));
    }
    if let Some(text) = value.get("response").and_then(Value::as_str) {
        return Ok(of_ollama(&value, text));
    }
    let Some(choices) = value.get("choices").and_then(Value::as_array) else {
        return Err(UpstreamError::InvalidResponse(format!("no `choices` in {}", quoted(data))));
    };
    let usage = value.get("usage").and_then(usage);
    // If the request asked for several completions, only the first is read. The last event may
    // contain only the usage.
    let is_first = |choice: &&Value| choice.get("index").is_none_or(|index| *index == 0);
    let Some(choice) = choices.iter().find(is_first) else {
        return Ok(Chunk { usage, ..Chunk::default() });
    };
    let text = choice.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    // llama.cpp returns the ids with the verbose output.
    let id_list = choice.get("token_ids").filter(|ids| ids.is_array());
    let id_list = id_list.or_else(|| value.get("__verbose").and_then(|more| more.get("tokens")));
    let ids = match id_list.and_then(Value::as_array) {
        Some(ids) => Some(ids.iter().map(id).collect::<Option<Vec<_>>>().ok_or_else(|| {
            UpstreamError::InvalidResponse(format!("no token ids in {}", quoted(data)))
        })?),
        None => None,
    };
    let finish = choice.get("finish_reason").and_then(Value::as_str).map(|reason| match reason {
        "stop" => FinishReason::Stop(match choice.get("stop_reason") {
            Some(Value::String(text)) => Some(Stop::Text(text.clone())),
            Some(value) => id(value).map(Stop::Id),
            None => None,
        }),
        reason => FinishReason::CutOff(printable(reason)),
    });
    Ok(Chunk { text, ids, finish, usage })
}

/// Parses a line of Ollama, which omits the stop token.
fn of_ollama(value: &Value, text: &str) -> Chunk {
    let reason = value.get("done_reason").and_then(Value::as_str);
    let is_done = value.get("done").and_then(Value::as_bool).unwrap_or_default();
    let finish = is_done.then(|| match reason {
        None | Some("stop") => FinishReason::Stop(None),
        Some(reason) => FinishReason::CutOff(printable(reason)),
    });
    let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
    let usage = is_done.then(|| Usage {
        prompt: number("prompt_eval_count"),
        completion: number("eval_count"),
        cached: None,
    });
    Chunk { text: text.to_owned(), ids: None, finish, usage }
}

/// Parses the usage of a completion.
fn usage(value: &Value) -> Option<Usage> {
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64);
    let details = value.get("prompt_tokens_details");
    Some(Usage {
        prompt: number(value, "prompt_tokens")?,
        completion: number(value, "completion_tokens").unwrap_or_default(),
        cached: details.and_then(|details| number(details, "cached_tokens")),
    })
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// Returns the error message of a response, if it has one.
pub(super) fn error_message(value: &Value) -> Option<String> {
    let error = match value.get("error") {
        Some(error) if !error.is_null() => error,
        // Some versions of vLLM put errors at the top level, and llama.cpp in its own field of the
        // stream.
        _ => match value.get("choices") {
            None if value.get("message").is_some_and(Value::is_string) => value,
            _ => return None,
        },
    };
    let message = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
    Some(message.map_or_else(|| quoted(&error.to_string()), printable))
}

/// Quotes a text of the server for an error message.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", printable(text))
}

/// Returns a text of the server on one line, truncated if it is long.
pub(super) fn printable(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim().chars() {
        if out.len() > QUOTED {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    out
}

/// Returns the stop token that the server reported but omitted from the output.
pub(super) fn ending(stop: Stop, last_output: &Tail) -> Option<Piece> {
    match stop {
        Stop::Text(text)
            if !text.is_empty() && !last_output.text.ends_with(&text) && !last_output.has_ids =>
        {
            Some(Piece::Text(text))
        }
        Stop::Id(id) if last_output.has_ids && last_output.last != Some(id) => {
            Some(Piece::Ids(vec![id]))
        }
        _ => None,
    }
}

/// The end of the output so far.
#[derive(Debug, Default)]
pub(super) struct Tail {
    text: String,
    has_ids: bool,
    last: Option<u32>,
}

impl Tail {
    /// Whether there is no output yet.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.has_ids
    }

    /// Adds a piece.
    pub(super) fn note(&mut self, piece: &Piece) {
        const LONGEST: usize = 64;
        match piece {
            Piece::Text(text) => {
                self.text.push_str(text);
                let from = self.text.len().saturating_sub(LONGEST);
                self.text.drain(..self.text.ceil_char_boundary(from));
            }
            Piece::Ids(ids) => {
                self.has_ids = true;
                self.last = ids.last().copied().or(self.last);
            }
            Piece::CutOff(_) | Piece::Usage(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunk, FinishReason, Piece, Stop, Tail, Usage, ending, read};
    use crate::UpstreamError;

    #[test]
    fn chunks_of_both_servers_are_read() {
        let vllm = r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m",
            "choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":"stop",
            "stop_reason":200012,"token_ids":[13,200012]}]}"#;
        let finish = Some(FinishReason::Stop(Some(Stop::Id(200_012))));
        let chunk =
            Chunk { text: "Hi".into(), ids: Some(vec![13, 200_012]), finish, ..Chunk::default() };
        assert_eq!(read(vllm), Ok(chunk));
        let llama = r#"{"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],
            "created":1,"model":"m","object":"text_completion","usage":{}}"#;
        let finish = Some(FinishReason::CutOff("length".into()));
        let chunk = Chunk { finish, ..Chunk::default() };
        assert_eq!(read(llama), Ok(chunk));
        assert_eq!(read(r#"{"choices":[],"usage":{"total_tokens":9}}"#), Ok(Chunk::default()));
        let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,
            "total_tokens":13,"prompt_tokens_details":{"cached_tokens":8}}}"#;
        let took = Usage { prompt: 9, completion: 4, cached: Some(8) };
        assert_eq!(read(usage), Ok(Chunk { usage: Some(took), ..Chunk::default() }));
    }

    #[test]
    fn llama_cpp_returns_ids_next_to_the_choices() {
        let event = r#"{"choices":[{"text":"Hi","index":0,"logprobs":null,"finish_reason":null}],
            "object":"text_completion","__verbose":{"index":0,"content":"Hi","tokens":[13]}}"#;
        let chunk = Chunk { text: "Hi".into(), ids: Some(vec![13]), ..Chunk::default() };
        assert_eq!(read(event), Ok(chunk));
    }

    #[test]
    fn lines_of_ollama_are_read() {
        let chunk = Chunk { text: "Hi".into(), ..Chunk::default() };
        assert_eq!(read(r#"{"model":"m","response":"Hi","done":false}"#), Ok(chunk));
        let line = r#"{"model":"m","response":"","done":true,"done_reason":"length",
            "prompt_eval_count":7,"eval_count":2}"#;
        let chunk = Chunk {
            finish: Some(FinishReason::CutOff("length".into())),
            usage: Some(Usage { prompt: 7, completion: 2, cached: None }),
            ..Chunk::default()
        };
        assert_eq!(read(line), Ok(chunk));
    }

    #[test]
    fn only_the_first_of_several_completions_is_read() {
        let second = r#"{"choices":[{"index":1,"text":"no","finish_reason":null}]}"#;
        assert_eq!(read(second), Ok(Chunk::default()));
        let both = r#"{"choices":[{"index":1,"text":"no"},{"index":0,"text":"yes"}]}"#;
        assert_eq!(read(both), Ok(Chunk { text: "yes".into(), ..Chunk::default() }));
    }

    #[test]
    fn errors_and_invalid_responses_are_distinguished() {
        let failed = |text: &str| Err(UpstreamError::Failed(text.into()));
        assert_eq!(
            read(r#"{"error":{"message":"out of\nmemory","code":500}}"#),
            failed("out of\\nmemory")
        );
        assert_eq!(read(r#"{"error":"no"}"#), failed("no"));
        assert_eq!(read(r#"{"code":500,"message":"no","type":"server_error"}"#), failed("no"));
        for garbage in ["", "<html>", "7", "{}", r#"{"choices":[{"token_ids":["a"]}]}"#] {
            assert!(matches!(read(garbage), Err(UpstreamError::InvalidResponse(_))), "{garbage}");
        }
        let long = "\u{1b}".repeat(100_000);
        let Err(error) = read(&long) else { panic!("it was read") };
        assert!(error.to_string().len() < 1000 && !error.to_string().contains('\u{1b}'));
    }

    #[test]
    fn omitted_stop_tokens_are_restored() {
        let call = || Stop::Text("<|call|>".into());
        let tail = |pieces: &[Piece]| {
            let mut tail = Tail::default();
            pieces.iter().for_each(|piece| tail.note(piece));
            tail
        };
        let text = |text: &str| Piece::Text(text.into());
        assert_eq!(ending(call(), &tail(&[text("{}")])), Some(text("<|call|>")));
        assert_eq!(ending(call(), &tail(&[text("é".repeat(99).as_str()), text("<|call|>")])), None);
        assert_eq!(ending(Stop::Id(7), &tail(&[Piece::Ids(vec![5])])), Some(Piece::Ids(vec![7])));
        assert_eq!(ending(Stop::Id(7), &tail(&[Piece::Ids(vec![7]), Piece::Ids(vec![])])), None);
        assert_eq!(ending(Stop::Id(7), &tail(&[text("{}")])), None);
    }
}
