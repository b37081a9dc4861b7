//! Names of formats and roles.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use openchatml::{Carrier, Format, Role, TextFormat};

use super::late::late;

/// The format of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The detected format.
    Auto,
    /// A named format.
    Format(Format),
    /// Token ids of this text format.
    Tokens(TextFormat),
}

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) format: Format,
    /// Whether to write token ids instead of text.
    pub(crate) tokens: bool,
}

/// Parses the name of an input format.
pub(crate) fn choice() -> impl TypedValueParser<Value = Choice> {
    late(|| {
        let names = std::iter::once(PossibleValue::new("auto")).chain(names(|_| true));
        PossibleValuesParser::new(names.chain(token_names()).collect::<Vec<_>>()).map(|name| {
            let tokens = tokens(&name).map(Choice::Tokens);
            tokens.unwrap_or_else(|| name.parse().map_or(Choice::Auto, Choice::Format))
        })
    })
}

/// Parses the name of an output format.
pub(crate) fn written() -> impl TypedValueParser<Value = Written> {
    late(|| {
        let names = names(|_| true).chain(token_names()).collect::<Vec<_>>();
        PossibleValuesParser::new(names).try_map(|name| match tokens(&name) {
            Some(format) => Ok(Written { format: format.into(), tokens: true }),
            None => name.parse().map(|format| Written { format, tokens: false }),
        })
    })
}

/// The suffix of a format name that means token ids.
const TOKENS: &str = ":tokens";

/// The text format of a name with that suffix.
fn tokens(name: &str) -> Option<TextFormat> {
    name.strip_suffix(TOKENS)?.parse().ok()
}

/// The names for token ids of each text format.
fn token_names() -> impl Iterator<Item = PossibleValue> {
    TextFormat::all().map(|format| {
        let dialect = format.dialect();
        PossibleValue::new(format!("{}{TOKENS}", dialect.id))
            .aliases(dialect.aliases.iter().map(|alias| format!("{alias}{TOKENS}")))
    })
}

/// Parses the name of a text format.
pub(crate) fn text_format() -> impl TypedValueParser<Value = TextFormat> {
    late(|| TextNames)
}

/// The names of text formats. Another format gets its own error.
#[derive(Clone)]
struct TextNames;

impl TextNames {
    fn names() -> Vec<PossibleValue> {
        names(|format| format.carrier() == Carrier::Text).collect()
    }
}

impl TypedValueParser for TextNames {
    type Value = TextFormat;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<TextFormat, Error> {
        let format = value.to_str().and_then(|name| name.parse::<Format>().ok());
        if let Some(format) = format
            && TextFormat::try_from(format).is_err()
        {
            let dialect = format.dialect().id;
            let others = TextFormat::all().map(|format| format.to_string()).collect::<Vec<_>>();
            let text = format!(
                "`{format}` is JSON, so it has no token ids and no control tokens\n\n  \
                 formats that have: {}\n",
                others.join(", "),
            );
            let is_stream = command.get_name() == "stream";
            let text = match is_stream {
                true => format!(
                    "{text}  a captured stream of a service is a file for `ocml convert` and `ocml parse`\n"
                ),
                false => text,
            };
            let text = match format.text() {
                Ok(other) => format!("{text}  `{dialect}` as text: {other}\n"),
                Err(_) => text,
            };
            return Err(Error::raw(ErrorKind::ValueValidation, text).with_cmd(command));
        }
        let parser = PossibleValuesParser::new(Self::names());
        parser.try_map(|name| name.parse::<TextFormat>()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Self::names().into_iter()))
    }
}

/// The names of formats. The carrier is optional where a format has only one.
fn names(is_wanted: impl Fn(&Format) -> bool) -> impl Iterator<Item = PossibleValue> {
    Format::all().filter(is_wanted).flat_map(|format| {
        let (dialect, carrier) = (format.dialect(), format.carrier().as_str());
        let short = format.to_string();
        let rest = short.strip_prefix(dialect.id).unwrap_or_default().to_owned();
        let aliases = dialect.aliases.iter().map(move |alias| format!("{alias}{rest}"));
        let long = format!("{}:{carrier}", dialect.id);
        let hidden = (long != short).then(|| PossibleValue::new(long).hide(true));
        std::iter::once(PossibleValue::new(short).aliases(aliases)).chain(hidden)
    })
}

/// Parses the name of a role.
pub(crate) fn role() -> impl TypedValueParser<Value = Role> {
    late(|| {
        let names = Role::ALL.iter().map(|role| role.as_str()).collect::<Vec<_>>();
        PossibleValuesParser::new(names)
            .try_map(|name| Role::from_word(&name).ok_or("unknown role"))
    })
}
