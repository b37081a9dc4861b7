//! The arguments of filters and methods.

use std::cell::Cell;

use minijinja::value::{ArgType, Kwargs};
use minijinja::{Error, ErrorKind, Value};

/// The arguments of a call, read in order. As in Python, each is given by position or by name.
pub(super) struct Arguments<'a> {
    /// The positional arguments.
    pub(super) places: &'a [Value],
    /// The named arguments.
    pub(super) names: Kwargs,
    /// The number of positional arguments that were read.
    taken: Cell<usize>,
}

impl<'a> Arguments<'a> {
    /// Splits these values into positional and named arguments.
    pub(super) fn of(args: &'a [Value]) -> Result<Self, Error> {
        let (places, names) = match args.split_last() {
            Some((names, places)) if names.is_kwargs() => (places, names.clone().try_into()?),
            _ => (args, Kwargs::from_iter(std::iter::empty::<(String, Value)>())),
        };
        Ok(Self { places, names, taken: Cell::new(0) })
    }

    /// Reads the next argument, if it is given.
    pub(super) fn next<'s, T>(&'s self, name: &'s str) -> Result<Option<T>, Error>
    where
        T: ArgType<'s, Output = T>,
    {
        let given = Option::<T>::from_value(self.places.get(self.taken.get()))?;
        self.taken.set(self.taken.get() + 1);
        Ok(given.or(self.names.get(name)?))
    }

    /// Reads the next argument, which must be positional.
    pub(super) fn placed<'s, T>(&'s self) -> Result<T, Error>
    where
        T: ArgType<'s, Output = T>,
    {
        let given = self.places.get(self.taken.get());
        self.taken.set(self.taken.get() + 1);
        T::from_value(given)
    }

    /// Checks that there are no more arguments.
    pub(super) fn end(&self) -> Result<(), Error> {
        self.end_places()?;
        self.names.assert_all_used()
    }

    /// Checks that there are no more positional arguments, and returns the named ones.
    pub(super) fn rest(self) -> Result<Kwargs, Error> {
        self.end_places().map(|()| self.names)
    }

    fn end_places(&self) -> Result<(), Error> {
        match self.taken.get() < self.places.len() {
            true => Err(Error::from(ErrorKind::TooManyArguments)),
            false => Ok(()),
        }
    }
}
