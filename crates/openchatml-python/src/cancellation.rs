//! Cancels runs, and looks for signals such as Ctrl-C while they go on.

use std::pin::pin;
use std::time::Duration;

use openchatml_tools::CancellationToken;
use pyo3::prelude::*;

/// Cancels a run from another thread.
#[pyclass(frozen, module = "openchatml._openchatml", name = "Cancellation")]
#[derive(Default)]
pub(crate) struct PyCancellation {
    pub(crate) token: CancellationToken,
}

#[pymethods]
impl PyCancellation {
    #[new]
    fn create() -> Self {
        Self::default()
    }

    /// Cancels the run. It ends soon, with the reason `"cancelled"`.
    fn cancel(&self) {
        self.token.cancel();
    }
}

/// How often signals are looked for.
pub(crate) const SIGNALS: Duration = Duration::from_millis(50);

/// Waits for the replies to calls, and looks for signals such as Ctrl-C. If the calls are cancelled,
/// they have no replies.
///
/// # Errors
///
/// A signal raises an exception.
pub(crate) async fn until_cancelled<T: Default>(
    token: &CancellationToken,
    work: impl Future<Output = T>,
) -> PyResult<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            () = token.cancelled() => return Ok(T::default()),
            done = tokio::time::timeout(SIGNALS, &mut work) => match done {
                Ok(done) => return Ok(done),
                Err(_) => Python::attach(|py| py.check_signals())?,
            },
        }
    }
}
