//! Arrow tables of Python objects, through the [PyCapsule interface] of Arrow, without a copy.
//!
//! This is the only crate with `unsafe` code: a capsule of Python holds a pointer to a structure of
//! the C data interface. Nothing but reading these pointers is here.
//!
//! [PyCapsule interface]: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The names of the capsules.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Batches of rows.
pub type Batches = Box<dyn RecordBatchReader + Send>;

/// Returns the batches of an object with the methods `__arrow_c_stream__` (tables, data frames, readers)
/// or `__arrow_c_array__` (a batch). `None` if it has neither.
///
/// # Errors
///
/// The method raises, or does not return what it promises.
pub fn batches(object: &Bound<'_, PyAny>) -> PyResult<Option<Batches>> {
    if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
        return stream(&method.call0()?).map(Some);
    }
    match object.getattr_opt("__arrow_c_array__")? {
        Some(method) => {
            let (schema, array) =
                method.call0()?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let batch = batch(&schema, &array)?;
            let schema = batch.schema();
            Ok(Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema))))
        }
        None => Ok(None),
    }
}

/// Returns the capsule of a stream of batches.
///
/// # Errors
///
/// Python has no memory left.
pub fn stream_capsule(py: Python<'_>, batches: Batches) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), STREAM)
}

/// Returns the capsule of a schema.
///
/// # Errors
///
/// The schema has a type that the C data interface has not, or Python has no memory left.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(invalid)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

fn invalid(error: ArrowError) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}

/// Takes the stream in a capsule.
#[expect(unsafe_code, reason = "a capsule holds a pointer")]
fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<Batches> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
    let pointer = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
    // SAFETY: the interface promises that a capsule of this name points to such a structure, which is
    // valid while the capsule lives. It is moved out, and marked as released for the destructor of the
    // capsule.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer) };
    Ok(Box::new(reader.map_err(invalid)?))
}

/// Takes the batch in two capsules.
#[expect(unsafe_code, reason = "a capsule holds a pointer")]
fn batch(schema: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
    // SAFETY: as in `stream`.
    let data = unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema.cast::<FFI_ArrowSchema>().as_ptr());
        let array = FFI_ArrowArray::from_raw(array.cast::<FFI_ArrowArray>().as_ptr());
        from_ffi(array, &schema)
    };
    let array = arrow_array::make_array(data.map_err(invalid)?);
    match array.as_any().downcast_ref::<StructArray>() {
        Some(rows) => Ok(RecordBatch::from(rows.clone())),
        None => Err(invalid(ArrowError::InvalidArgumentError(format!(
            "expected rows, but this is an array of type {}",
            array.data_type()
        )))),
    }
}
