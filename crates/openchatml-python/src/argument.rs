//! Arguments: each is checked, and a wrong one is named in the exception.

use openchatml::{Carrier, Format, FormatError, TextFormat};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::error::{Failure, wrong_type, wrong_value};

/// A keyword argument, or any other argument with a name.
pub(crate) struct Argument<'a, 'py> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Bound<'py, PyAny>,
}

impl<'a, 'py> Argument<'a, 'py> {
    pub(crate) fn new(name: &'a str, value: &'a Bound<'py, PyAny>) -> Self {
        Self { name, value }
    }

    /// A text, without surrogates.
    pub(crate) fn text(&self) -> PyResult<&'a str> {
        let Ok(text) = self.value.cast::<PyString>() else {
            return Err(wrong_type(self.name, "a `str`", self.value));
        };
        text.to_str().map_err(|_| wrong_value(self.name, "the text contains a lone surrogate"))
    }

    pub(crate) fn optional_text(&self) -> PyResult<Option<&'a str>> {
        if self.value.is_none() { Ok(None) } else { self.text().map(Some) }
    }

    pub(crate) fn flag(&self) -> PyResult<bool> {
        match self.value.cast::<PyBool>() {
            Ok(flag) => Ok(flag.is_true()),
            Err(_) => Err(wrong_type(self.name, "a `bool`", self.value)),
        }
    }

    pub(crate) fn optional_flag(&self) -> PyResult<Option<bool>> {
        if self.value.is_none() { Ok(None) } else { self.flag().map(Some) }
    }

    /// A whole number of 0 or more. `bool` is not a number here.
    pub(crate) fn number(&self) -> PyResult<usize> {
        if self.value.is_instance_of::<PyBool>() || !self.value.is_instance_of::<PyInt>() {
            return Err(wrong_type(self.name, "an `int`", self.value));
        }
        let number = self.value.extract();
        number.map_err(|_| wrong_value(self.name, "the number is negative or too large"))
    }

    pub(crate) fn optional_number(&self) -> PyResult<Option<usize>> {
        if self.value.is_none() { Ok(None) } else { self.number().map(Some) }
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(
        &self,
        all: &[T],
        spelling: impl Fn(T) -> &'static str,
    ) -> PyResult<T> {
        let word = self.text()?;
        all.iter().copied().find(|it| spelling(*it) == word).ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|it| format!("`{}`", spelling(*it))).collect();
            wrong_value(self.name, &format!("`{}` is not one of {}", cut(word), words.join(", ")))
        })
    }

    pub(crate) fn optional_word<T: Copy>(
        &self,
        all: &[T],
        spelling: impl Fn(T) -> &'static str,
    ) -> PyResult<Option<T>> {
        if self.value.is_none() { Ok(None) } else { self.word(all, spelling).map(Some) }
    }

    /// The name of a format.
    pub(crate) fn format(&self) -> PyResult<Format> {
        let name = self.text()?;
        Ok(name.parse().map_err(Failure::from)?)
    }

    /// The name of a format, or `auto` (`None`).
    pub(crate) fn format_or_auto(&self) -> PyResult<Option<Format>> {
        if self.text()? == AUTO { Ok(None) } else { self.format().map(Some) }
    }

    /// The name of a text format.
    pub(crate) fn text_format(&self) -> PyResult<TextFormat> {
        Ok(self.format()?.text().map_err(Failure::from)?)
    }

    /// The items of a sequence or another iterable.
    pub(crate) fn items(&self) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let is_text = self.value.is_instance_of::<PyString>();
        match self.value.try_iter() {
            Ok(items) if !is_text => items.collect(),
            _ => Err(wrong_type(self.name, "an iterable", self.value)),
        }
    }

    /// The texts of a sequence or another iterable.
    pub(crate) fn texts(&self) -> PyResult<Vec<String>> {
        let items = self.items()?;
        items.iter().map(|it| Argument::new(self.name, it).text().map(str::to_owned)).collect()
    }
}

/// The format of an argument that must be JSON.
pub(crate) fn json_format(format: Option<&Bound<'_, PyAny>>) -> PyResult<Format> {
    let format = match format {
        Some(format) => Argument::new("format", format).format()?,
        None => Format::OPENAI,
    };
    match format.carrier() {
        Carrier::Json => Ok(format),
        _ => Err(Failure::from(FormatError::NoJson(format.to_string())).into()),
    }
}

/// The name of the detected format.
const AUTO: &str = "auto";

/// Calls `set` for each keyword argument. It returns whether it knows the name.
///
/// # Errors
///
/// An argument is unknown, or `set` fails.
pub(crate) fn keywords<'py>(
    keywords: Option<&Bound<'py, PyDict>>,
    mut set: impl FnMut(&Argument<'_, 'py>) -> PyResult<bool>,
) -> PyResult<()> {
    let Some(keywords) = keywords else { return Ok(()) };
    for (name, value) in keywords.iter() {
        let name = name.cast::<PyString>()?.to_str()?;
        if !set(&Argument::new(name, &value))? {
            let text = format!("unexpected keyword argument `{}`", cut(name));
            return Err(Failure::new("ArgumentTypeError", text).into());
        }
    }
    Ok(())
}

/// The first characters of a text, for messages.
pub(crate) fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    if text.chars().nth(64).is_some() {
        cut.push('…');
    }
    cut
}
