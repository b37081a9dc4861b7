//! Joins whole conversations to rows of a length.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, Int8Builder, Int32Builder, ListBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Int8Type, Int32Type};
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::Piece;
use crate::error::DataError;
use crate::output::{Encoded, Encoder, FileFormat, Kept};
use crate::run::{Shards, Writer};

/// The number of rows that are open at once. More of them leave fewer gaps.
const OPEN: usize = 64;

/// The number of ids after which closed rows are written.
const FLUSH_IDS: usize = 1 << 18;

/// Joins conversations to rows: each goes into the open row that it fills best.
pub(super) struct Packer {
    most: usize,
    encoder: Encoder,
    open: Vec<Row>,
    closed: Vec<Row>,
    closed_ids: usize,
}

/// A row of several conversations.
#[derive(Debug, Default)]
struct Row {
    ids: Vec<i32>,
    mask: Vec<i8>,
    /// Empty as long as the mask says everything.
    weights: Vec<f32>,
    lengths: Vec<i32>,
}

/// The ids of a conversation.
struct Sample<'s> {
    ids: &'s [i32],
    mask: &'s [i8],
    weights: Option<&'s [f32]>,
}

fn item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind, false))
}

impl Packer {
    /// Joins conversations to rows of at most `most` ids.
    pub(super) fn new(most: usize, format: FileFormat) -> Result<Self, DataError> {
        let list = |name: &str, kind: DataType, nullable: bool| {
            Field::new(name, DataType::List(item(kind)), nullable)
        };
        let schema = Schema::new(vec![
            list("ids", DataType::Int32, false),
            list("mask", DataType::Int8, false),
            list("weights", DataType::Float32, true),
            list("lengths", DataType::Int32, false),
        ]);
        let encoder = Encoder::new(format, &schema, &[], None)?;
        Ok(Self { most, encoder, open: Vec::new(), closed: Vec::new(), closed_ids: 0 })
    }

    pub(super) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    fn add(&mut self, sample: &Sample<'_>) {
        let len = sample.ids.len();
        let fitting = self.open.iter_mut().filter(|row| row.ids.len() + len <= self.most);
        // Of equally full rows, the oldest.
        let best = fitting.rev().max_by_key(|row| row.ids.len());
        if let Some(row) = best {
            row.add(sample);
        } else {
            if self.open.len() == OPEN {
                let fullest = (0..OPEN).rev().max_by_key(|at| self.open[*at].ids.len());
                let row = self.open.remove(fullest.unwrap_or_default());
                self.close(row);
            }
            let mut row = Row::default();
            row.add(sample);
            self.open.push(row);
        }
    }

    fn close(&mut self, row: Row) {
        self.closed_ids += row.ids.len();
        self.closed.push(row);
    }

    fn write(&mut self, shards: &mut Shards) -> Result<(), DataError> {
        let rows = std::mem::take(&mut self.closed);
        self.closed_ids = 0;
        let encoder = self.encoder.clone();
        shards.encode(0, move || encode(&encoder, &rows))
    }
}

/// Encodes packed rows.
fn encode(encoder: &Encoder, rows: &[Row]) -> Result<Encoded, DataError> {
    let mut ids = ListBuilder::new(Int32Builder::new()).with_field(item(DataType::Int32));
    let mut mask = ListBuilder::new(Int8Builder::new()).with_field(item(DataType::Int8));
    let mut weights = ListBuilder::new(Float32Builder::new()).with_field(item(DataType::Float32));
    let mut lengths = ListBuilder::new(Int32Builder::new()).with_field(item(DataType::Int32));
    for row in rows {
        ids.values().append_slice(&row.ids);
        ids.append(true);
        mask.values().append_slice(&row.mask);
        mask.append(true);
        weights.values().append_slice(&row.weights);
        weights.append(!row.weights.is_empty());
        lengths.values().append_slice(&row.lengths);
        lengths.append(true);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ids.finish()),
        Arc::new(mask.finish()),
        Arc::new(weights.finish()),
        Arc::new(lengths.finish()),
    ];
    let batch = RecordBatch::try_new(encoder.schema.clone(), columns);
    let batch = batch.map_err(|error| DataError::Internal(error.to_string()))?;
    encoder.encode(&batch, &Kept::nothing())
}

impl Row {
    fn add(&mut self, sample: &Sample<'_>) {
        if let Some(weights) = sample.weights {
            self.fill_weights();
            self.weights.extend_from_slice(weights);
        }
        self.ids.extend_from_slice(sample.ids);
        self.mask.extend_from_slice(sample.mask);
        self.lengths.push(i32::try_from(sample.ids.len()).unwrap_or(i32::MAX));
        if !self.weights.is_empty() {
            self.fill_weights();
        }
    }

    /// Where there are no weights yet, the mask says them.
    fn fill_weights(&mut self) {
        let left = &self.mask[self.weights.len().min(self.mask.len())..];
        self.weights.extend(left.iter().map(|trained| f32::from(*trained)));
    }
}

impl Writer<Piece> for Packer {
    fn take(&mut self, done: Piece, shards: &mut Shards) -> Result<(), DataError> {
        let column = |name: &str| {
            let column = done.batch.column_by_name(name);
            column.ok_or_else(|| DataError::Internal(format!("no column {name}")))
        };
        let ids = column("ids")?.as_list::<i32>();
        let mask = column("mask")?.as_list::<i32>();
        let weights = column("weights")?.as_list::<i32>();
        for row in 0..done.batch.num_rows() {
            let (ids, mask) = (ids.value(row), mask.value(row));
            let own = weights.is_valid(row).then(|| weights.value(row));
            self.add(&Sample {
                ids: ids.as_primitive::<Int32Type>().values(),
                mask: mask.as_primitive::<Int8Type>().values(),
                weights: own
                    .as_ref()
                    .map(|own| own.as_primitive::<Float32Type>().values().as_ref()),
            });
        }
        if self.closed_ids > FLUSH_IDS {
            self.write(shards)?;
        }
        shards.tell(&done.tally, done.rejects)
    }

    fn end_shard(&mut self, shards: &mut Shards) -> Result<(), DataError> {
        for row in std::mem::take(&mut self.open) {
            self.close(row);
        }
        self.write(shards)
    }
}

#[cfg(test)]
mod tests {
    use super::{Packer, Row, Sample};
    use crate::output::FileFormat;

    fn add(packer: &mut Packer, len: usize, weights: Option<&[f32]>) {
        let number = i32::try_from(len).unwrap();
        let (ids, mask) = (vec![number; len], vec![1; len]);
        packer.add(&Sample { ids: &ids, mask: &mask, weights });
    }

    #[test]
    fn conversations_are_whole_and_fill_rows() {
        let mut packer = Packer::new(10, FileFormat::Jsonl).unwrap();
        for len in [6, 5, 4, 5, 10, 1] {
            add(&mut packer, len, None);
        }
        let lengths = |rows: &[Row]| rows.iter().map(|row| row.lengths.clone()).collect::<Vec<_>>();
        assert_eq!(lengths(&packer.open), [vec![6, 4], vec![5, 5], vec![10], vec![1]]);
        for row in &packer.open {
            let ids = row.lengths.iter().flat_map(|len| vec![*len; usize::try_from(*len).unwrap()]);
            assert_eq!(row.ids, ids.collect::<Vec<_>>());
        }
    }

    #[test]
    fn weights_are_filled_up_by_the_mask() {
        let mut packer = Packer::new(10, FileFormat::Jsonl).unwrap();
        add(&mut packer, 2, None);
        add(&mut packer, 2, Some(&[0.5, 0.0]));
        add(&mut packer, 1, None);
        assert_eq!(packer.open[0].weights, [1.0, 1.0, 0.5, 0.0, 1.0]);
    }
}
