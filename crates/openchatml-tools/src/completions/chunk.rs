//! What one event of a completion says.

use serde_json::Value;

use super::{Piece, UpstreamError};

/// What one event of a completion says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Chunk {
    /// Text, if there is any.
    pub(super) text: String,
    /// Ids, if the server tells them.
    pub(super) ids: Option<Vec<u32>>,
    /// Why the completion ended, if it did.
    pub(super) finish: Option<Finish>,
}

/// Why a completion ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// By itself. What it ended by, as far as the server tells.
    Stop(Option<Stop>),
    /// It is as long as it may be, or something else cut it.
    CutOff,
}

/// What a completion ended by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Text(String),
    Id(u32),
}

/// So much of a message of a server is quoted.
const QUOTED: usize = 500;

/// Reads the data of one event.
///
/// # Errors
///
/// The server reports an error, or the data is no part of a completion.
pub(super) fn read(data: &str) -> Result<Chunk, UpstreamError> {
    let value: Value = serde_json::from_str(data)
        .map_err(|error| UpstreamError::Garbage(format!("{error} in {}", quoted(data))))?;
    if let Some(error) = said(&value) {
        return Err(UpstreamError::Failed(error));
    }
    let Some(choices) = value.get("choices").and_then(Value::as_array) else {
        return Err(UpstreamError::Garbage(format!("no `choices` in {}", quoted(data))));
    };
    // The last event may tell the usage, and nothing else.
    let Some(choice) = choices.first() else { return Ok(Chunk::default()) };
    let text = choice.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let ids = match choice.get("token_ids").and_then(Value::as_array) {
        Some(ids) => Some(ids.iter().map(id).collect::<Option<Vec<_>>>().ok_or_else(|| {
            UpstreamError::Garbage(format!("`token_ids` are no ids in {}", quoted(data)))
        })?),
        None => None,
    };
    let finish = choice.get("finish_reason").and_then(Value::as_str).map(|reason| match reason {
        "stop" => Finish::Stop(match choice.get("stop_reason") {
            Some(Value::String(text)) => Some(Stop::Text(text.clone())),
            Some(value) => id(value).map(Stop::Id),
            None => None,
        }),
        _ => Finish::CutOff,
    });
    Ok(Chunk { text, ids, finish })
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// What the error in an answer says, if there is one.
pub(super) fn said(value: &Value) -> Option<String> {
    let error = match value.get("error") {
        Some(error) if !error.is_null() => error,
        // vLLM puts errors at the top in some versions, llama.cpp in its own field of the stream.
        _ => match value.get("choices") {
            None if value.get("message").is_some_and(Value::is_string) => value,
            _ => return None,
        },
    };
    let message = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
    Some(message.map_or_else(|| quoted(&error.to_string()), printable))
}

/// A text of somebody else as a message of ours quotes it.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", printable(text))
}

/// One line of a text of somebody else, and not all of a long one.
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

/// What is left to say where a server tells by what a completion ended, and did not say so.
pub(super) fn ending(stop: Stop, said: &Tail) -> Option<Piece> {
    match stop {
        Stop::Text(text) if !text.is_empty() && !said.text.ends_with(&text) && !said.has_ids => {
            Some(Piece::Text(text))
        }
        Stop::Id(id) if said.has_ids && said.last != Some(id) => Some(Piece::Ids(vec![id])),
        _ => None,
    }
}

/// What a completion ended in so far.
#[derive(Debug, Default)]
pub(super) struct Tail {
    text: String,
    has_ids: bool,
    last: Option<u32>,
}

impl Tail {
    /// Takes note of a piece.
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
            Piece::CutOff => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunk, Finish, Piece, Stop, Tail, ending, read};
    use crate::UpstreamError;

    #[test]
    fn chunks_of_both_servers_are_read() {
        let vllm = r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m",
            "choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":"stop",
            "stop_reason":200012,"token_ids":[13,200012]}]}"#;
        let finish = Some(Finish::Stop(Some(Stop::Id(200_012))));
        let chunk = Chunk { text: "Hi".into(), ids: Some(vec![13, 200_012]), finish };
        assert_eq!(read(vllm), Ok(chunk));
        let llama = r#"{"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],
            "created":1,"model":"m","object":"text_completion","usage":{}}"#;
        let chunk = Chunk { finish: Some(Finish::CutOff), ..Chunk::default() };
        assert_eq!(read(llama), Ok(chunk));
        assert_eq!(read(r#"{"choices":[],"usage":{"total_tokens":9}}"#), Ok(Chunk::default()));
    }

    #[test]
    fn errors_and_garbage_are_told_apart() {
        let failed = |text: &str| Err(UpstreamError::Failed(text.into()));
        assert_eq!(
            read(r#"{"error":{"message":"out of\nmemory","code":500}}"#),
            failed("out of\\nmemory")
        );
        assert_eq!(read(r#"{"error":"no"}"#), failed("no"));
        assert_eq!(read(r#"{"code":500,"message":"no","type":"server_error"}"#), failed("no"));
        for garbage in ["", "<html>", "7", "{}", r#"{"choices":[{"token_ids":["a"]}]}"#] {
            assert!(matches!(read(garbage), Err(UpstreamError::Garbage(_))), "{garbage}");
        }
        let long = "\u{1b}".repeat(100_000);
        let Err(error) = read(&long) else { panic!("it was read") };
        assert!(error.to_string().len() < 1000 && !error.to_string().contains('\u{1b}'));
    }

    #[test]
    fn what_a_server_leaves_out_is_put_back() {
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
