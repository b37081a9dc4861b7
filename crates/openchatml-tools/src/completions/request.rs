//! Creates the requests to a completion server.

use serde_json::{Map, Value, json};

use super::engine::{BanFormat, Engine, ServerInfo};
use super::{CompletionsOptions, Constraint, Prompt, Request, UpstreamError};

/// The default maximum length of a completion, in tokens. The default of vLLM is 16.
const MOST_TOKENS: u64 = 16_384;

/// Creates the body of a request.
///
/// # Errors
///
/// The server returns no ids, or its context is too small for the prompt.
pub(super) fn body(
    options: &CompletionsOptions,
    request: &Request<'_>,
    server: ServerInfo,
) -> Result<Value, UpstreamError> {
    let wants_ids = matches!(request.prompt, Prompt::Ids(_));
    if wants_ids && !server.engine.tells_ids() {
        return Err(UpstreamError::NoIds(server.engine.to_string()));
    }
    let most = most_tokens(request, server)?;
    if server.engine == Engine::Ollama {
        return Ok(for_ollama(options, request, most));
    }
    let facts = server.engine.facts();
    let mut body = Map::new();
    let mut say = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    if let Some(model) = &options.model {
        say("model", json!(model));
    }
    say("max_tokens", json!(most));
    say("stream_options", json!({"include_usage": true}));
    let asked = facts.keeps_controls.iter().chain(facts.tells_ids.iter().filter(|_| wants_ids));
    asked.for_each(|(key, value)| say(key, json!(value)));
    if let Some(key) = facts.stop_ids.filter(|_| !request.stop_ids.is_empty()) {
        say(key, json!(request.stop_ids));
    }
    if let Some(key) = facts.controls.filter(|_| !request.controls.is_empty()) {
        say(key, json!(request.controls));
    }
    let mut sampling = options.sampling.clone();
    if let Some(constraint) = request.constraint {
        sampling = constrain(&mut body, constraint, server.engine, sampling)?;
    }
    body.extend(sampling);
    let prompt = match &request.prompt {
        Prompt::Text(text) => json!(text),
        Prompt::Ids(ids) => json!(ids),
    };
    body.insert("prompt".to_owned(), prompt);
    body.insert("stream".to_owned(), json!(true));
    Ok(Value::Object(body))
}

/// Adds the constraint in the fields of an engine. Returns the `logit_bias`, which adds bans to
/// those of the caller.
///
/// # Errors
///
/// The engine does not accept this grammar, or the caller sends another one.
fn constrain(
    body: &mut Map<String, Value>,
    constraint: &Constraint,
    engine: Engine,
    mut sampling: Map<String, Value>,
) -> Result<Map<String, Value>, UpstreamError> {
    const BIAS: &str = "logit_bias";
    let way = engine.grammar_support(Some(constraint.language))?;
    let grammar = match way.is_json {
        true => serde_json::from_str(&constraint.grammar).map_err(|error| {
            UpstreamError::InvalidResponse(format!("the grammar is not valid JSON: {error}"))
        })?,
        false => json!(constraint.grammar),
    };
    let (key, value) = match way.field.split_once('.') {
        Some((outer, inner)) => (outer, json!({inner: grammar})),
        None => (way.field, grammar),
    };
    if sampling.contains_key(key) {
        return Err(UpstreamError::TwoGrammars(key.to_owned()));
    }
    body.insert(key.to_owned(), value);
    let banned = constraint.banned_ids.iter();
    let own = sampling.remove(BIAS).unwrap_or(Value::Null);
    let bias = match (engine.facts().bans, own) {
        (BanFormat::Pairs, Value::Array(own)) => {
            own.into_iter().chain(banned.map(|id| json!([id, false]))).collect()
        }
        (BanFormat::Pairs, Value::Object(own)) => {
            let own = own.into_iter().map(|(key, bias)| match key.parse::<u32>() {
                Ok(id) => json!([id, bias]),
                Err(_) => json!([key, bias]),
            });
            own.chain(banned.map(|id| json!([id, false]))).collect()
        }
        (BanFormat::Pairs, Value::Null) => banned.map(|id| json!([id, false])).collect(),
        (BanFormat::Biases, Value::Object(mut own)) => {
            own.extend(banned.map(|id| (id.to_string(), json!(-100))));
            Value::Object(own)
        }
        (BanFormat::Biases, Value::Null) => {
            banned.map(|id| (id.to_string(), json!(-100))).collect()
        }
        // The server rejects an invalid bias.
        (_, own) => own,
    };
    let is_empty = match &bias {
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    };
    if !is_empty {
        body.insert(BIAS.to_owned(), bias);
    }
    Ok(sampling)
}

/// Returns the maximum length of the completion: the free space of the context. `None` if only the
/// server knows it.
fn most_tokens(request: &Request<'_>, server: ServerInfo) -> Result<Option<u64>, UpstreamError> {
    let Some(context) = server.context else { return Ok(Some(MOST_TOKENS)) };
    let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
    match &request.prompt {
        Prompt::Ids(ids) => match context.saturating_sub(count(ids.len())) {
            0 => Err(UpstreamError::NoRoom { prompt: ids.len(), context }),
            room => Ok(Some(room.min(MOST_TOKENS))),
        },
        // A token has at least one byte.
        Prompt::Text(text) => match context.checked_sub(count(text.len())) {
            Some(room) if room >= MOST_TOKENS => Ok(Some(MOST_TOKENS)),
            _ if server.engine.facts().refuses_excess => Ok(None),
            _ => Ok(Some(MOST_TOKENS)),
        },
    }
}

/// Creates the body of a request to Ollama, which has its own fields. A `raw` prompt gets no
/// template.
fn for_ollama(options: &CompletionsOptions, request: &Request<'_>, most: Option<u64>) -> Value {
    let mut sampling = options.sampling.clone();
    let most = sampling.remove("max_tokens").unwrap_or_else(|| json!(most));
    sampling.entry("num_predict").or_insert(most);
    let Prompt::Text(prompt) = &request.prompt else { unreachable!("ids were refused") };
    let mut body = json!({"prompt": prompt, "raw": true, "stream": true, "options": sampling});
    if let Some(model) = &options.model {
        body["model"] = json!(model);
    }
    body
}

#[cfg(test)]
mod tests {
    use openchatml_grammars::Language;
    use serde_json::{Value, json};

    use super::super::engine::{Engine, ServerInfo};
    use super::body;
    use crate::{CompletionsOptions, Constraint, Prompt, Request, UpstreamError};

    fn sent(options: &CompletionsOptions, prompt: Prompt, engine: Engine) -> Value {
        let mut request = Request::new(prompt);
        request.stop_ids = &[9];
        request.controls = &["<|end|>"];
        body(options, &request, ServerInfo { engine, context: None }).expect("it can be asked")
    }

    fn text() -> Prompt {
        Prompt::Text("Hi".to_owned())
    }

    fn ids() -> Prompt {
        Prompt::Ids(vec![1, 2])
    }

    #[test]
    fn requests_contain_only_fields_that_the_engine_supports() {
        let options = CompletionsOptions::default();
        let common = json!({"max_tokens": 16_384, "stream": true,
            "stream_options": {"include_usage": true}});
        let with = |prompt: Value, more: Value| {
            let mut all = common.clone();
            all["prompt"] = prompt;
            for (key, value) in more.as_object().expect("an object") {
                all[key] = value.clone();
            }
            all
        };
        assert_eq!(sent(&options, text(), Engine::OpenAi), with(json!("Hi"), json!({})));
        let vllm = json!({"skip_special_tokens": false, "spaces_between_special_tokens": false,
            "include_stop_str_in_output": true, "add_special_tokens": false,
            "return_token_ids": true, "stop_token_ids": [9]});
        assert_eq!(sent(&options, ids(), Engine::Vllm), with(json!([1, 2]), vllm));
        let llama = json!({"preserved_tokens": ["<|end|>"]});
        assert_eq!(sent(&options, text(), Engine::LlamaCpp), with(json!("Hi"), llama));
        let llama =
            json!({"preserved_tokens": ["<|end|>"], "return_tokens": true, "verbose": true});
        assert_eq!(sent(&options, ids(), Engine::LlamaCpp), with(json!([1, 2]), llama));
        let mut options = options;
        options.model = Some("gpt-oss".into());
        options.sampling.insert("temperature".into(), json!(0.5));
        options.sampling.insert("max_tokens".into(), json!(7));
        let ollama = json!({"model": "gpt-oss", "prompt": "Hi", "raw": true, "stream": true,
            "options": {"temperature": 0.5, "num_predict": 7}});
        assert_eq!(sent(&options, text(), Engine::Ollama), ollama);
    }

    #[test]
    fn each_engine_has_its_own_field_for_grammars() {
        let options = CompletionsOptions::default();
        let held = |engine, language: Language, grammar: &str| {
            let mut constraint = Constraint::new(language, grammar.to_owned());
            constraint.banned_ids = vec![7, 8];
            let mut request = Request::new(ids());
            request.constraint = Some(&constraint);
            body(&options, &request, ServerInfo { engine, context: None })
        };
        let llama = held(Engine::LlamaCpp, Language::Gbnf, "root ::= x").expect("it takes it");
        assert_eq!(llama["grammar"], json!("root ::= x"));
        assert_eq!(llama["logit_bias"], json!([[7, false], [8, false]]));
        let vllm = held(Engine::Vllm, Language::StructuralTag, "{}").expect("it takes it");
        assert_eq!(vllm["structured_outputs"], json!({"structural_tag": "{}"}));
        assert_eq!(vllm["logit_bias"], json!({"7": -100, "8": -100}));
        let vllm = held(Engine::Vllm, Language::Lark, "start: X").expect("it takes it");
        assert_eq!(vllm["structured_outputs"], json!({"grammar": "start: X"}));
        let tag = r#"{"type": "structural_tag"}"#;
        let sglang = held(Engine::Sglang, Language::StructuralTag, tag).expect("it takes it");
        assert_eq!(sglang["response_format"], json!({"type": "structural_tag"}));
        for (engine, language) in
            [(Engine::LlamaCpp, Language::Lark), (Engine::Vllm, Language::Gbnf)]
        {
            let upstream = Some(engine.to_string());
            let refused = UpstreamError::NoGrammars { upstream, language: Some(language) };
            assert_eq!(held(engine, language, "x"), Err(refused));
        }
    }

    #[test]
    fn sampling_options_cannot_contain_a_grammar_and_add_to_the_bans() {
        let held = |engine, language: Language, sampling: Value| {
            let mut constraint = Constraint::new(language, "x".to_owned());
            constraint.banned_ids = vec![7];
            let mut request = Request::new(ids());
            request.constraint = Some(&constraint);
            let sampling = sampling.as_object().expect("an object").clone();
            let options = CompletionsOptions { sampling, ..CompletionsOptions::default() };
            body(&options, &request, ServerInfo { engine, context: None })
        };
        let (llama, vllm) = (Engine::LlamaCpp, Engine::Vllm);
        let two = |key: &str| Err(UpstreamError::TwoGrammars(key.to_owned()));
        assert_eq!(held(llama, Language::Gbnf, json!({"grammar": "y"})), two("grammar"));
        let own = json!({"structured_outputs": {"regex": "y"}});
        assert_eq!(held(vllm, Language::StructuralTag, own), two("structured_outputs"));
        let bias = |engine, language, own: Value| {
            let sent = held(engine, language, json!({"logit_bias": own}));
            sent.map(|sent| sent["logit_bias"].clone())
        };
        let (gbnf, tag) = (Language::Gbnf, Language::StructuralTag);
        assert_eq!(bias(llama, gbnf, json!([[5, -1]])), Ok(json!([[5, -1], [7, false]])));
        assert_eq!(bias(llama, gbnf, json!({"5": -1})), Ok(json!([[5, -1], [7, false]])));
        let both = json!({"5": -1, "7": -100});
        assert_eq!(bias(vllm, tag, json!({"5": -1, "7": 50})), Ok(both));
    }

    #[test]
    fn ids_require_a_server_that_returns_ids() {
        let request = Request::new(ids());
        for engine in [Engine::Ollama, Engine::OpenAi] {
            let server = ServerInfo { engine, context: None };
            let refused = body(&CompletionsOptions::default(), &request, server);
            assert_eq!(refused, Err(UpstreamError::NoIds(engine.to_string())));
        }
    }

    #[test]
    fn completions_use_the_free_context() {
        let most = |prompt: Prompt, engine, context| {
            let server = ServerInfo { engine, context: Some(context) };
            let sent = body(&CompletionsOptions::default(), &Request::new(prompt), server);
            sent.map(|sent| sent["max_tokens"].clone())
        };
        assert_eq!(most(ids(), Engine::Vllm, 100), Ok(json!(98)));
        assert_eq!(most(ids(), Engine::Vllm, 1 << 17), Ok(json!(16_384)));
        let no_room = UpstreamError::NoRoom { prompt: 2, context: 2 };
        assert_eq!(most(ids(), Engine::LlamaCpp, 2), Err(no_room));
        // Only the server knows the number of tokens of a text.
        assert_eq!(most(text(), Engine::Vllm, 100), Ok(json!(null)));
        assert_eq!(most(text(), Engine::Vllm, 1 << 17), Ok(json!(16_384)));
        assert_eq!(most(text(), Engine::LlamaCpp, 100), Ok(json!(16_384)));
    }

    #[test]
    fn sampling_options_override_everything_except_the_prompt() {
        let mut options = CompletionsOptions::default();
        let sampling = json!({"temperature": 0.5, "max_tokens": null, "prompt": "x",
            "stream": false, "stream_options": null});
        let Value::Object(sampling) = sampling else { panic!("it is an object") };
        options.sampling = sampling;
        let sent = sent(&options, text(), Engine::Vllm);
        assert_eq!((&sent["prompt"], &sent["stream"]), (&json!("Hi"), &json!(true)));
        assert_eq!((&sent["temperature"], &sent["max_tokens"]), (&json!(0.5), &json!(null)));
        assert_eq!(sent["stream_options"], json!(null));
    }
}
