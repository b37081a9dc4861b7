//! Rows of a batch as documents.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use openchatml::{Code, Diagnostic, Dropped, Span, is_part_of_record};
use serde_json::value::RawValue;

use super::options::KernelOptions;
use crate::error::DataError;
use crate::record::finding;
use crate::rows::{JsonColumn, TextColumn, key, write_fields};

/// The records of a batch.
pub(super) enum Records<'b> {
    /// Each row of a column is one.
    Texts(TextColumn<'b>),
    /// Each value of a column, as JSON, is one.
    Values(JsonColumn<'b>),
    /// Each row is one: an object.
    Rows(Vec<(String, JsonColumn<'b>)>),
}

/// A record, or the reason why a row has none.
pub(super) type Record<'r> = Result<&'r [u8], Box<Diagnostic>>;

impl<'b> Records<'b> {
    /// Returns the records of a batch.
    ///
    /// # Errors
    ///
    /// The column is missing, or has a type that cannot be read.
    pub(super) fn new(batch: &'b RecordBatch, options: &KernelOptions) -> Result<Self, DataError> {
        let schema = batch.schema_ref();
        let index = match &options.column {
            Some(name) => Some(schema.index_of(name).map_err(|_| missing(name, schema))?),
            None => (batch.num_columns() == 1).then_some(0),
        };
        if let Some(index) = index {
            let (name, array) = (schema.field(index).name(), batch.column(index).as_ref());
            if let Some(texts) = TextColumn::new(array) {
                return Ok(Self::Texts(texts));
            }
            if array.data_type().is_nested() {
                return JsonColumn::new(array, name).map(Self::Values);
            }
            let what = format!(
                "values of type {} are no conversations; strings, lists and structs are supported",
                array.data_type()
            );
            return Err(DataError::Column { column: name.clone(), what });
        }
        let columns = schema.fields().iter().zip(batch.columns());
        // A part of the conversation is read although it is kept.
        let is_read = |name: &String| !options.keep.contains(name) || is_part_of_record(name);
        let columns = columns.filter(|(field, _)| is_read(field.name()));
        let columns = columns.map(|(field, array)| {
            let values = JsonColumn::new(array.as_ref(), field.name());
            let values = values.map_err(|error| with_help(error, field.name()))?;
            Ok((key(field.name()), values))
        });
        columns.collect::<Result<_, DataError>>().map(Self::Rows)
    }

    /// Whether the records are documents themselves, and not lines of JSONL.
    pub(super) fn are_documents(&self, options: &KernelOptions) -> bool {
        matches!(self, Self::Texts(_)) && !options.lines
    }

    /// Returns the record of a row. `buffer` is reused for records that are created.
    pub(super) fn get<'r>(&'r self, row: usize, buffer: &'r mut String) -> Record<'r> {
        let null = || {
            let found = finding(Code::ParseJson, Span::at(0), "the conversation is null");
            Box::new(dropped(found))
        };
        match self {
            Self::Texts(texts) => return texts.bytes(row).ok_or_else(null),
            Self::Values(values) => {
                buffer.clear();
                if !values.write(row, buffer) {
                    return Err(null());
                }
            }
            Self::Rows(columns) => {
                buffer.clear();
                write_fields(columns, row, buffer);
            }
        }
        Ok(buffer.as_bytes())
    }
}

/// Returns the records of a batch as texts, to detect their format, and whether they are documents
/// themselves. Rows without text are omitted.
pub(crate) fn records(
    batch: &RecordBatch,
    options: &KernelOptions,
) -> Result<(Vec<String>, bool), DataError> {
    let records = Records::new(batch, options)?;
    let mut texts = Vec::new();
    let mut buffer = String::new();
    for row in 0..batch.num_rows() {
        if let Ok(record) = records.get(row, &mut buffer) {
            texts.extend(std::str::from_utf8(record).ok().map(str::to_owned));
        }
    }
    Ok((texts, records.are_documents(options)))
}

/// Marks an error that drops a whole record.
pub(super) fn dropped(mut found: Diagnostic) -> Diagnostic {
    found.dropped = Some(Dropped::Record);
    found
}

/// Reports that there is no column of this name.
pub(super) fn missing(name: &str, schema: &Schema) -> DataError {
    let names: Vec<_> = schema.fields().iter().map(|it| format!("`{}`", it.name())).collect();
    let what = format!("there is no such column; the columns are {}", names.join(", "));
    DataError::Column { column: name.to_owned(), what }
}

/// Says how to read the other columns.
fn with_help(error: DataError, name: &str) -> DataError {
    match error {
        DataError::Column { column, what } => {
            let what = format!(
                "{what}: name the column with the conversations with `--column`, or keep this one beside them with `--keep {name}`"
            );
            DataError::Column { column, what }
        }
        error => error,
    }
}

/// Returns the fields of a record in order, with their values as JSON. `None` if the record is not
/// an object.
pub(crate) fn fields_of(record: &str) -> Option<Vec<(String, &str)>> {
    let fields: Fields<'_> = serde_json::from_str(record).ok()?;
    Some(fields.0.into_iter().map(|(name, value)| (name, value.get())).collect())
}

/// Returns the object with these fields.
pub(crate) fn join_fields(fields: &[(String, &str)]) -> String {
    let mut text = String::from("{");
    for (index, (name, value)) in fields.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        text.push_str(&key(name));
        text.push_str(value);
    }
    text.push('}');
    text
}

/// The fields of an object in order.
struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::{fields_of, join_fields};

    #[test]
    fn fields_are_taken_apart_and_joined() {
        let record = r#"{"id": 1, "messages": [{"id": 2}], "a\"b":"x"}"#;
        let fields = fields_of(record).unwrap();
        let names: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(names, [("id", "1"), ("messages", r#"[{"id": 2}]"#), ("a\"b", "\"x\"")]);
        assert_eq!(join_fields(&fields), r#"{"id":1,"messages":[{"id": 2}],"a\"b":"x"}"#);
        assert_eq!(fields_of("[1]"), None);
        assert_eq!(fields_of("{"), None);
    }
}
