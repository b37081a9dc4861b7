//! What a completion may be.

use openchatml::{Control, Marker, Role, Value};

/// The control tokens of OpenChatML 2.2 that `o200k_harmony` has no ids for.
const SPELLED: &[Control] = &[
    Control::Literal,
    Control::EndLiteral,
    Control::Marker(Marker::Reflect),
    Control::Marker(Marker::Introspect),
    Control::Marker(Marker::Reason),
];

/// What a completion may be, and how the model and its engine have the control tokens.
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
    /// Whether the completion ends in a call, and which.
    pub choice: Choice,
    /// How many calls it may have.
    pub calls: Calls,
    /// Messages of reasoning (`analysis`).
    pub reasoning: Presence,
    /// Whether the prompt ended inside of reasoning, as it does where a chat template writes `<think>`
    /// itself: the completion begins there.
    pub in_reasoning: bool,
    /// Messages that say to the user what comes next (`commentary`).
    pub preambles: Presence,
    /// The JSON Schema of an answer that is JSON. `None` lets it be any text.
    pub answer: Option<Value<'static>>,
    /// How many messages may stand before the answer, or before the first call. `None`, or more
    /// than 32, sets no bound.
    pub before: Option<usize>,
    /// The control tokens that are no tokens of the model's tokenizer, so that it spells them. By
    /// default those of Harmony and OpenChatML 2.2 that `o200k_harmony` has no ids for.
    pub spelled: Vec<Control>,
    /// The tokens of the model's tokenizer that are no text: how each is spelled, and its id, as
    /// `Encoding::controls` of `openchatml-tokens` lists them. Text holds none of them, whether the
    /// format has them or not, and a structural tag names tokens by their ids. Control tokens of the
    /// format that are not among them are spelled. Empty if they are not known.
    pub vocabulary: Vec<(String, u32)>,
    /// Whether JSON strings may hold any character as an escape (`\u00e9`) in Lark. llguidance before
    /// 1.8 refuses a grammar that says so; its strings have such escapes of control characters alone.
    pub unicode_escapes: bool,
    /// The control tokens at which the engine stops by itself. Where a completion would end in one,
    /// the grammar leaves it out: such engines take it for the end of the grammar. `None` is what
    /// the engines of the language do, see [`Language`].
    pub stops: Option<Vec<Control>>,
    /// So deep may schemas stand in each other. Below that, anything is accepted.
    pub depth: usize,
    /// So many schemas may there be in one, those of its parts included. Beyond that, anything is
    /// accepted.
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

/// Whether a completion ends in a call, and which.
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
    /// In an answer or in a call.
    #[default]
    Auto,
    /// In an answer.
    None,
    /// In a call.
    Required,
    /// In a call of this tool: `functions.get_weather`, or `get_weather` if it is a function.
    Named(String),
}

/// How many calls a completion may have.
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
    /// One: sampling stops where it ends.
    #[default]
    One,
    /// One after the other. The engine must not stop at the end of a call, so the grammar never
    /// leaves `<|call|>` out. llama.cpp does stop there.
    ///
    /// Read the output as a transcript: a reader of completions
    /// ([`ReadOptions::continues`](openchatml::ReadOptions::continues)) stops at the first
    /// `<|call|>` and makes no call after it.
    Many,
}

/// Whether messages of a kind may be in a completion.
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
    /// They may.
    #[default]
    Allowed,
    /// There is one: reasoning comes first, a preamble is the first message that is not reasoning.
    Required,
    /// They may not.
    Forbidden,
}

/// A language for grammars, and the engine that reads it.
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
    /// GBNF, of llama.cpp. It refers to tokens by name, which needs a version of December 2025 or
    /// newer. The engine stops at every token that ends a turn.
    Gbnf,
    /// Lark, in the variant of llguidance. The engine takes stop tokens where the grammar has them.
    Lark,
    /// A structural tag of xgrammar, from version 0.2. The engine stops at the end of an answer.
    StructuralTag,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 3] = [Self::Gbnf, Self::Lark, Self::StructuralTag];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::Lark => "lark",
            Self::StructuralTag => "structural-tag",
        }
    }

    /// The language with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == word)
    }

    /// The control tokens at which its engines stop by themselves.
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
