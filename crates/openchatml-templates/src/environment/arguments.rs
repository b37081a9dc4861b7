//! The arguments of filters and methods.

use std::cell::Cell;

use minijinja::value::{ArgType, Kwargs};
use minijinja::{Error, ErrorKind, Value};

/// The arguments of a call, taken in their order: as in Python, each is given by its place or by
/// its name.
pub(super) struct Arguments<'a> {
    /// Those that are given by their places.
    pub(super) places: &'a [Value],
    /// Those that are given by their names.
    pub(super) names: Kwargs,
    /// How many places were asked for.
    taken: Cell<usize>,
}

impl<'a> Arguments<'a> {
    /// The arguments among these values.
    pub(super) fn of(args: &'a [Value]) -> Result<Self, Error> {
        let (places, names) = match args.split_last() {
            Some((names, places)) if names.is_kwargs() => (places, names.clone().try_into()?),
            _ => (args, Kwargs::from_iter(std::iter::empty::<(String, Value)>())),
        };
        Ok(Self { places, names, taken: Cell::new(0) })
    }

    /// The next one, if it is given.
    pub(super) fn next<'s, T>(&'s self, name: &'s str) -> Result<Option<T>, Error>
    where
        T: ArgType<'s, Output = T>,
    {
        let given = Option::<T>::from_value(self.places.get(self.taken.get()))?;
        self.taken.set(self.taken.get() + 1);
        Ok(given.or(self.names.get(name)?))
    }

    /// The next one, which has a place and no name.
    pub(super) fn placed<'s, T>(&'s self) -> Result<T, Error>
    where
        T: ArgType<'s, Output = T>,
    {
        let given = self.places.get(self.taken.get());
        self.taken.set(self.taken.get() + 1);
        T::from_value(given)
    }

    /// There are no more arguments.
    pub(super) fn end(&self) -> Result<(), Error> {
        self.end_places()?;
        self.names.assert_all_used()
    }

    /// There are no more places; whoever takes the named ones knows which of them there are.
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
