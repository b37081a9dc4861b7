//! The fields of messages, from arguments.

use openchatml::{Body, Channel, End, Intent, Marker, Message, Role, Segment, Weight};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::argument::{Argument, cut, keywords};
use crate::data;
use crate::error::{wrong_type, wrong_value};

/// Changes the fields of a message.
pub(crate) fn change(
    message: &mut Message<'static>,
    fields: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    keywords(fields, |argument| {
        let own = |text: Option<&str>| text.map(|text| text.to_owned().into());
        match argument.name {
            "role" => message.role = argument.word(Role::ALL, Role::as_str)?,
            "text" => message.body = body(argument.name, argument.value)?,
            "name" => message.name = own(argument.optional_text()?),
            "recipient" => message.recipient = own(argument.optional_text()?),
            "call_id" => message.call_id = own(argument.optional_text()?),
            "content_type" => message.content_type = own(argument.optional_text()?),
            "channel" => message.channel = argument.optional_word(Channel::ALL, Channel::as_str)?,
            "intent" => message.intent = argument.optional_word(Intent::ALL, Intent::as_str)?,
            "end" => message.end = argument.word(End::ALL, End::as_str)?,
            "constrained" => message.constrained = argument.flag()?,
            "recovered" => message.recovered = argument.flag()?,
            "foreign" => message.foreign = argument.flag()?,
            "unread" => message.unread = argument.optional_text()?.map(Into::into),
            "weight" => message.weight = weight(argument)?,
            "ids" => {
                if !argument.value.is_none() {
                    message.set_ids(ids(argument)?);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn weight(argument: &Argument<'_, '_>) -> PyResult<Option<Weight>> {
    if argument.value.is_none() {
        return Ok(None);
    }
    let Ok(number) = argument.value.extract::<f64>() else {
        return Err(wrong_type(argument.name, "a `float`", argument.value));
    };
    let weight = Weight::new(number);
    weight.map(Some).ok_or_else(|| wrong_value(argument.name, "a weight is 0 or more"))
}

/// Token ids: an iterable of `int`.
pub(crate) fn ids(argument: &Argument<'_, '_>) -> PyResult<Vec<u32>> {
    // Without NumPy there are no arrays, and even asking for one is impossible.
    if argument.value.get_type().fully_qualified_name()? == "numpy.ndarray"
        && let Ok(ids) = argument.value.extract::<numpy::PyReadonlyArray1<'_, u32>>()
        && let Ok(ids) = ids.as_slice()
    {
        return Ok(ids.to_vec());
    }
    if let Ok(list) = argument.value.cast::<PyList>() {
        return list.iter().map(|item| id(argument.name, &item)).collect();
    }
    argument.items()?.iter().map(|item| id(argument.name, item)).collect()
}

fn id(name: &str, item: &Bound<'_, PyAny>) -> PyResult<u32> {
    let refused = || wrong_type(name, "token ids (`int` from 0 to 2³²-1)", item);
    if item.is_instance_of::<pyo3::types::PyBool>() {
        return Err(refused());
    }
    item.extract::<u32>().map_err(|_| refused())
}

/// A body: a text, or segments as `(kind, text)`.
pub(crate) fn body(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Body<'static>> {
    if value.is_instance_of::<PyString>() {
        return Ok(Argument::new(name, value).text()?.to_owned().into());
    }
    let Ok(items) = Argument::new(name, value).items() else {
        return Err(wrong_type(name, "a `str` or a list of segments", value));
    };
    let segments = items.iter().map(|item| segment(name, item)).collect::<PyResult<Vec<_>>>()?;
    Ok(Body::from_segments(segments))
}

fn segment(name: &str, item: &Bound<'_, PyAny>) -> PyResult<Segment<'static>> {
    let parts = item.cast::<PyTuple>().ok().filter(|it| it.len() == 2);
    let Some(parts) = parts else { return Err(wrong_type(name, "a pair `(kind, text)`", item)) };
    let [kind, text] = [parts.get_item(0)?, parts.get_item(1)?];
    let text = Argument::new(name, &text).text()?;
    match Argument::new(name, &kind).text()? {
        "text" => Ok(Segment::Text(text.to_owned().into())),
        "literal" => Ok(Segment::Literal(text.to_owned().into())),
        "marker" => match Marker::from_word(text) {
            Some(marker) => Ok(Segment::Marker(marker)),
            None => Err(wrong_value(name, &format!("there is no marker `{}`", cut(text)))),
        },
        kind => {
            let why = format!("`{}` is not `text`, `literal` or `marker`", cut(kind));
            Err(wrong_value(name, &why))
        }
    }
}

/// A text, or data that is written as JSON.
pub(crate) fn body_or_data(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Body<'static>> {
    if value.is_instance_of::<PyString>() {
        return body(name, value);
    }
    Ok(data::read(name, value)?.to_json().into())
}
