//! One row of output for each row of input, for engines that cut tables as they like.

use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::read::missing;
use super::{Kernel, Processed, Rejected};
use crate::error::DataError;
use crate::record::{Decoded, Page, write_object};

/// The column with the reasons for which a row was rejected.
const ERROR: &str = "error";

impl Kernel {
    /// Returns the schema of the output of [`each_row`](Self::each_row) for input with this schema.
    ///
    /// # Errors
    ///
    /// A column that is kept is missing, or has the name of a column of the output.
    pub fn schema_of_rows(&self, input: &Schema) -> Result<SchemaRef, DataError> {
        let mut fields: Vec<Field> = Vec::new();
        for name in &self.options.keep {
            let field = input.field_with_name(name).map_err(|_| missing(name, input))?;
            fields.push(field.clone());
        }
        let own = self.schema.fields().iter().map(|field| field.as_ref().clone());
        let own = own.map(|field| field.with_nullable(true));
        for field in own.chain([Field::new(ERROR, DataType::LargeUtf8, true)]) {
            if self.options.keep.contains(field.name()) {
                let what = "the output has a column with this name: rename the one of the input";
                return Err(DataError::Column {
                    column: field.name().clone(),
                    what: what.to_owned(),
                });
            }
            fields.push(field);
        }
        Ok(Arc::new(Schema::new(fields)))
    }

    /// Processes a batch, and returns a row for each row of the input, in order: the
    /// [kept](super::KernelOptions::keep) columns, the columns of the task, and the column `error`. A
    /// row that is rejected has null in the columns of the task, and in `error` the reasons as a JSON
    /// list. So the rows do not depend on how a table is cut into batches.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::cast::AsArray;
    /// use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
    /// use openchatml::Format;
    /// use openchatml_data::kernel::{Kernel, KernelOptions, Task};
    ///
    /// let mut options = KernelOptions::new(Task::Convert { to: Format::CHATML });
    /// options.column = Some("chat".to_owned());
    /// let kernel = Kernel::new(options);
    /// let rows = ["not a conversation", r#"{"messages":[{"role":"user","content":"Hi!"}]}"#];
    /// let chat: ArrayRef = Arc::new(StringArray::from_iter_values(rows));
    /// let rows = kernel.each_row(&RecordBatch::try_from_iter([("chat", chat)])?)?;
    /// let (texts, errors) = (rows.column(0).as_string::<i64>(), rows.column(1).as_string::<i64>());
    /// assert!(texts.is_null(0) && errors.value(0).contains("E-FORMAT-UNKNOWN"));
    /// assert_eq!(texts.value(1), "<|im_start|>user\nHi!<|im_end|>\n");
    /// assert!(errors.is_null(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A column is missing, has a type that is not supported, or a name of the output.
    pub fn each_row(&self, batch: &RecordBatch) -> Result<RecordBatch, DataError> {
        let schema = self.schema_of_rows(batch.schema_ref())?;
        let Processed { batch: written, rows, rejected, .. } = self.process(batch)?;
        let kept = self.options.keep.iter().filter_map(|name| batch.column_by_name(name));
        let mut columns: Vec<ArrayRef> = kept.map(Arc::clone).collect();
        let internal = |error: arrow_schema::ArrowError| DataError::Internal(error.to_string());
        if rejected.is_empty() {
            columns.extend(written.columns().iter().map(Arc::clone));
        } else {
            let mut places = vec![None; batch.num_rows()];
            for (place, row) in (0_u32..).zip(&rows) {
                if let Some(slot) = places.get_mut(usize::try_from(*row).unwrap_or(usize::MAX)) {
                    *slot = Some(place);
                }
            }
            let places = UInt32Array::from(places);
            for column in written.columns() {
                columns.push(arrow_select::take::take(column, &places, None).map_err(internal)?);
            }
        }
        columns.push(errors(&rejected, batch.num_rows()));
        RecordBatch::try_new(schema, columns).map_err(internal)
    }
}

/// Returns the column with the reasons for each rejected row.
fn errors(rejected: &[Rejected], rows: usize) -> ArrayRef {
    let mut errors = LargeStringBuilder::new();
    let mut rejected = rejected.iter().peekable();
    let mut list = String::new();
    for row in 0..rows {
        match rejected.next_if(|it| usize::try_from(it.row) == Ok(row)) {
            None => errors.append_null(),
            Some(Rejected { record, found, .. }) => {
                let decoded = Decoded::record(record, 0);
                let page = Page::new("", &decoded, 1);
                list.clear();
                for found in found {
                    list.push(if list.is_empty() { '[' } else { ',' });
                    write_object(&page, found, &mut list);
                }
                list.push(']');
                errors.append_value(&list);
            }
        }
    }
    Arc::new(errors.finish())
}
