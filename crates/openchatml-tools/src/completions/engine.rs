//! The kinds of completion servers: the fields of their requests and responses.

use std::fmt;
use std::str::FromStr;

use openchatml::Control;
use openchatml_grammars::Language;
use serde_json::Value;

use super::UpstreamError;

/// A kind of completion server.
///
/// Servers require different fields to keep control tokens in the completion, return token ids in
/// different ways, and reject different fields: some servers report an error for an unknown field.
/// The client sends each server only the fields that it supports.
///
/// ```
/// use openchatml_tools::Engine;
///
/// let engine: Engine = "llama-cpp".parse()?;
/// assert_eq!(engine, Engine::LlamaCpp);
/// assert!(engine.tells_ids() && !Engine::Ollama.tells_ids());
/// # Ok::<(), openchatml_tools::UnknownEngine>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// llama.cpp's `llama-server`.
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Ollama, with its own `/api/generate`: its `/v1/completions` applies a template to prompts.
    Ollama,
    /// Any server with OpenAI's `/v1/completions`. The client sends only fields that OpenAI knows.
    OpenAi,
}

/// The properties of a kind of server.
pub(super) struct EngineProfile {
    word: &'static str,
    /// The value of `owned_by` in its list of models.
    owner: &'static str,
    /// The path of completions.
    pub(super) path: &'static str,
    /// The fields that keep control tokens in the text, including the last one, and that prevent
    /// text between them or before the prompt.
    pub(super) keeps_controls: &'static [(&'static str, bool)],
    /// The fields that make the server return ids. Empty if it cannot.
    pub(super) tells_ids: &'static [(&'static str, bool)],
    /// The field for the ids that end a completion.
    pub(super) stop_ids: Option<&'static str>,
    /// The field for the spellings that must remain in the text.
    pub(super) controls: Option<&'static str>,
    /// Whether the server rejects a `max_tokens` that exceeds the free context.
    pub(super) refuses_excess: bool,
    /// The fields for grammars. The first is the default.
    pub(super) grammars: &'static [GrammarField],
    /// How banned ids are sent.
    pub(super) bans: BanFormat,
}

/// How a server accepts grammars of one language.
pub(super) struct GrammarField {
    pub(super) language: Language,
    /// The name of the field. A dot separates the key of an object and the key inside it.
    pub(super) field: &'static str,
    /// Whether the grammar is sent as JSON and not as a string.
    pub(super) is_json: bool,
    /// The control tokens that the grammar must omit because the server stops at them, if they
    /// differ from those of the language.
    pub(super) stops: Option<&'static [Control]>,
}

/// The tokens that end a completion in any format. Models declare them as their stop tokens.
const ENDS: &[Control] = &[Control::Return, Control::Call, Control::End];

/// The format of banned ids in the field `logit_bias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BanFormat {
    /// `[[id, false], …]`
    Pairs,
    /// `{"id": -100, …}`
    Biases,
}

const LLAMA_CPP: EngineProfile = EngineProfile {
    word: "llama-cpp",
    owner: "llamacpp",
    path: "v1/completions",
    keeps_controls: &[],
    // The ids are part of the verbose output.
    tells_ids: &[("return_tokens", true), ("verbose", true)],
    stop_ids: None,
    controls: Some("preserved_tokens"),
    refuses_excess: false,
    grammars: &[GrammarField {
        language: Language::Gbnf,
        field: "grammar",
        is_json: false,
        stops: None,
    }],
    bans: BanFormat::Pairs,
};

const VLLM: EngineProfile = EngineProfile {
    word: "vllm",
    owner: "vllm",
    path: "v1/completions",
    keeps_controls: &[
        ("skip_special_tokens", false),
        ("spaces_between_special_tokens", false),
        ("include_stop_str_in_output", true),
        ("add_special_tokens", false),
    ],
    tells_ids: &[("return_token_ids", true)],
    stop_ids: Some("stop_token_ids"),
    controls: None,
    refuses_excess: true,
    grammars: &[
        GrammarField {
            language: Language::StructuralTag,
            field: "structured_outputs.structural_tag",
            is_json: false,
            stops: Some(ENDS),
        },
        GrammarField {
            language: Language::Lark,
            field: "structured_outputs.grammar",
            is_json: false,
            stops: None,
        },
    ],
    bans: BanFormat::Biases,
};

const SGLANG: EngineProfile = EngineProfile {
    word: "sglang",
    owner: "sglang",
    path: "v1/completions",
    keeps_controls: &[
        ("skip_special_tokens", false),
        ("spaces_between_special_tokens", false),
        ("no_stop_trim", true),
    ],
    tells_ids: &[("return_token_ids", true)],
    stop_ids: Some("stop_token_ids"),
    controls: None,
    refuses_excess: true,
    grammars: &[GrammarField {
        language: Language::StructuralTag,
        field: "response_format",
        is_json: true,
        stops: Some(ENDS),
    }],
    bans: BanFormat::Biases,
};

const OLLAMA: EngineProfile = EngineProfile {
    word: "ollama",
    owner: "library",
    path: "api/generate",
    keeps_controls: &[],
    tells_ids: &[],
    stop_ids: None,
    controls: None,
    refuses_excess: false,
    grammars: &[],
    bans: BanFormat::Biases,
};

const OPEN_AI: EngineProfile = EngineProfile {
    word: "openai",
    owner: "",
    path: "v1/completions",
    keeps_controls: &[],
    tells_ids: &[],
    stop_ids: None,
    controls: None,
    refuses_excess: true,
    grammars: &[],
    bans: BanFormat::Biases,
};

impl Engine {
    /// All engines.
    pub const ALL: &'static [Self] =
        &[Self::LlamaCpp, Self::Vllm, Self::Sglang, Self::Ollama, Self::OpenAi];

    pub(super) fn facts(self) -> &'static EngineProfile {
        match self {
            Self::LlamaCpp => &LLAMA_CPP,
            Self::Vllm => &VLLM,
            Self::Sglang => &SGLANG,
            Self::Ollama => &OLLAMA,
            Self::OpenAi => &OPEN_AI,
        }
    }

    /// Returns the name in lower case.
    pub fn as_str(self) -> &'static str {
        self.facts().word
    }

    /// Returns how the server accepts grammars, in this language if one is given.
    ///
    /// # Errors
    ///
    /// The server accepts no grammars, or none in this language.
    pub(super) fn grammar_support(
        self,
        wanted: Option<Language>,
    ) -> Result<&'static GrammarField, UpstreamError> {
        let mut ways = self.facts().grammars.iter();
        ways.find(|way| wanted.is_none_or(|wanted| way.language == wanted)).ok_or_else(|| {
            UpstreamError::NoGrammars { upstream: Some(self.to_string()), language: wanted }
        })
    }

    /// Whether the engine can return the ids of a completion.
    pub fn tells_ids(self) -> bool {
        !self.facts().tells_ids.is_empty()
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a name that is not an [`Engine`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown engine `{}`", self.0.escape_debug())
    }
}

impl std::error::Error for UnknownEngine {}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(word: &str) -> Result<Self, UnknownEngine> {
        let found = Self::ALL.iter().find(|engine| engine.as_str() == word);
        found.copied().ok_or_else(|| UnknownEngine(word.to_owned()))
    }
}

/// The information that a server reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerInfo {
    pub(super) engine: Engine,
    /// The maximum number of ids of a prompt with its completion, if the server reports it.
    pub(super) context: Option<u64>,
}

impl ServerInfo {
    /// Reads a response to `GET /v1/models`: the kind of the server, and the context of this model.
    pub(super) fn of_models(models: &Value, wanted: Option<&str>) -> Option<Self> {
        let models = models.get("data")?.as_array()?;
        let is_wanted =
            |it: &&Value| wanted.is_some_and(|name| it.get("id").is_some_and(|id| id == name));
        let model = models.iter().find(is_wanted).or_else(|| models.first())?;
        let owner = model.get("owned_by").and_then(Value::as_str).unwrap_or_default();
        let known = Engine::ALL.iter().find(|engine| engine.facts().owner == owner);
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).filter(|it| *it > 0);
        let context = number(model.get("max_model_len"))
            .or_else(|| number(model.get("meta").and_then(|meta| meta.get("n_ctx"))));
        Some(Self { engine: known.copied().unwrap_or(Engine::OpenAi), context })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Engine, ServerInfo};

    #[test]
    fn engines_are_detected_from_their_models() {
        let llama = json!({"data": [{"id": "m", "owned_by": "llamacpp",
            "meta": {"n_ctx": 8192, "n_ctx_train": 131_072}}]});
        let server = ServerInfo { engine: Engine::LlamaCpp, context: Some(8192) };
        assert_eq!(ServerInfo::of_models(&llama, None), Some(server));
        let vllm = json!({"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 4096},
            {"id": "b", "owned_by": "vllm", "max_model_len": 2048}]});
        let server = ServerInfo { engine: Engine::Vllm, context: Some(2048) };
        assert_eq!(ServerInfo::of_models(&vllm, Some("b")), Some(server));
        let other = json!({"data": [{"id": "gpt-x", "owned_by": "system"}]});
        let server = ServerInfo { engine: Engine::OpenAi, context: None };
        assert_eq!(ServerInfo::of_models(&other, Some("gpt-x")), Some(server));
        assert_eq!(ServerInfo::of_models(&json!({"data": []}), None), None);
        assert_eq!(ServerInfo::of_models(&json!([1]), None), None);
    }

    #[test]
    fn names_are_read_back() {
        for engine in Engine::ALL {
            assert_eq!(engine.as_str().parse(), Ok(*engine));
        }
    }
}
