//! Rows of a table as JSON.

use std::fmt::Write as _;
use std::ops::Range;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, Fields};

use super::text::TextColumn;
use crate::error::DataError;
use crate::record::escape;

/// Writes values of a column as JSON.
///
/// A field of a struct that is null is omitted: tables cannot express that a key is missing, and
/// fill it with null instead.
pub(crate) enum JsonColumn<'a> {
    Null,
    Boolean(&'a BooleanArray),
    /// A number, which is written as the type does.
    Number(Box<dyn Number + 'a>),
    Text(TextColumn<'a>),
    List {
        array: &'a dyn Array,
        bounds: Box<dyn Fn(usize) -> (usize, usize) + 'a>,
        values: Box<Self>,
    },
    Struct {
        array: &'a dyn Array,
        fields: Vec<(String, Self)>,
    },
}

/// Writes numbers of one type.
pub(crate) trait Number {
    /// Writes the number of a row. Returns false if it is null.
    fn write(&self, row: usize, out: &mut String) -> bool;

    /// Writes the numbers of some rows, with commas between.
    fn write_list(&self, rows: Range<usize>, out: &mut String) {
        let first = rows.start;
        for row in rows {
            out.push_str(if row == first { "" } else { "," });
            if !self.write(row, out) {
                out.push_str("null");
            }
        }
    }
}

struct Integers<'a, T: ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<T: ArrowPrimitiveType> Number for Integers<'_, T>
where
    T::Native: itoa::Integer,
{
    fn write(&self, row: usize, out: &mut String) -> bool {
        if self.0.is_null(row) {
            return false;
        }
        out.push_str(itoa::Buffer::new().format(self.0.value(row)));
        true
    }

    fn write_list(&self, rows: Range<usize>, out: &mut String) {
        let first = rows.start;
        if self.0.null_count() == 0 {
            let mut digits = itoa::Buffer::new();
            for (at, number) in self.0.values()[rows].iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(digits.format(*number));
            }
            return;
        }
        for row in rows {
            out.push_str(if row == first { "" } else { "," });
            if !self.write(row, out) {
                out.push_str("null");
            }
        }
    }
}

struct Floats<'a, T: ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<T: ArrowPrimitiveType> Number for Floats<'_, T>
where
    T::Native: std::fmt::Display,
{
    fn write(&self, row: usize, out: &mut String) -> bool {
        if self.0.is_null(row) {
            return false;
        }
        let start = out.len();
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{}", self.0.value(row));
        // JSON has no such numbers.
        if matches!(&out[start..], "NaN" | "inf" | "-inf") {
            out.truncate(start);
            return false;
        }
        true
    }
}

impl<'a> JsonColumn<'a> {
    /// Prepares the values of the column `name`.
    ///
    /// # Errors
    ///
    /// The column has a type that JSON cannot express.
    pub(crate) fn new(array: &'a dyn Array, name: &str) -> Result<Self, DataError> {
        fn integer<T: ArrowPrimitiveType>(array: &dyn Array) -> JsonColumn<'_>
        where
            T::Native: itoa::Integer,
        {
            JsonColumn::Number(Box::new(Integers::<T>(array.as_primitive())))
        }
        fn float<T: ArrowPrimitiveType>(array: &dyn Array) -> JsonColumn<'_>
        where
            T::Native: std::fmt::Display,
        {
            JsonColumn::Number(Box::new(Floats::<T>(array.as_primitive())))
        }
        let inner = |values: &'a dyn Array| Self::new(values, name).map(Box::new);
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            DataType::Int8 => integer::<Int8Type>(array),
            DataType::Int16 => integer::<Int16Type>(array),
            DataType::Int32 => integer::<Int32Type>(array),
            DataType::Int64 => integer::<Int64Type>(array),
            DataType::UInt8 => integer::<UInt8Type>(array),
            DataType::UInt16 => integer::<UInt16Type>(array),
            DataType::UInt32 => integer::<UInt32Type>(array),
            DataType::UInt64 => integer::<UInt64Type>(array),
            DataType::Float16 => float::<Float16Type>(array),
            DataType::Float32 => float::<Float32Type>(array),
            DataType::Float64 => float::<Float64Type>(array),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let offsets = list.value_offsets();
                let at = |row: usize| usize::try_from(offsets[row]).unwrap_or_default();
                let bounds = Box::new(move |row| (at(row), at(row + 1)));
                Self::List { array, bounds, values: inner(list.values().as_ref())? }
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let offsets = list.value_offsets();
                let at = |row: usize| usize::try_from(offsets[row]).unwrap_or_default();
                let bounds = Box::new(move |row| (at(row), at(row + 1)));
                Self::List { array, bounds, values: inner(list.values().as_ref())? }
            }
            DataType::FixedSizeList(_, size) => {
                let list = array.as_fixed_size_list();
                let size = usize::try_from(*size).unwrap_or_default();
                let bounds = Box::new(move |row| (row * size, (row + 1) * size));
                Self::List { array, bounds, values: inner(list.values().as_ref())? }
            }
            DataType::Struct(fields) => Self::of_struct(array.as_struct(), fields, name)?,
            other => match TextColumn::new(array).filter(TextColumn::is_text) {
                Some(texts) => Self::Text(texts),
                None => {
                    let what = format!("values of type {other} cannot be part of a conversation");
                    return Err(DataError::Column { column: name.to_owned(), what });
                }
            },
        })
    }

    fn of_struct(array: &'a StructArray, fields: &Fields, name: &str) -> Result<Self, DataError> {
        let fields = fields.iter().zip(array.columns()).map(|(field, column)| {
            let path = format!("{name}.{}", field.name());
            Ok((key(field.name()), Self::new(column.as_ref(), &path)?))
        });
        Ok(Self::Struct { array, fields: fields.collect::<Result<_, DataError>>()? })
    }

    /// Writes the value of a row. Writes nothing and returns false if it is null.
    pub(crate) fn write(&self, row: usize, out: &mut String) -> bool {
        match self {
            Self::Null => return false,
            Self::Boolean(array) => {
                if array.is_null(row) {
                    return false;
                }
                out.push_str(if array.value(row) { "true" } else { "false" });
            }
            Self::Number(numbers) => return numbers.write(row, out),
            Self::Text(texts) => {
                let Some(text) = texts.text(row) else { return false };
                out.push('"');
                escape(text, out);
                out.push('"');
            }
            Self::List { array, bounds, values } => {
                if array.is_null(row) {
                    return false;
                }
                out.push('[');
                let (start, end) = bounds(row);
                if let Self::Number(numbers) = &**values {
                    numbers.write_list(start..end, out);
                    out.push(']');
                    return true;
                }
                for at in start..end {
                    out.push_str(if at == start { "" } else { "," });
                    if !values.write(at, out) {
                        out.push_str("null");
                    }
                }
                out.push(']');
            }
            Self::Struct { array, fields } => {
                if array.is_null(row) {
                    return false;
                }
                write_fields(fields, row, out);
            }
        }
        true
    }
}

/// Returns the beginning of a field: its name as a JSON string, and a colon.
pub(crate) fn key(name: &str) -> String {
    let mut key = String::from("\"");
    escape(name, &mut key);
    key.push_str("\":");
    key
}

/// Writes an object with the values of a row that are not null.
pub(crate) fn write_fields(fields: &[(String, JsonColumn<'_>)], row: usize, out: &mut String) {
    out.push('{');
    let start = out.len();
    for (key, values) in fields {
        let before = out.len();
        out.push_str(if before == start { "" } else { "," });
        out.push_str(key);
        if !values.write(row, out) {
            out.truncate(before);
        }
    }
    out.push('}');
}
