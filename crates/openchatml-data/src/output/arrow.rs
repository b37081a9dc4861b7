//! Arrow files. Batches are encoded on any thread, and written in order.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, LargeListArray, ListArray, RecordBatch, StructArray};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use flatbuffers::FlatBufferBuilder;

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"ARROW1";

/// The end of the batches.
const END: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// The blocks of a file begin at multiples of this number.
const ALIGNMENT: usize = 64;

fn options() -> Result<IpcWriteOptions, ArrowError> {
    let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
    let options = options.try_with_compression(Some(CompressionType::ZSTD))?;
    options.try_with_compression_level(Some(1))
}

/// Encodes a batch without dictionaries as the bytes of a file.
pub(super) fn encode(batch: &RecordBatch) -> Result<Arc<Encoded>, ArrowError> {
    let options = options()?;
    let mut tracker = DictionaryTracker::new(false);
    let mut context = IpcWriteContext::default();
    let (_, data) =
        IpcDataGenerator::default().encode(batch, &mut tracker, &options, &mut context)?;
    let mut bytes = Vec::with_capacity(data.arrow_data.len() + data.ipc_message.len() + 256);
    let (header, body) = write_message(&mut bytes, data, &options)?;
    Ok(Arc::new(Encoded { bytes, header, body }))
}

/// A batch as the bytes of a file.
#[derive(Debug)]
pub(crate) struct Encoded {
    bytes: Vec<u8>,
    header: usize,
    body: usize,
}

/// A file with an index at its end.
pub(super) struct ArrowFile<W> {
    writer: W,
    schema: SchemaRef,
    blocks: Vec<Block>,
    bytes: usize,
}

impl<W: Write> ArrowFile<W> {
    pub(super) fn new(mut writer: W, schema: &SchemaRef) -> Result<Self, ArrowError> {
        let options = options()?;
        let mut start = MAGIC.to_vec();
        start.resize(ALIGNMENT, 0);
        let mut tracker = DictionaryTracker::new(false);
        let message = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
            schema,
            &mut tracker,
            &options,
        );
        write_message(&mut start, message, &options)?;
        writer.write_all(&start)?;
        Ok(Self { writer, schema: Arc::clone(schema), blocks: Vec::new(), bytes: start.len() })
    }

    pub(super) fn write(&mut self, batch: &Encoded) -> Result<(), ArrowError> {
        self.writer.write_all(&batch.bytes)?;
        let too_large = |_| ArrowError::IpcError("the file is too large".to_owned());
        let offset = i64::try_from(self.bytes).map_err(too_large)?;
        let header = i32::try_from(batch.header).map_err(too_large)?;
        let body = i64::try_from(batch.body).map_err(too_large)?;
        self.blocks.push(Block::new(offset, header, body));
        self.bytes += batch.header + batch.body;
        Ok(())
    }

    /// Writes the index.
    pub(super) fn finish(mut self) -> Result<W, ArrowError> {
        let mut footer = FlatBufferBuilder::new();
        let dictionaries = footer.create_vector::<Block>(&[]);
        let batches = footer.create_vector(&self.blocks);
        let mut tracker = DictionaryTracker::new(false);
        let schema = IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut tracker)
            .schema_to_fb_offset(&mut footer, &self.schema);
        let mut root = FooterBuilder::new(&mut footer);
        root.add_version(MetadataVersion::V5);
        root.add_schema(schema);
        root.add_dictionaries(dictionaries);
        root.add_recordBatches(batches);
        let root = root.finish();
        footer.finish(root, None);
        let footer = footer.finished_data();
        let too_large = |_| ArrowError::IpcError("the index is too large".to_owned());
        let len = i32::try_from(footer.len()).map_err(too_large)?;
        for bytes in [END, footer, &len.to_le_bytes(), MAGIC] {
            self.writer.write_all(bytes)?;
        }
        Ok(self.writer)
    }
}

/// Returns the schema with the values of dictionaries instead of the dictionaries. A file can have
/// only one dictionary for each column, but inputs have others in each batch.
pub(super) fn without_dictionaries(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(plain_field);
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let plain = plain_type(field.data_type());
    match plain == *field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(Field::clone(field).with_data_type(plain)),
    }
}

fn plain_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

/// Returns a column with the values of dictionaries instead of the dictionaries.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if plain_type(array.data_type()) == *array.data_type() {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            plain(&arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?)?
        }
        DataType::List(item) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::try_new(plain_field(item), offsets, plain(&values)?, nulls)?)
        }
        DataType::LargeList(item) => {
            let (_, offsets, values, nulls) = array.as_list::<i64>().clone().into_parts();
            Arc::new(LargeListArray::try_new(plain_field(item), offsets, plain(&values)?, nulls)?)
        }
        DataType::Struct(fields) => {
            let (_, columns, nulls) = array.as_struct().clone().into_parts();
            let columns = columns.iter().map(plain).collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new(
                fields.iter().map(plain_field).collect(),
                columns,
                nulls,
            )?)
        }
        _ => Arc::clone(array),
    })
}
