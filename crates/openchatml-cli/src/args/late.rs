//! Value parsers with many names, which are built only when they are needed. Building the parsers
//! of all commands took a quarter of the instructions at startup.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Wraps a parser that is built on first use.
pub(crate) fn late<P: TypedValueParser>(make: fn() -> P) -> impl TypedValueParser<Value = P::Value>
where
    P::Value: Clone + Send + Sync + 'static,
{
    Late(make)
}

struct Late<P>(fn() -> P);

impl<P> Clone for Late<P> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<P: TypedValueParser> TypedValueParser for Late<P>
where
    P::Value: Clone + Send + Sync + 'static,
{
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        (self.0)().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<_> = (self.0)().possible_values()?.collect();
        Some(Box::new(values.into_iter()))
    }
}
