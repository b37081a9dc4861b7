//! The tools of a conversation, from declarations and from functions of Python.

use openchatml::harmony::Namespace;
use openchatml::{Data, Format, ReadOptions, Tool, Value, parse};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};

use crate::argument::Argument;
use crate::data;
use crate::error::wrong_value;

/// Reads tools: functions as OpenAI's API declares them, or functions of Python.
pub(crate) fn tools(argument: &Argument<'_, '_>) -> PyResult<Vec<Tool<'static>>> {
    if argument.value.is_none() {
        return Ok(Vec::new());
    }
    let mut declared = Vec::new();
    for item in argument.items()? {
        let data = match item.is_callable() && !item.is_instance_of::<PyType>() {
            true => declaration(&item)?,
            false => item,
        };
        declared.push(data::read(argument.name, &data)?);
    }
    let empty = Data::List(Vec::new()).into();
    let map =
        Data::Map(vec![("tools".into(), Data::List(declared).into()), ("messages".into(), empty)]);
    let json = Value::from(map).to_json();
    let parsed = parse(&json, Format::JSON, &ReadOptions::default());
    if let Some(found) = parsed.diagnostics.first() {
        let why = format!("a tool is invalid: {}", found.message);
        return Err(wrong_value(argument.name, &why));
    }
    Ok(parsed.into_conversation().into_owned().tools)
}

/// The declaration of a function of Python.
pub(crate) fn declaration<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    function.py().import("openchatml._declare")?.call_method1("declaration", (function,))
}

/// Returns a built-in namespace of gpt-oss: `browser` or `python`.
#[pyfunction]
#[pyo3(name = "_builtin_tools")]
pub(crate) fn builtin_tools<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let namespace = match Argument::new("name", name).text()? {
        "browser" => Namespace::browser(),
        "python" => Namespace::python(),
        _ => return Err(wrong_value("name", "the built-in tools are `browser` and `python`")),
    };
    let tools = PyList::empty(py);
    for tool in &namespace.tools {
        let dict = PyDict::new(py);
        dict.set_item("name", &*tool.name)?;
        dict.set_item("description", tool.description.as_deref().unwrap_or_default())?;
        if let Some(parameters) = &tool.parameters {
            dict.set_item("parameters", data::write(py, parameters)?)?;
        }
        tools.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("name", &*namespace.name)?;
    dict.set_item("description", namespace.description.as_deref())?;
    dict.set_item("tools", tools)?;
    Ok(dict)
}
