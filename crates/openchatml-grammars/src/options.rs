//! Options of grammars.

use openchatml::{Control, Marker, Role, Value};

/// The control tokens of OpenChatML 2.2 for which `o200k_harmony` has no id.
const SPELLED: &[Control] = &[
    Control::Literal,
    Control::EndLiteral,
    Control::Marker(Marker::Reflect),
    Control::Marker(Marker::Introspect),
    Control::Marker(Marker::Reason),
];

/// The allowed completions, and how the tokenizer and the engine handle control tokens.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::harmony::Namespace;
/// use openchatml_grammars::{Choice, Language, Options, grammar};
///
/// let mut options = Options::default();
/// options.choice = Choice::Named("browser.search".into());
/// let tools = [Namespace::browser()];
/// let grammar = grammar(TextFormat::HARMONY, &tools, Language::Lark, &options)?;
/// assert!(grammar.text.contains("to=browser.search"));
/// assert!(!grammar.text.contains("to=browser.open") && !grammar.text.contains("final"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether the completion ends in a call, and in which.
    pub choice: Choice,
    /// The number of calls.
    pub calls: Calls,
    /// Whether there is reasoning (`analysis`).
    pub reasoning: Presence,
    /// Whether the prompt ended inside reasoning, for instance because a chat template wrote
    /// `<think>`. The completion then begins inside reasoning.
    pub in_reasoning: bool,
    /// Whether there are messages that tell the user the next step (`commentary`).
    pub preambles: Presence,
    /// The JSON Schema of an answer in JSON. `None` allows any text.
    pub answer: Option<Value<'static>>,
    /// The maximum number of messages before the answer or before the first call. `None`, or a
    /// value above 32, means no limit.
    pub before: Option<usize>,
    /// The control tokens that are not tokens of the tokenizer and are therefore spelled as text.
    /// The default is the control tokens of Harmony and OpenChatML 2.2 for which `o200k_harmony`
    /// has no id.
    pub spelled: Vec<Control>,
    /// The tokens of the tokenizer that are not text, each with its spelling and its id, as
    /// `Encoding::controls` of `openchatml-tokens` returns them. The grammar excludes all of them
    /// from text, including tokens that the format does not use. A structural tag refers to tokens
    /// by id. Control tokens of the format that are not in the list are spelled as text. Empty if
    /// the vocabulary is unknown.
    pub vocabulary: Vec<(String, u32)>,
    /// Whether JSON strings may contain any character as an escape (`\u00e9`) in Lark. llguidance
    /// before 1.8 rejects such a grammar; without it, strings may contain escapes only for control
    /// characters.
    pub unicode_escapes: bool,
    /// The control tokens at which the engine stops by itself. If a completion would end in one of
    /// them, the grammar omits the token, because such an engine treats it as the end of the
    /// grammar. `None` means the tokens of the usual engine, see [`Language`].
    pub stops: Option<Vec<Control>>,
    /// The maximum depth of nested schemas. The grammar accepts any value below that depth.
    pub depth: usize,
    /// The maximum number of schemas in one schema, including nested ones. The grammar accepts any
    /// value beyond that.
    pub nodes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            choice: Choice::default(),
            calls: Calls::default(),
            reasoning: Presence::default(),
            in_reasoning: false,
            preambles: Presence::default(),
            answer: None,
            before: None,
            spelled: SPELLED.to_vec(),
            vocabulary: Vec::new(),
            unicode_escapes: true,
            stops: None,
            depth: 64,
            nodes: 1 << 14,
        }
    }
}

/// Whether a completion ends in a call, and in which.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_grammars::{Choice, GrammarError, Language, Options, grammar};
///
/// let mut options = Options::default();
/// options.choice = Choice::Required;
/// let error = grammar(TextFormat::HARMONY, &[], Language::Gbnf, &options).unwrap_err();
/// assert_eq!(error, GrammarError::NoCall); // There is no tool that could be called.
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// An answer or a call.
    #[default]
    Auto,
    /// An answer.
    None,
    /// A call.
    Required,
    /// A call of this tool: `functions.get_weather`, or `get_weather` if the tool is a function.
    Named(String),
}

/// The number of calls in a completion.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::harmony::Namespace;
/// use openchatml_grammars::{Calls, Language, Options, grammar};
///
/// let mut options = Options::default();
/// options.calls = Calls::Many;
/// let tools = [Namespace::python()];
/// let grammar = grammar(TextFormat::HARMONY, &tools, Language::Gbnf, &options)?;
/// assert!(grammar.text.contains("<|call|>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Calls {
    /// One call: sampling stops at its end.
    #[default]
    One,
    /// Several calls in sequence. The engine must not stop at the end of a call, so the grammar
    /// never omits `<|call|>`. llama.cpp does stop there.
    ///
    /// Read the output as a transcript: a reader of completions
    /// ([`ReadOptions::continues`](openchatml::ReadOptions::continues)) stops at the first
    /// `<|call|>` and returns no call after it.
    Many,
}

/// Whether a completion may contain messages of a kind.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_grammars::{Language, Options, Presence, grammar};
///
/// let mut options = Options::default();
/// options.reasoning = Presence::Forbidden;
/// let grammar = grammar(TextFormat::HARMONY, &[], Language::Lark, &options)?;
/// assert!(!grammar.text.contains("analysis"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// Such messages are allowed.
    #[default]
    Allowed,
    /// Exactly one such message is required. Reasoning comes first; a preamble is the first message
    /// that is not reasoning.
    Required,
    /// Such messages are not allowed.
    Forbidden,
}

/// A grammar language, and the engine that reads it.
///
/// ```
/// use openchatml_grammars::Language;
///
/// assert_eq!(Language::from_word("structural-tag"), Some(Language::StructuralTag));
/// assert_eq!(Language::ALL.map(Language::as_str), ["gbnf", "lark", "structural-tag"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// GBNF, for llama.cpp. It refers to tokens by name, which requires a version of December 2025
    /// or newer. The engine stops at every token that ends a turn.
    Gbnf,
    /// Lark, in the variant of llguidance. The engine accepts stop tokens where the grammar
    /// contains them.
    Lark,
    /// A structural tag for xgrammar, version 0.2 or newer. The engine stops at the end of an
    /// answer.
    StructuralTag,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 3] = [Self::Gbnf, Self::Lark, Self::StructuralTag];

    /// Returns the name of the language.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::Lark => "lark",
            Self::StructuralTag => "structural-tag",
        }
    }

    /// Returns the language with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == word)
    }

    /// The control tokens at which the engines of this language stop by themselves.
    pub(crate) fn stops(self) -> &'static [Control] {
        match self {
            Self::Gbnf => {
                &[Control::Return, Control::Call, Control::End, Control::Close(Role::Assistant)]
            }
            Self::Lark => &[],
            Self::StructuralTag => {
                &[Control::Return, Control::End, Control::Close(Role::Assistant)]
            }
        }
    }
}
