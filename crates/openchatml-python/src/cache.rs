//! Prompts that grow: the ids of texts that were encoded before.

use std::sync::{Mutex, PoisonError};

use openchatml_tokens::PromptCache;
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::PyDict;

use crate::argument::Argument;
use crate::consent::{consent_to_drops, consent_to_losses};
use crate::document::source;
use crate::encoding::AnyEncoding;
use crate::error::{detached, wrong_type};
use crate::id_writer::IdWriter;
use crate::rendered::PyRendered;
use crate::tokenizer::PyTokenizer;
use crate::write::{PromptOptions, conversation_of};

/// Writes the prompts of conversations that grow: texts that were encoded before are not encoded again.
///
/// Threads can share a cache: a call waits until the call before it is done.
///
/// Args:
///     tokenizer: The tokenizer.
///     bytes: The approximate maximum size of the cache, in bytes.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///
/// >>> cache = PromptCache(Tokenizer("harmony"))
/// >>> len(cache.prompt([{"role": "user", "content": "Hello"}], bare=True))
/// 7
#[pyclass(frozen, module = "openchatml", name = "PromptCache")]
pub(crate) struct PyPromptCache {
    writer: IdWriter,
    cache: Mutex<PromptCache<AnyEncoding>>,
}

/// The default size in bytes.
const BYTES: usize = 16 << 20;

#[pymethods]
impl PyPromptCache {
    #[new]
    #[pyo3(signature = (tokenizer, bytes = None), text_signature = "(tokenizer, bytes=16777216)")]
    fn create(tokenizer: &Bound<'_, PyAny>, bytes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Ok(tokenizer) = tokenizer.cast::<PyTokenizer>() else {
            return Err(wrong_type("tokenizer", "a `Tokenizer`", tokenizer));
        };
        let number = |it| Argument::new("bytes", it).number();
        let bytes = bytes.map(number).transpose()?.unwrap_or(BYTES);
        let writer = tokenizer.get().writer.clone();
        let cache = PromptCache::new(writer.tokenizer.clone(), bytes);
        Ok(Self { writer, cache: Mutex::new(cache) })
    }

    /// Writes the next prompt of a model, exactly as `Tokenizer.prompt` does.
    ///
    /// The arguments and errors are those of `Tokenizer.prompt`.
    #[pyo3(
        signature = (conversation, **options),
        text_signature = "($self, conversation, *, allow_loss='losses', tools=None, keep_reasoning=False, bare=False, add_generation_prompt=True, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
    )]
    fn prompt(
        &self,
        py: Python<'_>,
        conversation: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyRendered> {
        let format = self.writer.tokenizer.format();
        let PromptOptions { consent, declared, options } =
            PromptOptions::read(py, format.into(), options)?;
        let source = source(&Argument::new("conversation", conversation))?;
        consent_to_drops(py, source.parsed.as_deref(), consent)?;
        let written = detached(py, || {
            let mut chat = conversation_of(&source.document)?;
            chat.tools = declared.unwrap_or(chat.tools);
            // The cache has no state that a panic could leave half changed: it maps texts to ids.
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            self.writer.write_prompt(&chat, &options, |it| cache.render_prepared(it, &options))
        })??;
        consent_to_losses(py, &written.losses, consent)?;
        Ok(written.into())
    }

    /// The number of texts that were found (`hits`) and not found (`misses`), of cached `texts`, and of their `bytes`.
    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let cache = self.cache.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let statistics = cache.statistics();
        drop(cache);
        let dict = PyDict::new(py);
        dict.set_item("hits", statistics.hits)?;
        dict.set_item("misses", statistics.misses)?;
        dict.set_item("texts", statistics.texts)?;
        dict.set_item("bytes", statistics.bytes)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<PromptCache of {}>", self.writer.name)
    }
}
