//! Models that are functions of Python.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use openchatml_grammars::Language;
use openchatml_tools::{
    Completion, CompletionFuture, GrammarSupportFuture, Piece, PieceFuture, Prompt, Request,
    Upstream, UpstreamError,
};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::argument::Argument;
use crate::error::wrong_type;
use crate::message_fields::ids;
use crate::python_call::{Job, PythonRuntime, described, in_thread};

/// A function from a prompt to a completion: a text, token ids, or an iterable of them, which may be
/// asynchronous.
pub(crate) struct PythonModel {
    pub(crate) function: Py<PyAny>,
    pub(crate) runtime: Arc<PythonRuntime>,
}

/// The name of a model in the log.
fn named() -> Option<String> {
    Some("model".to_owned())
}

fn failed(error: PyErr) -> UpstreamError {
    UpstreamError::Failed(described(&error))
}

impl Upstream for PythonModel {
    fn sample<'u>(&'u self, request: Request<'u>) -> CompletionFuture<'u> {
        Box::pin(async move {
            let wants_ids = matches!(request.prompt, Prompt::Ids(_));
            let job = Python::attach(|py| {
                let prompt = match request.prompt {
                    Prompt::Text(text) => text.into_bound_py_any(py)?,
                    Prompt::Ids(ids) => ids.into_bound_py_any(py)?,
                };
                self.runtime.job(self.function.bind(py), &[prompt], None)
            });
            let runtime = Arc::clone(&self.runtime);
            let job =
                job.map_err(failed)?.run(named(), move |completion| runtime.pieces(completion));
            let pieces: Job = job.await.map_err(failed)?;
            let pieces = pieces.run(None, |pieces| Ok(pieces.clone().unbind()));
            let pieces = Arc::new(pieces.await.map_err(failed)?);
            Ok(Box::new(Pieces { pieces, wants_ids, pending: None }) as Box<dyn Completion>)
        })
    }

    fn grammar_support(&self, language: Option<Language>) -> GrammarSupportFuture<'_> {
        Box::pin(async move { Err(UpstreamError::NoGrammars { language, upstream: None }) })
    }
}

/// The pieces of a completion: an iterator.
struct Pieces {
    pieces: Arc<Py<PyAny>>,
    /// Whether it can have ids: there is an encoding that can decode them.
    wants_ids: bool,
    /// The piece that a thread computes. A session may drop a future and ask again.
    pending: Option<Pending>,
}

/// A piece, in the future.
type Pending = Pin<Box<dyn Future<Output = PyResult<Option<Piece>>> + Send>>;

impl Completion for Pieces {
    fn next(&mut self) -> PieceFuture<'_> {
        Box::pin(async move {
            let (pieces, wants_ids) = (Arc::clone(&self.pieces), self.wants_ids);
            let start = || -> Pending {
                Box::pin(in_thread(move |py| {
                    let mut pieces = pieces.bind(py).try_iter()?;
                    pieces.next().transpose()?.map(|it| piece(&it, wants_ids)).transpose()
                }))
            };
            let next = self.pending.get_or_insert_with(start).await;
            self.pending = None;
            next.map_err(failed)
        })
    }
}

/// A piece of a completion.
fn piece(piece: &Bound<'_, PyAny>, wants_ids: bool) -> PyResult<Piece> {
    if piece.is_instance_of::<PyString>() {
        return Ok(Piece::Text(Argument::new("completion", piece).text()?.to_owned()));
    }
    if piece.is_instance_of::<PyBytes>() {
        return Ok(Piece::Text(
            crate::document::text(&Argument::new("completion", piece))?.to_owned(),
        ));
    }
    if !wants_ids {
        let wanted = "a `str`: for token ids, give the run a `tokenizer`";
        return Err(wrong_type("completion", wanted, piece));
    }
    if let Ok(id) = piece.extract::<u32>() {
        return Ok(Piece::Ids(vec![id]));
    }
    Ok(Piece::Ids(ids(&Argument::new("completion", piece))?))
}
