//! The kinds of completion servers: the fields of their requests and responses.

use std::fmt;
use std::str::FromStr;

use openchatml::Control;
use openchatml_grammars::Language;
use serde_json::Value;

use super::UpstreamError;

/// A kind of server of completions.
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
    /// Ollama: its own `/api/generate`, since its `/v1/completions` puts a template around prompts.
    Ollama,
    /// Any server of OpenAI's `/v1/completions`. Nothing is sent that OpenAI's does not know.
    OpenAi,
}

/// What is known of a kind of server.
pub(super) struct EngineProfile {
    word: &'static str,
    /// Whom its list of models names as their owner.
    owner: &'static str,
    /// Where it is asked.
    pub(super) path: &'static str,
    /// What is sent so that control tokens are part of the text, the last one too, and nothing is
    /// put between them or before the prompt.
    pub(super) keeps_controls: &'static [(&'static str, bool)],
    /// What is sent so that it tells ids; nothing if it cannot.
    pub(super) tells_ids: &'static [(&'static str, bool)],
    /// The field of the ids that end a completion.
    pub(super) stop_ids: Option<&'static str>,
    /// The field of the spellings that are to be left in the text.
    pub(super) controls: Option<&'static str>,
    /// Whether it refuses to say more than there is room for.
    pub(super) refuses_excess: bool,
    /// How it takes grammars: the first is what it is given if nothing else is wanted.
    pub(super) grammars: &'static [GrammarField],
    /// How it is told of ids that may not be sampled.
    pub(super) bans: BanFormat,
}

/// How a server takes grammars of one language.
pub(super) struct GrammarField {
    pub(super) language: Language,
    /// The field: a key, in an object of that key if there is a dot.
    pub(super) field: &'static str,
    /// Whether the grammar, which is JSON then, is not put in a string.
    pub(super) is_json: bool,
    /// The control tokens that a grammar must leave out since it stops at them, if these are not those
    /// of the language.
    pub(super) stops: Option<&'static [Control]>,
}

/// The tokens that end a completion of any format: models name them as their stop tokens.
const ENDS: &[Control] = &[Control::Return, Control::Call, Control::End];

/// How a server is told of ids that may not be sampled, in the field `logit_bias`.
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
    // The ids stand among what is told to those who want to know more.
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

    /// Returns its name in lower case.
    pub fn as_str(self) -> &'static str {
        self.facts().word
    }

    /// How grammars are given to it, in this language if one is wanted.
    ///
    /// # Errors
    ///
    /// It takes no grammars, or none in this language.
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

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerInfo {
    pub(super) engine: Engine,
    /// How many ids a prompt and its completion may be, where the server tells.
    pub(super) context: Option<u64>,
}

impl ServerInfo {
    /// What an answer to `GET /v1/models` says of the server and of this model of its.
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
    fn servers_are_known_by_their_models() {
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
