//! Functions of Python, called from tasks: in threads for blocking work.

use std::future::Future;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::Failure;

/// Where functions run: a `Runtime` of `_tools.py`.
#[derive(Debug)]
pub(crate) struct PythonRuntime {
    runtime: Py<PyAny>,
    /// Whether it belongs to this object.
    is_own: bool,
}

impl PythonRuntime {
    /// Uses a runtime of the caller, or creates one.
    pub(crate) fn new(py: Python<'_>, runtime: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<Self>> {
        let (runtime, is_own) = match runtime.filter(|it| !it.is_none()) {
            Some(runtime) => (runtime.clone(), false),
            None => (py.import("openchatml._tools")?.getattr("Runtime")?.call0()?, true),
        };
        Ok(Arc::new(Self { runtime: runtime.unbind(), is_own }))
    }

    /// Ends its event loop.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_own {
            self.runtime.bind(py).call_method0("close")?;
        }
        Ok(())
    }

    /// Creates a call of a function.
    pub(crate) fn job<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        positional: &[Bound<'py, PyAny>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Job> {
        let py = function.py();
        let all: Vec<_> = std::iter::once(function).chain(positional).collect();
        let job = self.runtime.bind(py).call_method("job", PyTuple::new(py, all)?, named)?;
        Ok(Job { job: job.unbind(), is_done: false })
    }

    /// Creates the call that returns the pieces of a completion.
    pub(crate) fn pieces(&self, completion: &Bound<'_, PyAny>) -> PyResult<Job> {
        let job = self.runtime.bind(completion.py()).call_method1("pieces", (completion,))?;
        Ok(Job { job: job.unbind(), is_done: false })
    }
}

/// A call of a function. It is cancelled if it is dropped before its end.
pub(crate) struct Job {
    job: Py<PyAny>,
    is_done: bool,
}

impl Job {
    /// Runs the function in a thread, and converts its result there. With a name, an exception is
    /// logged.
    ///
    /// # Errors
    ///
    /// The function raises an exception, or the thread ends without a result.
    pub(crate) async fn run<T: Send + 'static>(
        mut self,
        name: Option<String>,
        convert: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let job = Python::attach(|py| self.job.clone_ref(py));
        let result = in_thread(move |py| {
            let job = job.bind(py);
            let result = match name {
                Some(name) => job.call_method1("logged", (name,))?,
                None => job.call_method0("run")?,
            };
            convert(&result)
        });
        let result = result.await;
        self.is_done = true;
        result
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.is_done {
            // An exception would have nowhere to go.
            let _ = Python::attach(|py| self.job.bind(py).call_method0("cancel").map(|_| ()));
        }
    }
}

/// Runs work in a thread for blocking work.
pub(crate) async fn in_thread<T: Send + 'static>(
    work: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let done = tokio::task::spawn_blocking(move || Python::attach(work)).await;
    done.unwrap_or_else(|_| {
        let text = "a function of Python ended without a result";
        Err(Failure::new("InternalError", text).into())
    })
}

/// The type and the text of an exception.
pub(crate) fn described(error: &PyErr) -> String {
    Python::attach(|py| {
        let kind = error.get_type(py).name().map_or_else(|_| "error".into(), |it| it.to_string());
        match error.value(py).str().map(|it| it.to_string()) {
            Ok(text) if !text.is_empty() => format!("{kind}: {text}"),
            _ => kind,
        }
    })
}

/// Runs a task until its end. Plain functions that hang do not delay this.
///
/// # Errors
///
/// The system has no resources for it.
pub(crate) fn block_on<T>(task: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new("ModelError", error.to_string()))?;
    let result = runtime.block_on(task);
    runtime.shutdown_background();
    Ok(result)
}
