//! Data of Python, and the same data as JSON.

use openchatml::{Data, Limits, Value};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::{Failure, wrong_value};

/// The maximum depth of data, which also ends data that contains itself.
const DEPTH: usize = 128;

/// Reads data of Python: `None`, `bool`, `int`, `float`, `str`, and lists, tuples and dicts of them.
///
/// # Errors
///
/// JSON cannot express the data. The message has the path.
pub(crate) fn read(argument: &str, data: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
    let mut path = String::new();
    value(data, argument, &mut path, 0)
}

fn value(
    data: &Bound<'_, PyAny>,
    argument: &str,
    path: &mut String,
    depth: usize,
) -> PyResult<Value<'static>> {
    let refused = |path: &str, why: &str| {
        let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        wrong_value(argument, &format!("{place}{why}"))
    };
    if depth > DEPTH {
        return Err(refused("", &format!("the data is nested deeper than {DEPTH} levels")));
    }
    if data.is_none() {
        return Ok(Data::Null.into());
    }
    if let Ok(flag) = data.cast::<PyBool>() {
        return Ok(Data::Bool(flag.is_true()).into());
    }
    if let Ok(text) = data.cast::<PyString>() {
        let text = text.to_str().map_err(|_| refused(path, "it contains a lone surrogate"))?;
        return Ok(Data::String(text.to_owned().into()).into());
    }
    if data.is_instance_of::<PyInt>() {
        let digits = data.py().get_type::<PyInt>().call_method1("__repr__", (data,));
        let digits = digits.map_err(|_| refused(path, "the number has too many digits"))?;
        return Ok(Data::Number(digits.extract::<String>()?.into()).into());
    }
    if let Ok(number) = data.cast::<PyFloat>() {
        if !number.value().is_finite() {
            return Err(refused(path, "JSON has no infinite numbers and no NaN"));
        }
        let digits = data.py().get_type::<PyFloat>().call_method1("__repr__", (data,))?;
        return Ok(Data::Number(digits.extract::<String>()?.into()).into());
    }
    let length = path.len();
    if let Ok(entries) = data.cast::<PyDict>() {
        let mut map = Vec::with_capacity(entries.len());
        // A copy, because another thread may change the dict.
        for entry in entries.items() {
            let (key, item) = entry.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let key = key.cast::<PyString>().ok().and_then(|key| key.to_str().ok());
            let key = key.ok_or_else(|| refused(path, "a key is not a text"))?.to_owned();
            path.push('/');
            path.push_str(&key);
            let item = value(&item, argument, path, depth + 1)?;
            path.truncate(length);
            map.push((key.into(), item));
        }
        return Ok(Data::Map(map).into());
    }
    let items = match (data.cast::<PyList>(), data.cast::<PyTuple>()) {
        (Ok(list), _) => list.to_tuple(),
        (_, Ok(tuple)) => tuple.clone(),
        _ => {
            let kind = data.get_type().name()?.to_string();
            return Err(refused(path, &format!("JSON has no `{kind}`")));
        }
    };
    let mut list = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        path.push_str(&format!("/{at}"));
        list.push(value(&item, argument, path, depth + 1)?);
        path.truncate(length);
    }
    Ok(Data::List(list).into())
}

/// Converts a value to data of Python.
///
/// # Errors
///
/// A number is too large for a `float`, or has more digits than Python converts to an `int`.
pub(crate) fn write<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    match &value.data {
        Data::Null => Ok(py.None().into_bound(py)),
        Data::Bool(flag) => flag.into_bound_py_any(py),
        Data::Number(spelling) => number(py, spelling),
        Data::String(text) => text.as_ref().into_bound_py_any(py),
        Data::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(write(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Data::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key.as_ref(), write(py, item)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

fn number<'py>(py: Python<'py>, spelling: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(number) = spelling.parse::<i64>() {
        return number.into_bound_py_any(py);
    }
    let refused = || Failure::new("ParseError", "Python cannot represent a number of the data");
    if !spelling.contains(['.', 'e', 'E']) {
        let number = py.get_type::<PyInt>().call1((spelling,));
        return number.map_err(|_| refused().into());
    }
    match spelling.parse::<f64>() {
        Ok(number) if number.is_finite() => number.into_bound_py_any(py),
        _ => Err(refused().into()),
    }
}

/// Parses JSON that a writer of the library wrote.
///
/// # Errors
///
/// As [`write`].
pub(crate) fn from_json<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    let value = Value::from_json(json, &unlimited())
        .map_err(|found| Failure::found("ParseError", &found, None))?;
    write(py, &value)
}

/// Limits for data that was read before.
fn unlimited() -> Limits {
    let mut limits = Limits::default();
    for name in Limits::NAMES {
        let highest = Limits::highest(name);
        if let Some(limit) = limits.get_mut(name) {
            *limit = highest;
        }
    }
    limits
}
