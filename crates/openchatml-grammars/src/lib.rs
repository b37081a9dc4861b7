//! Grammars of chat-markup completions, for constrained decoding.
//!
//! With such a grammar, an engine lets a model generate only valid output: messages on the channels
//! of the format, calls of the declared tools with arguments that match their JSON Schemas, and an
//! end token if the format has one. The grammar describes the text after the prompt that
//! [`RenderOptions::generation_prompt`](openchatml::RenderOptions::generation_prompt) writes.
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
//! assert!(grammar.unenforced.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Names and schemas are data: they are always strings in the grammar, whatever characters they
//! contain. If a grammar language cannot express a part of a schema, [`Unenforced`] names the part, and
//! the grammar accepts more than the schema allows. Where JSON has several spellings of the same
//! value, the grammar may accept only one: properties are in the order of the schema, and property
//! names contain no unnecessary escapes.

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
mod unenforced;

use openchatml::harmony::Namespace;
use openchatml::{Control, TextFormat};

pub use self::error::GrammarError;
pub use self::options::{Calls, Choice, Language, Options, Presence};
pub use self::unenforced::{Requirement, Unenforced};

/// A grammar, and the parts of the format and the tools that it does not express.
///
/// ```
/// use openchatml::{Control, TextFormat};
/// use openchatml_grammars::{Grammar, Language, grammar};
///
/// let Grammar { text, ends, unenforced, .. } =
///     grammar(TextFormat::CHATML, &[], Language::Lark, &Default::default())?;
/// assert_eq!(text, "start: TEXT <|im_end|>\nTEXT: /(?s:.*)/\n");
/// assert_eq!(ends, [Control::End]);
/// assert!(unenforced.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grammar {
    /// The grammar.
    pub text: String,
    /// The control tokens that may end a completion. If the grammar omits the last token, an engine
    /// that also stops at other tokens must be prevented from generating these.
    pub ends: Vec<Control>,
    /// The parts that the grammar does not express, with at most 1,000 notes from reading one
    /// schema.
    pub unenforced: Vec<Unenforced>,
}

/// Returns the grammar of the output of a model after a prompt of `format` that ends in the turn of
/// the assistant.
///
/// `namespaces` are the tools that the prompt declares: [`Namespace::functions`] for functions of
/// the application, [`Namespace::browser`] and [`Namespace::python`] for built-in tools.
///
/// # Errors
///
/// The format is not a format of a model, a required call is impossible, or the schema of the
/// answer allows no value.
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
    let completion::Completion { shape, parts, ends, mut unenforced } = completion;
    let text = match language {
        Language::Gbnf => gbnf::write(&shape, &parts, tokens, &mut unenforced),
        Language::Lark => {
            lark::write(&shape, &parts, tokens, options.unicode_escapes, &mut unenforced)
        }
        Language::StructuralTag => tag::write(&shape, &parts, tokens, &mut unenforced),
    };
    Ok(Grammar { text, ends, unenforced })
}

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// All error types can be boxed and sent to other threads.
const _: () = {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<GrammarError>();
};
