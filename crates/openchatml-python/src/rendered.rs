//! Conversations as token ids, with the spans of the messages and the mask of training.

use std::borrow::Cow;
use std::ops::Range;

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use openchatml::convert::Loss;
use openchatml_tokens::{MessageSpan, Rendered};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::column::{Column, numpy};
use crate::pickle::{malformed, restorer};
use crate::record::{losses, record};
use crate::state::{LossState, loss, loss_state};

/// A conversation as token ids, with the spans of its messages.
///
/// Arrays belong to this object and are read-only: they are made without a copy.
#[pyclass(frozen, module = "openchatml", name = "Rendered")]
pub(crate) struct PyRendered {
    pub(crate) ids: Column<u32>,
    pub(crate) spans: Vec<MessageSpan>,
    /// For each span, the index of its message in the conversation of the caller.
    numbers: Vec<Option<usize>>,
    training: Option<Training>,
    losses: Vec<Loss>,
    spelled: Vec<Cow<'static, str>>,
}

/// The trained ids.
pub(crate) struct Training {
    mask: Column<bool>,
    weights: Column<f64>,
}

impl Training {
    pub(crate) fn new(mask: Vec<bool>, weights: Vec<f64>) -> Self {
        Self { mask: Column::new(mask), weights: Column::new(weights) }
    }
}

/// Ids before they become an object.
pub(crate) struct Written {
    pub(crate) rendered: Rendered,
    pub(crate) numbers: Vec<Option<usize>>,
    pub(crate) training: Option<(Vec<bool>, Vec<f64>)>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) spelled: Vec<&'static str>,
}

impl From<Written> for PyRendered {
    fn from(written: Written) -> Self {
        let Written { rendered, numbers, training, losses, spelled } = written;
        Self {
            ids: Column::new(rendered.ids),
            spans: rendered.spans,
            numbers,
            training: training.map(|(mask, weights)| Training::new(mask, weights)),
            losses,
            spelled: spelled.into_iter().map(Cow::Borrowed).collect(),
        }
    }
}

#[pymethods]
impl PyRendered {
    /// The ids: an array of the shape `(ids,)` and the type `uint32`.
    ///
    /// Raises:
    ///     ImportError: NumPy is not installed.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.ids.array(py)
    }

    /// Returns the ids as a list. This does not require NumPy.
    fn tolist(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.ids.with(py, <[u32]>::to_vec)
    }

    /// Whether each id is trained: an array of the shape `(ids,)` and the type `bool`; `None` if there is
    /// no mask.
    ///
    /// Raises:
    ///     ImportError: NumPy is not installed.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<bool>>>> {
        self.training.as_ref().map(|it| it.mask.array(py)).transpose()
    }

    /// Returns the mask as a list of 0 and 1, or `None`. This does not require NumPy.
    fn mask_list(&self, py: Python<'_>) -> PyResult<Option<Vec<u32>>> {
        let list =
            |it: &Training| it.mask.with(py, |mask| mask.iter().map(|it| u32::from(*it)).collect());
        self.training.as_ref().map(list).transpose()
    }

    /// The weight of each id in training: an array of the shape `(ids,)` and the type `float64`; `None` if
    /// there is no mask.
    ///
    /// Raises:
    ///     ImportError: NumPy is not installed.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        self.training.as_ref().map(|it| it.weights.array(py)).transpose()
    }

    /// The places of the messages: an array of the shape `(messages, 7)` and the type `int64`.
    ///
    /// The columns are the index of the message in the conversation (-1 if the format adds the message),
    /// the first id of its opening, of the rest of its header, of its body, of its end token and of the gap
    /// after it, and the id after the gap. The unit is one token id.
    ///
    /// Raises:
    ///     ImportError: NumPy is not installed.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        numpy(py)?;
        let number = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        let mut cells = Vec::with_capacity(self.spans.len() * COLUMNS);
        for (span, message) in self.spans.iter().zip(&self.numbers) {
            cells.push(message.map_or(-1, number));
            let cuts = [&span.opening, &span.header, &span.body, &span.end, &span.gap];
            cells.extend(cuts.iter().map(|part| number(part.start)));
            cells.push(number(span.gap.end));
        }
        PyArray1::from_vec(py, cells).reshape([self.spans.len(), COLUMNS])
    }

    /// Returns the places of the messages as `MessageSpan`. This does not require NumPy.
    fn span_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class = record(py, "MessageSpan")?;
        let pair = |range: &Range<usize>| (range.start, range.end);
        let span = |(span, number): (&MessageSpan, &Option<usize>)| {
            let MessageSpan { opening, header, body, end, gap, .. } = span;
            let parts = (pair(opening), pair(header), pair(body), pair(end), pair(gap));
            class.call1((*number, parts.0, parts.1, parts.2, parts.3, parts.4))
        };
        let spans = self.spans.iter().zip(&self.numbers).map(span);
        PyTuple::new(py, spans.collect::<PyResult<Vec<_>>>()?)
    }

    /// What the ids do not contain, all of it allowed.
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        losses(py, &self.losses)
    }

    /// The control tokens that were written as ordinary text, because the encoding has no ids for them.
    #[getter]
    fn spelled(&self) -> Vec<String> {
        self.spelled.iter().map(ToString::to_string).collect()
    }

    /// Returns whether other ids begin with these.
    fn is_prefix_of(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<bool> {
        let ids = self.tolist(py)?;
        other.get().ids.with(py, |other| other.starts_with(&ids))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.ids.with(py, <[u32]>::len)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let training = match &self.training {
            Some(it) => {
                let mask: Vec<bool> = it.mask.with(py, <[bool]>::to_vec)?;
                Some((mask, it.weights.with(py, <[f64]>::to_vec)?))
            }
            None => None,
        };
        let spans = self.spans.iter().zip(&self.numbers).map(span_state).collect();
        let losses = self.losses.iter().map(loss_state).collect();
        let state: RenderedState = (self.tolist(py)?, spans, training, losses, self.spelled());
        let fields = (state,).into_bound_py_any(py)?;
        PyTuple::new(py, [restorer(py, "_restore_rendered")?, fields])
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mask = if self.training.is_some() { ", with a mask" } else { "" };
        Ok(format!("<Rendered: {} ids of {} messages{mask}>", self.__len__(py)?, self.spans.len()))
    }
}

/// Ids, spans, mask and weights, losses, and spelled control tokens.
type RenderedState =
    (Vec<u32>, Vec<SpanState>, Option<(Vec<bool>, Vec<f64>)>, Vec<LossState>, Vec<String>);

/// The index of a message, that in the conversation of the caller, and the cuts between its parts.
type SpanState = (usize, Option<usize>, [usize; COLUMNS - 1]);

fn span_state((span, number): (&MessageSpan, &Option<usize>)) -> SpanState {
    let MessageSpan { message, opening, header, body, end, gap, .. } = span;
    let cuts = [opening.start, header.start, body.start, end.start, gap.start, gap.end];
    (*message, *number, cuts)
}

fn span((message, number, cuts): SpanState) -> Option<(MessageSpan, Option<usize>)> {
    let [opening, header, body, end, gap, last] = cuts;
    let mut span = MessageSpan::default();
    span.message = message;
    (span.opening, span.header, span.body) = (opening..header, header..body, body..end);
    (span.end, span.gap) = (end..gap, gap..last);
    cuts.is_sorted().then_some((span, number))
}

/// Restores pickled ids.
#[pyfunction]
#[pyo3(name = "_restore_rendered")]
pub(crate) fn restore_rendered(state: &Bound<'_, PyAny>) -> PyResult<PyRendered> {
    let (ids, spans, training, losses, spelled): RenderedState =
        state.extract().map_err(|_| malformed())?;
    let spans: Option<Vec<_>> = spans.into_iter().map(span).collect();
    let losses: Option<Vec<_>> = losses.into_iter().map(loss).collect();
    let fits =
        training.as_ref().is_none_or(|it| it.0.len() == ids.len() && it.1.len() == ids.len());
    let (Some(spans), Some(losses), true) = (spans, losses, fits) else { return Err(malformed()) };
    let (spans, numbers) = spans.into_iter().unzip();
    Ok(PyRendered {
        ids: Column::new(ids),
        spans,
        numbers,
        training: training.map(|(mask, weights)| Training::new(mask, weights)),
        losses,
        spelled: spelled.into_iter().map(Cow::Owned).collect(),
    })
}

/// The columns of a row of spans: the message, the begin of each of its five parts, and its end.
const COLUMNS: usize = 7;
