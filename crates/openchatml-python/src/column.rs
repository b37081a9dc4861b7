//! Data that becomes a NumPy array without a copy.

use std::sync::{Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::PyDict;

/// Data that belongs to Rust until an array is requested, and then to the array.
pub(crate) struct Column<T: Element>(Mutex<Owner<T>>);

enum Owner<T: Element> {
    Rust(Vec<T>),
    Python(Py<PyArray1<T>>),
}

impl<T: Element + Copy> Column<T> {
    pub(crate) fn new(data: Vec<T>) -> Self {
        Self(Mutex::new(Owner::Rust(data)))
    }

    /// Returns the array, which is read-only.
    ///
    /// # Errors
    ///
    /// NumPy is not installed.
    pub(crate) fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<T>>> {
        numpy(py)?;
        let mut owner = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let array = match &mut *owner {
            Owner::Python(array) => return Ok(array.bind(py).clone()),
            Owner::Rust(data) => PyArray1::from_vec(py, std::mem::take(data)),
        };
        let flags = PyDict::new(py);
        flags.set_item("write", false)?;
        array.call_method("setflags", (), Some(&flags))?;
        *owner = Owner::Python(array.clone().unbind());
        Ok(array)
    }

    /// Calls `read` with the data.
    pub(crate) fn with<R>(&self, py: Python<'_>, read: impl FnOnce(&[T]) -> R) -> PyResult<R> {
        let owner = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        match &*owner {
            Owner::Rust(data) => Ok(read(data)),
            Owner::Python(array) => {
                let array = array.bind(py).try_readonly()?;
                Ok(read(array.as_slice()?))
            }
        }
    }
}

/// Checks that NumPy can be imported.
///
/// # Errors
///
/// It is not installed.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy").map(|_| ()).map_err(|_| {
        let text = "arrays require NumPy: pip install 'openchatml[numpy]'; `tolist` works without";
        pyo3::exceptions::PyImportError::new_err(text)
    })
}
