//! Rows of Arrow batches as records: texts and JSON.

use arrow_array::{Array as _, ArrayRef, RecordBatch};

mod json;
mod text;

pub(crate) use self::json::{JsonColumn, key, write_fields};
pub(crate) use self::text::TextColumn;

/// The bytes of the values of a batch, without those of other slices.
pub(crate) fn size(batch: &RecordBatch) -> usize {
    let of = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0);
    batch.columns().iter().map(of).sum()
}
