//! What is sent to a server of completions.

use serde_json::{Map, Value, json};

use super::{CompletionsOptions, Prompt, Request, UpstreamError};

/// So long is a completion at most, in tokens, unless the caller says otherwise. vLLM would stop
/// after 16.
const MOST_TOKENS: u32 = 16_384;

/// The address of the completions of a server, which is given as such, or without `/completions`,
/// or without `/v1`.
///
/// # Errors
///
/// The address is none of HTTP.
pub(super) fn address(url: &str) -> Result<String, UpstreamError> {
    let is_http = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_http {
        let text = format!("`{}` is no http:// or https:// address", url.escape_debug());
        return Err(UpstreamError::Connection(text));
    }
    let url = url.trim_end_matches('/');
    Ok(match url {
        _ if url.ends_with("/completions") => url.to_owned(),
        _ if url.ends_with("/v1") => format!("{url}/completions"),
        _ => format!("{url}/v1/completions"),
    })
}

/// The body of a request.
pub(super) fn body(options: &CompletionsOptions, request: &Request<'_>) -> Value {
    let mut body = Map::new();
    let mut say = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    if let Some(model) = &options.model {
        say("model", json!(model));
    }
    say("max_tokens", json!(MOST_TOKENS));
    // vLLM: control tokens are part of the text, the last one too, and nothing is put between them
    // or before the prompt.
    say("skip_special_tokens", json!(false));
    say("spaces_between_special_tokens", json!(false));
    say("include_stop_str_in_output", json!(true));
    say("add_special_tokens", json!(false));
    if matches!(request.prompt, Prompt::Ids(_)) {
        say("return_token_ids", json!(true));
    }
    if !request.stop_ids.is_empty() {
        say("stop_token_ids", json!(request.stop_ids));
    }
    // llama.cpp: the same.
    if !request.controls.is_empty() {
        say("preserved_tokens", json!(request.controls));
    }
    body.extend(options.sampling.clone());
    body.insert(
        "prompt".to_owned(),
        match &request.prompt {
            Prompt::Text(text) => json!(text),
            Prompt::Ids(ids) => json!(ids),
        },
    );
    body.insert("stream".to_owned(), json!(true));
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{address, body};
    use crate::{CompletionsOptions, Prompt, Request};

    #[test]
    fn addresses_are_completed() {
        let whole = "http://[::1]:8000/v1/completions";
        for url in ["http://[::1]:8000", "http://[::1]:8000/", "http://[::1]:8000/v1/", whole] {
            assert_eq!(address(url).as_deref(), Ok(whole));
        }
        assert!(address("localhost:8000").is_err());
        assert!(address("file:///etc/passwd").is_err());
    }

    #[test]
    fn what_is_sent_can_be_overruled_but_for_the_prompt() {
        let mut options = CompletionsOptions::default();
        let mut request = Request::new(Prompt::Ids(vec![1, 2]));
        request.stop_ids = &[9];
        let sent = body(&options, &request);
        assert_eq!(sent["prompt"], json!([1, 2]));
        assert_eq!(sent["stop_token_ids"], json!([9]));
        assert_eq!(sent["return_token_ids"], json!(true));
        assert_eq!(sent.get("model"), None);

        options.model = Some("gpt-oss-20b".into());
        let sampling =
            json!({"temperature": 0.5, "max_tokens": null, "prompt": "x", "stream": false});
        let Value::Object(sampling) = sampling else { panic!("it is an object") };
        options.sampling = sampling;
        let sent = body(&options, &Request::new(Prompt::Text("Hi".into())));
        assert_eq!(sent["prompt"], json!("Hi"));
        assert_eq!(sent["stream"], json!(true));
        assert_eq!(sent["temperature"], json!(0.5));
        assert_eq!(sent["max_tokens"], json!(null));
        assert_eq!(sent.get("return_token_ids"), None);
    }
}
