//! Builders of the columns that several tasks need.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, StringBuilder};
use arrow_array::{Array as _, ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

/// The offsets of lists, one list for each row.
#[derive(Debug)]
pub(super) struct Offsets(Vec<i32>);

impl Offsets {
    pub(super) fn new() -> Self {
        Self(vec![0])
    }

    /// Ends the list of a row, when all lists together have this many values.
    pub(super) fn end(&mut self, values: usize) {
        // A batch has less values than that: the limit of a batch is a gigabyte of text.
        self.0.push(i32::try_from(values).unwrap_or(i32::MAX));
    }

    /// The same lists once more, for another column.
    pub(super) fn again(&self) -> Self {
        Self(self.0.clone())
    }

    fn last(&self) -> usize {
        self.0.last().copied().and_then(|last| usize::try_from(last).ok()).unwrap_or_default()
    }

    /// Returns the column of lists.
    ///
    /// # Errors
    ///
    /// There are more than 2,147,483,647 values.
    pub(super) fn list(
        self,
        values: ArrayRef,
        item: FieldRef,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        if self.last() != values.len() {
            let text = "a batch has more than 2,147,483,647 values: use smaller batches";
            return Err(ArrowError::OffsetOverflowError(values.len()))
                .map_err(|_| ArrowError::InvalidArgumentError(text.to_owned()));
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.0));
        Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
    }
}

/// A field of lists, whose values are never null.
pub(super) fn list_field(name: &str, item: FieldRef, nullable: bool) -> Field {
    Field::new(name, DataType::List(item), nullable)
}

/// The values of a list.
pub(super) fn item(kind: DataType) -> FieldRef {
    Arc::new(Field::new("item", kind, false))
}

/// A column of numbers or words, for the fields of a struct.
#[derive(Debug)]
pub(super) enum FieldBuilder {
    Number(Int32Builder),
    Text(StringBuilder),
}

/// A list of structs in each row.
#[derive(Debug)]
pub(super) struct Structs {
    fields: Fields,
    builders: Vec<FieldBuilder>,
    offsets: Offsets,
    len: usize,
    /// The structs of the current row, which may still be dropped.
    row: Vec<Cell>,
}

/// A value of a field.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Number(Option<usize>),
    Word(Option<&'static str>),
    Text(String),
}

impl Structs {
    /// Creates lists of structs with these fields, which are numbers or words.
    pub(super) fn new(fields: Fields) -> Self {
        let builder = |field: &FieldRef| match field.data_type() {
            DataType::Int32 => FieldBuilder::Number(Int32Builder::new()),
            _ => FieldBuilder::Text(StringBuilder::new()),
        };
        let builders = fields.iter().map(builder).collect();
        Self { fields, builders, offsets: Offsets::new(), len: 0, row: Vec::new() }
    }

    /// Drops the structs of the current row.
    pub(super) fn restart_row(&mut self) {
        self.row.clear();
    }

    /// Adds a struct to the list of the current row: a value for each field.
    pub(super) fn push<const N: usize>(&mut self, cells: [Cell; N]) {
        self.row.extend(cells);
    }

    /// Ends the list of the current row.
    pub(super) fn end_row(&mut self) {
        let width = self.builders.len();
        self.len += self.row.len() / width;
        for (at, cell) in self.row.drain(..).enumerate() {
            match (&mut self.builders[at % width], cell) {
                (FieldBuilder::Number(numbers), Cell::Number(value)) => {
                    let clip = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
                    numbers.append_option(value.map(clip));
                }
                (FieldBuilder::Number(numbers), _) => numbers.append_null(),
                (FieldBuilder::Text(texts), Cell::Word(value)) => texts.append_option(value),
                (FieldBuilder::Text(texts), Cell::Text(value)) => texts.append_value(value),
                (FieldBuilder::Text(texts), Cell::Number(_)) => texts.append_null(),
            }
        }
        self.offsets.end(self.len);
    }

    pub(super) fn finish(self) -> Result<ArrayRef, ArrowError> {
        let columns = self.builders.into_iter().map(|builder| match builder {
            FieldBuilder::Number(mut numbers) => Arc::new(numbers.finish()) as ArrayRef,
            FieldBuilder::Text(mut texts) => Arc::new(texts.finish()),
        });
        let columns: Vec<_> = columns.collect();
        let item = item(DataType::Struct(self.fields.clone()));
        let values = Arc::new(StructArray::try_new(self.fields, columns, None)?);
        self.offsets.list(values, item, None)
    }
}

/// A field of lists of structs with these fields.
pub(super) fn structs_field(name: &str, fields: Fields) -> Field {
    list_field(name, item(DataType::Struct(fields)), false)
}

pub(super) fn number(name: &str, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, DataType::Int32, nullable))
}

pub(super) fn word(name: &str, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, DataType::Utf8, nullable))
}
