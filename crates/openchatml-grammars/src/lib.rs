//! The completions of chat-markup formats as grammars for constrained decoding.
//!
//! An engine that is given such a grammar lets a model say only what follows the format: messages on
//! the channels that it has, calls of the tools that are declared, with arguments as their JSON
//! Schema wants them, and an end where the format has one. The grammar is of what follows the prompt
//! that [`RenderOptions::generation_prompt`](openchatml::RenderOptions::generation_prompt) asks for.
//!
//! ```
//! use openchatml::{TextFormat, Tool};
//! use openchatml::harmony::Namespace;
//! use openchatml_grammars::{Language, grammar};
//!
//! let tool = Tool::new("get_time");
//! let tools = [Namespace::functions(vec![tool])];
//! let grammar = grammar(TextFormat::HARMONY, &tools, Language::Lark, &Default::default())?;
//! assert!(grammar.text.contains(
//!     r#"<|channel|> "commentary to=functions.get_time " <|constrain|> "json") <|message|> json_0"#
//! ));
//! assert!(grammar.unsaid.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Names and schemas are data: whatever they spell, they stay strings of the grammar. What a
//! language cannot say of a schema is [`Unsaid`], by name and place: the grammar accepts more there,
//! never less. It does accept less in what JSON leaves open and a schema does not speak of:
//! properties come in the order of the schema, and names that it lists have no escapes that they do
//! not need.

#![forbid(unsafe_code)]

mod completion;
mod error;
mod gbnf;
mod headers;
mod lark;
mod options;
mod schema;
mod sections;
mod shape;
mod tag;
mod tokens;
mod unsaid;

use openchatml::harmony::Namespace;
use openchatml::{Control, TextFormat};

pub use self::error::GrammarError;
pub use self::options::{Calls, Choice, Language, Options, Presence};
pub use self::unsaid::{Unsaid, What};

/// A grammar, and what of the format and the tools it does not say.
///
/// ```
/// use openchatml::{Control, TextFormat};
/// use openchatml_grammars::{Grammar, Language, grammar};
///
/// let Grammar { text, ends, unsaid, .. } =
///     grammar(TextFormat::IM, &[], Language::Lark, &Default::default())?;
/// assert_eq!(text, "start: TEXT <|im_end|>\nTEXT: /(?s:.*)/\n");
/// assert_eq!(ends, [Control::End]);
/// assert!(unsaid.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grammar {
    /// The grammar.
    pub text: String,
    /// The control tokens in which a completion may end. An engine that stops at others as well must
    /// be kept from these, where the grammar leaves the last token out.
    pub ends: Vec<Control>,
    /// What it does not say, with at most 1,000 notes on the reading of one schema.
    pub unsaid: Vec<Unsaid>,
}

/// The grammar of what a model may say after a prompt of `format` that ends where the assistant
/// speaks.
///
/// `namespaces` are the tools that the prompt declares: [`Namespace::functions`] those of the
/// application, [`Namespace::browser`] and [`Namespace::python`] those that are built in.
///
/// # Errors
///
/// The format is none that a model speaks, a call is asked for that cannot be made, or the answer's
/// schema allows nothing.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::harmony::Namespace;
/// use openchatml_grammars::{Language, grammar};
///
/// let tools = [Namespace::browser(), Namespace::python()];
/// let grammar = grammar(TextFormat::HARMONY, &tools, Language::Gbnf, &Default::default())?;
/// // A call of `python` has no JSON in it, and may be on the channel of reasoning.
/// assert!(grammar.text.contains(r#""analysis" " to=python""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn grammar(
    format: TextFormat,
    namespaces: &[Namespace<'_>],
    language: Language,
    options: &Options,
) -> Result<Grammar, GrammarError> {
    let stops = options.stops.as_deref().unwrap_or(language.stops());
    let completion = completion::completion(format, namespaces, options, stops)?;
    let tokens = tokens::Tokens::new(format.controls(), options);
    let completion::Completion { shape, parts, ends, mut unsaid } = completion;
    let text = match language {
        Language::Gbnf => gbnf::write(&shape, &parts, tokens, &mut unsaid),
        Language::Lark => lark::write(&shape, &parts, tokens, options.unicode_escapes, &mut unsaid),
        Language::StructuralTag => tag::write(&shape, &parts, tokens, &mut unsaid),
    };
    Ok(Grammar { text, ends, unsaid })
}

/// Errors can be boxed, and sent to other threads.
const _: () = {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<GrammarError>();
};
