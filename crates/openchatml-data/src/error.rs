//! Errors of data sets.

use std::fmt;

/// The reason why a data set cannot be processed. A record that cannot be converted is not an
/// error: it is [rejected](crate::kernel::Rejected).
///
/// ```
/// use openchatml_data::DataError;
///
/// let error = DataError::Column { column: "day".to_owned(), what: "it has dates".to_owned() };
/// assert_eq!(error.to_string(), "column `day`: it has dates");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataError {
    /// The options contradict each other or the inputs.
    Usage(String),
    /// A column is missing, or its type is not supported.
    Column {
        /// The name of the column.
        column: String,
        /// What is wrong.
        what: String,
    },
    /// An input cannot be read from this place on.
    Input {
        /// The file.
        file: String,
        /// The number of the row or line, from 1, if it is known.
        row: Option<u64>,
        /// The position in the file, if it is known. In compressed files, it is that of the
        /// uncompressed data.
        byte: Option<u64>,
        /// What is wrong.
        what: String,
    },
    /// An output cannot be written.
    Output {
        /// The file.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// A record was rejected, and the user wants to stop then.
    Rejected {
        /// The file.
        file: String,
        /// The number of the row or line, from 1.
        row: u64,
        /// The first diagnostic.
        what: String,
    },
    /// The user interrupted the run.
    Interrupted,
    /// A bug of this crate.
    Internal(String),
}

impl DataError {
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    pub(crate) fn input(file: &str, what: impl fmt::Display) -> Self {
        Self::Input { file: file.to_owned(), row: None, byte: None, what: reason(&what) }
    }

    pub(crate) fn at_row(file: &str, row: u64, what: impl fmt::Display) -> Self {
        Self::Input { file: file.to_owned(), row: Some(row), byte: None, what: reason(&what) }
    }

    pub(crate) fn at(file: &str, row: u64, byte: u64, what: impl fmt::Display) -> Self {
        let file = file.to_owned();
        Self::Input { file, row: Some(row), byte: Some(byte), what: reason(&what) }
    }

    pub(crate) fn output(file: impl Into<String>, what: impl fmt::Display) -> Self {
        Self::Output { file: file.into(), what: reason(&what) }
    }
}

/// Returns the message of another library without its system error number.
fn reason(what: &impl fmt::Display) -> String {
    let text = what.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    let second_is_lower = text.chars().nth(1).is_some_and(char::is_lowercase);
    match chars.next() {
        Some(first) if second_is_lower => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Column { column, what } => write!(f, "column `{column}`: {what}"),
            Self::Input { file, row, byte, what } => {
                write!(f, "cannot read `{file}`")?;
                match (row, byte) {
                    (Some(row), Some(byte)) => write!(f, " at row {row}, byte {byte}")?,
                    (Some(row), None) => write!(f, " at row {row}")?,
                    (None, Some(byte)) => write!(f, " at byte {byte}")?,
                    (None, None) => {}
                }
                write!(f, ": {what}")
            }
            Self::Output { file, what } => write!(f, "cannot write `{file}`: {what}"),
            Self::Rejected { file, row, what } => write!(f, "`{file}`, row {row}: {what}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl std::error::Error for DataError {}

/// All error types can be boxed and sent to other threads.
const _: () = {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<DataError>();
};
