//! Names of formats and roles.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use openchatml::{Carrier, Format, Role};

/// The format of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Whatever is detected.
    Auto,
    /// This one.
    Format(Format),
}

/// Reads the name of an input format.
pub(crate) fn choice() -> impl TypedValueParser<Value = Choice> {
    let names = std::iter::once(PossibleValue::new("auto")).chain(names(|_| true));
    PossibleValuesParser::new(names.collect::<Vec<_>>())
        .map(|name| name.parse().map_or(Choice::Auto, Choice::Format))
}

/// Reads the name of a format.
pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    let names = names(|_| true).collect::<Vec<_>>();
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Reads the name of a text format.
pub(crate) fn text_format() -> impl TypedValueParser<Value = Format> {
    let names = names(|format| format.carrier() == Carrier::Text).collect::<Vec<_>>();
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// The names of formats; the carrier may be named where it goes without saying, too.
fn names(is_wanted: impl Fn(&Format) -> bool) -> impl Iterator<Item = PossibleValue> {
    Format::all().filter(is_wanted).flat_map(|format| {
        let short = format.to_string();
        let long = format!("{}:{}", format.dialect().id, format.carrier().as_str());
        let hidden = (long != short).then(|| PossibleValue::new(long).hide(true));
        std::iter::once(PossibleValue::new(short)).chain(hidden)
    })
}

/// Reads the name of a role.
pub(crate) fn role() -> impl TypedValueParser<Value = Role> {
    let names = Role::ALL.iter().map(|role| role.as_str()).collect::<Vec<_>>();
    PossibleValuesParser::new(names).try_map(|name| Role::from_word(&name).ok_or("no such role"))
}
