//! Which part of a row is the conversation, and what is kept beside it.

use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder as _, LargeStringBuilder};
use arrow_array::{Array as _, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use openchatml::{Code, Diagnostic, Dropped, Format, Span, is_part_of_record};

use crate::error::DataError;
use crate::input::{RowPlace, Rows};
use crate::kernel::{fields_of, join_fields};
use crate::output::{Kept, field_of_lines};
use crate::record::{Consent, finding};
use crate::rows::TextColumn;

/// Which part of a row is the conversation, and what is kept beside it.
///
/// ```
/// use openchatml_data::Fields;
///
/// let mut fields = Fields::default();
/// fields.column = Some("messages".to_owned());
/// fields.keep = vec!["id".to_owned()];
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The column, or the field of each line, with the conversation. Without one, the row or line
    /// is the record.
    pub column: Option<String>,
    /// The columns or fields to keep.
    pub keep: Vec<String>,
    /// Whether to keep all others, if the column is named.
    pub keep_all: bool,
    /// The format of the conversations. Without one, it is that of most of the first records, and
    /// a record that is certainly in another format is read in that.
    pub from: Option<Format>,
}

/// Rows that are ready for the kernel.
pub(crate) struct Ready {
    pub(crate) batch: RecordBatch,
    pub(crate) places: Vec<RowPlace>,
    pub(crate) kept: Kept,
    /// Rows that are rejected because a field would be dropped: their lines, and the reasons.
    pub(crate) refused: Vec<(RowPlace, Vec<u8>, Diagnostic)>,
}

impl Fields {
    /// Describes which fields are read and kept, for the manifest.
    pub(crate) fn describe(&self) -> String {
        let column = self.column.as_deref().unwrap_or("all");
        match self.keep_all {
            true => format!("{column}, and all others are kept"),
            false if self.keep.is_empty() => column.to_owned(),
            false => format!("{column}, and {} are kept", self.keep.join(", ")),
        }
    }

    fn keeps(&self, name: &str) -> bool {
        self.keep_all || self.keep.iter().any(|kept| kept == name)
    }

    /// Returns the fields that are kept, of lines or of a table with this schema.
    ///
    /// # Errors
    ///
    /// A column does not exist, or would be dropped without permission.
    pub(crate) fn kept(
        &self,
        schema: Option<&SchemaRef>,
        consent: Consent,
    ) -> Result<Vec<Field>, DataError> {
        if self.keep_all && self.column.is_none() {
            let text =
                "to keep all other columns, name the one with the conversations: `--column NAME`";
            return Err(DataError::usage(text));
        }
        let Some(schema) = schema else {
            return Ok(self.keep.iter().map(|name| field_of_lines(name)).collect());
        };
        let names: Vec<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
        for name in self.keep.iter().chain(&self.column) {
            if !names.contains(&name.as_str()) {
                let what = format!("there is no such column; the columns are {}", listed(&names));
                return Err(DataError::Column { column: name.clone(), what });
            }
        }
        let is_column = |name: &str| self.column.as_deref() == Some(name);
        if self.column.is_some() && !consent.allows_drop(Dropped::Key) {
            let lost: Vec<_> = names
                .iter()
                .copied()
                .filter(|name| !self.keeps(name) && !is_column(name))
                .collect();
            if !lost.is_empty() {
                let text = format!(
                    "the columns {} would be lost: keep some with `--keep {}`, or allow it with `--allow-loss=unknown-key`",
                    listed(&lost),
                    lost.join(",")
                );
                return Err(DataError::usage(text));
            }
        }
        let kept =
            schema.fields().iter().filter(|it| self.keeps(it.name()) && !is_column(it.name()));
        Ok(kept.map(|field| field.as_ref().clone()).collect())
    }

    /// Prepares rows for the kernel.
    pub(crate) fn ready(
        &self,
        rows: Rows,
        has_lines: bool,
        kept: &[Field],
        consent: Consent,
    ) -> Result<Ready, DataError> {
        let Rows { batch, places, .. } = rows;
        if has_lines && (self.column.is_some() || !self.keep.is_empty()) {
            return self.ready_lines(&batch, &places, consent);
        }
        let columns = kept.iter().map(|field| batch.column_by_name(field.name()).cloned());
        let columns: Option<Vec<_>> = if has_lines { Some(Vec::new()) } else { columns.collect() };
        let columns = columns.ok_or_else(|| DataError::Internal("no column".to_owned()))?;
        Ok(Ready { batch, places, kept: Kept::Columns(columns), refused: Vec::new() })
    }

    /// Takes the conversations and the kept fields out of lines.
    fn ready_lines(
        &self,
        batch: &RecordBatch,
        places: &[RowPlace],
        consent: Consent,
    ) -> Result<Ready, DataError> {
        let mut records = LargeStringBuilder::new();
        let (mut kept, mut left, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let lines = TextColumn::new(batch.column(0).as_ref());
        for (row, place) in places.iter().enumerate() {
            let line = lines.as_ref().and_then(|lines| lines.bytes(row)).unwrap_or_default();
            let text = String::from_utf8_lossy(line);
            let Some(fields) = fields_of(&text) else {
                // The reader reports what is wrong.
                match self.column {
                    Some(_) => refused.push((*place, line.to_vec(), no_object())),
                    None => {
                        records.append_value(&*text);
                        kept.push(Vec::new());
                        left.push(*place);
                    }
                }
                continue;
            };
            let is_kept = |name: &String| match &self.column {
                Some(column) => self.keeps(name) && name != column,
                None => self.keep.contains(name),
            };
            let own: Vec<_> = fields.iter().filter(|field| is_kept(&field.0)).cloned().collect();
            // A part of the conversation is read although it is kept.
            let is_part = |name: &str| self.column.is_none() && is_part_of_record(name);
            let mut rest = fields;
            rest.retain(|(name, _)| !is_kept(name) || is_part(name));
            match &self.column {
                None => records.append_value(join_fields(&rest)),
                Some(column) => {
                    let at = rest.iter().rposition(|(name, _)| name == column);
                    let value = at.map(|at| rest.remove(at).1);
                    if let Some((name, _)) = rest.first()
                        && !consent.allows_drop(Dropped::Key)
                    {
                        refused.push((*place, line.to_vec(), unknown_field(name)));
                        continue;
                    }
                    match value.filter(|value| *value != "null") {
                        None => records.append_null(),
                        Some(value) => match serde_json::from_str::<String>(value) {
                            Ok(text) => records.append_value(text),
                            Err(_) => records.append_value(value),
                        },
                    }
                }
            }
            kept.push(own.into_iter().map(|(name, value)| (name, value.to_owned())).collect());
            left.push(*place);
        }
        debug_assert_eq!(records.len(), left.len());
        let name = self.column.as_deref().unwrap_or("line");
        let schema = Schema::new(vec![Field::new(name, DataType::LargeUtf8, true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(records.finish())]);
        let batch = batch.map_err(|error| DataError::Internal(error.to_string()))?;
        Ok(Ready { batch, places: left, kept: Kept::Fields(kept), refused })
    }
}

/// Returns what is kept of the rows with these numbers.
pub(crate) fn select(kept: Kept, rows: &[u32]) -> Result<Kept, DataError> {
    Ok(match kept {
        Kept::Columns(columns) => {
            let rows = UInt32Array::from(rows.to_vec());
            let take = |array: &arrow_array::ArrayRef| {
                if rows.len() == array.len() {
                    return Ok(Arc::clone(array));
                }
                arrow_select::take::take(array.as_ref(), &rows, None)
            };
            let columns = columns.iter().map(take).collect::<Result<Vec<_>, _>>();
            Kept::Columns(columns.map_err(|error| DataError::Internal(error.to_string()))?)
        }
        Kept::Fields(mut all) => {
            let row = |row: &u32| {
                let row = usize::try_from(*row).unwrap_or(usize::MAX);
                all.get_mut(row).map(std::mem::take).unwrap_or_default()
            };
            Kept::Fields(rows.iter().map(row).collect())
        }
    })
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn no_object() -> Diagnostic {
    let mut found = finding(Code::ParseJson, Span::at(0), "the line is not a JSON object");
    found.dropped = Some(Dropped::Record);
    found
}

fn unknown_field(name: &str) -> Diagnostic {
    let text = format!("unknown key `{name}` beside the conversation: it will be dropped");
    let mut found = finding(Code::UnknownKey, Span::at(0), text);
    found.help = Some(format!("keep it with `--keep {name}`, or all others with `--keep-all`"));
    found.dropped = Some(Dropped::Key);
    found
}
