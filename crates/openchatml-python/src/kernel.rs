//! Conversations in columns of Arrow tables.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use openchatml::convert::Lost;
use openchatml::{Code, Format, lint};
use openchatml_capsule::Batches;
use openchatml_data::DataError;
use openchatml_data::kernel::{
    Kernel, KernelOptions, SharedEncoding, Task, TokenizeOptions, Tokens, TooLong,
};
use openchatml_data::record::{Consent, Purpose, RecordFormat};
use openchatml_tokens::MaskPolicy;
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::{PyCapsule, PyDict};

use crate::argument::{Argument, cut, keywords};
use crate::consent::Allowed;
use crate::error::{Failure, detached, wrong_type, wrong_value};
use crate::options::{self, Writing};
use crate::read::codes;
use crate::tokenizer::PyTokenizer;
use crate::tool_list::tools;
use crate::training;

/// A kernel of Arrow tables. Its documentation is that of `openchatml.arrow.Kernel`.
#[pyclass(frozen, module = "openchatml._openchatml", name = "_Kernel")]
pub(crate) struct PyKernel {
    kernel: Arc<Kernel>,
}

/// The options that are read before the kernel is made.
struct Given {
    options: KernelOptions,
    writing: Writing,
    mask: MaskPolicy,
    max_length: Option<usize>,
    too_long: TooLong,
    ignored: Vec<Code>,
    allowed: Vec<Allowed>,
    no_loss: bool,
    is_sample: bool,
}

#[pymethods]
impl PyKernel {
    #[new]
    #[pyo3(signature = (task, target, options))]
    fn create(
        task: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let task = Argument::new("task", task).text()?;
        let placeholder = Task::Convert { to: Format::JSON };
        let mut given = Given {
            options: KernelOptions::new(placeholder),
            writing: Writing::default(),
            mask: MaskPolicy::default(),
            max_length: None,
            too_long: TooLong::default(),
            ignored: Vec::new(),
            allowed: Vec::new(),
            no_loss: false,
            is_sample: task == "tokenize",
        };
        keywords(
            Some(options),
            |argument| Ok(given.set(task, argument)? || given.read(argument)?),
        )?;
        let consent = consent(given.no_loss, &given.allowed);
        let Given { mut options, writing, mask, max_length, too_long, ignored, is_sample, .. } =
            given;
        options.consent = consent;
        options.render = writing.finish()?;
        options.task = match task {
            "convert" => Task::Convert { to: Argument::new("to", target).format()? },
            "tokenize" => {
                let mut tokenize = TokenizeOptions::new(tokens(target)?);
                (tokenize.mask, tokenize.max_length, tokenize.too_long) =
                    (mask, max_length, too_long);
                Task::Tokenize(tokenize)
            }
            "check" => {
                let wanted = lint::SAMPLE.iter().copied().filter(|code| !ignored.contains(code));
                Task::Check { lints: wanted.collect() }
            }
            _ => return Err(wrong_value("task", "there is no such task")),
        };
        if is_sample {
            options.purpose = Purpose::Training;
            options.render.keep_reasoning = true;
        }
        Ok(Self { kernel: Arc::new(Kernel::new(options)) })
    }

    /// Returns the rows for each row of an object with the Arrow interface.
    fn rows(&self, data: &Bound<'_, PyAny>) -> PyResult<PyRows> {
        let Some(batches) = openchatml_capsule::batches(data)? else {
            return Err(wrong_type("data", "an Arrow table or batch", data));
        };
        let empty = RecordBatch::new_empty(batches.schema());
        // An empty batch has all that can be wrong with the columns.
        let rows = detached(data.py(), || self.kernel.each_row(&empty))?.map_err(failure)?;
        let schema = rows.schema();
        let rows = Rows { kernel: Arc::clone(&self.kernel), schema: Arc::clone(&schema), batches };
        Ok(PyRows { schema, rows: Some(rows).into() })
    }

    /// Returns the columns of the task, as a schema of Arrow.
    fn schema(&self) -> PyResult<PySchema> {
        let none: SchemaRef = Schema::empty().into();
        let mut options = self.kernel.options().clone();
        options.keep.clear();
        let schema = Kernel::new(options).schema_of_rows(&none).map_err(failure)?;
        Ok(PySchema { schema })
    }

    /// Returns the names of the columns that are kept.
    fn kept(&self) -> Vec<String> {
        self.kernel.options().keep.clone()
    }
}

impl Given {
    /// Sets an option of this task. Returns whether there is one of this name.
    fn set(&mut self, task: &str, argument: &Argument<'_, '_>) -> PyResult<bool> {
        match (task, argument.name) {
            ("tokenize", "max_length") => self.max_length = argument.optional_number()?,
            ("tokenize", "too_long") => {
                let all = [TooLong::Reject, TooLong::Truncate];
                self.too_long = argument.word(&all, |it| match it {
                    TooLong::Reject => "reject",
                    TooLong::Truncate => "truncate",
                })?;
            }
            ("tokenize", "as_is") => self.is_sample = !argument.flag()?,
            ("check", "ignore") => self.ignored = codes(argument)?,
            ("tokenize", _) if training::set(&mut self.mask, argument)? => {}
            ("convert" | "tokenize", "tools") if argument.value.is_none() => {}
            ("convert" | "tokenize", "tools") => self.options.tools = Some(tools(argument)?),
            ("convert" | "tokenize", name)
                if !["bare", "keep_reasoning", "ids"].contains(&name) =>
            {
                return self.writing.set(argument);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets an option of reading.
    fn read(&mut self, argument: &Argument<'_, '_>) -> PyResult<bool> {
        let options = &mut self.options;
        match argument.name {
            "column" => options.column = argument.optional_text()?.map(str::to_owned),
            "keep" => options.keep = argument.texts()?,
            "lines" => options.lines = argument.flag()?,
            "format" => {
                if let Some(format) = argument.format_or_auto()? {
                    options.from = RecordFormat::Named(format);
                }
            }
            "allow_loss" => self.allowed = Allowed::read(argument)?,
            "no_loss" => self.no_loss = argument.flag()?,
            _ => return options::read(&mut options.read, argument),
        }
        Ok(true)
    }
}

/// What may be lost, as for `ocml data`.
fn consent(no_loss: bool, allowed: &[Allowed]) -> Consent {
    let mut consent = if no_loss { Consent::no_loss() } else { Consent::default() };
    for allowed in allowed {
        match *allowed {
            Allowed::All => consent.allow_all_drops(),
            // They are allowed, unless `no_loss` says otherwise.
            Allowed::Losses => Lost::ALL.iter().for_each(|lost| consent.allow_loss(*lost)),
            Allowed::Lost(lost) => consent.allow_loss(lost),
            Allowed::Dropped(dropped) => consent.allow(dropped),
        }
    }
    consent
}

/// Returns the ids of a tokenizer.
fn tokens(target: &Bound<'_, PyAny>) -> PyResult<Tokens> {
    let Ok(tokenizer) = target.cast::<PyTokenizer>() else {
        return Err(wrong_type("tokenizer", "a `Tokenizer`", target));
    };
    let writer = &tokenizer.get().writer;
    let encoding = Arc::clone(writer.tokenizer.encoding());
    let make = move || Box::new(Arc::clone(&encoding)) as Box<dyn SharedEncoding>;
    let mut tokens = Tokens::new(writer.tokenizer.format(), make);
    tokens.may_spell = writer.may_spell;
    Ok(tokens)
}

fn failure(error: DataError) -> Failure {
    match error {
        DataError::Column { column, what } => {
            Failure::new("ArgumentValueError", format!("column `{}`: {what}", cut(&column)))
        }
        error => Failure::new("ArgumentValueError", error.to_string()),
    }
}

/// Rows that are made while they are read.
struct Rows {
    kernel: Arc<Kernel>,
    schema: SchemaRef,
    batches: Batches,
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The caller is C, which a panic must not reach.
        let rows = |batch| {
            let rows = catch_unwind(AssertUnwindSafe(|| self.kernel.each_row(&batch)));
            let rows = rows.unwrap_or_else(|_| Err(DataError::Internal("a panic".to_owned())));
            rows.map_err(|error| ArrowError::ComputeError(error.to_string()))
        };
        Some(self.batches.next()?.and_then(rows))
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Rows for another library, which reads them once.
#[pyclass(frozen, module = "openchatml._openchatml", name = "_Rows")]
pub(crate) struct PyRows {
    schema: SchemaRef,
    rows: std::sync::Mutex<Option<Rows>>,
}

#[pymethods]
impl PyRows {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore it.
        let _ = requested_schema;
        let rows = self.rows.lock_py_attached(py);
        match rows.unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            Some(rows) => openchatml_capsule::stream_capsule(py, Box::new(rows)),
            None => Err(Failure::new("StreamError", "the rows were read already").into()),
        }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        openchatml_capsule::schema_capsule(py, &self.schema)
    }
}

/// The columns of rows.
#[pyclass(frozen, module = "openchatml._openchatml", name = "_Schema")]
pub(crate) struct PySchema {
    schema: SchemaRef,
}

#[pymethods]
impl PySchema {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        openchatml_capsule::schema_capsule(py, &self.schema)
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The columns as Spark declares them.
    #[getter]
    fn ddl(&self) -> PyResult<String> {
        let columns = self.schema.fields().iter();
        let columns: Vec<String> = columns
            .map(|field| Ok(format!("{} {}", field.name(), ddl(field.data_type())?)))
            .collect::<PyResult<_>>()?;
        Ok(columns.join(", "))
    }
}

/// Returns the type of Spark for a type of Arrow.
fn ddl(kind: &DataType) -> PyResult<String> {
    Ok(match kind {
        DataType::Utf8 | DataType::LargeUtf8 => "string".to_owned(),
        DataType::Int8 => "tinyint".to_owned(),
        DataType::Int32 => "int".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::FixedSizeBinary(_) => "binary".to_owned(),
        DataType::List(item) => format!("array<{}>", ddl(item.data_type())?),
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let fields: Vec<String> = fields
                .map(|field| Ok(format!("{}:{}", field.name(), ddl(field.data_type())?)))
                .collect::<PyResult<_>>()?;
            format!("struct<{}>", fields.join(","))
        }
        kind => {
            let text = format!("Spark has no type for `{kind}`");
            return Err(Failure::new("InternalError", text).into());
        }
    })
}
