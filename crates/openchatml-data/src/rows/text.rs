//! Texts of a column, whatever its type.

use arrow_array::cast::AsArray as _;
use arrow_array::{
    AnyDictionaryArray, Array, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;

/// A column of texts: strings, bytes that should be UTF-8, or a dictionary of them.
pub(crate) enum TextColumn<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    Dictionary { keys: Vec<usize>, array: &'a dyn AnyDictionaryArray, values: Box<Self> },
}

impl<'a> TextColumn<'a> {
    /// Returns the texts of an array, or `None` if it has another type.
    pub(crate) fn new(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            DataType::Dictionary(..) => {
                let array = array.as_any_dictionary_opt()?;
                let values = Box::new(Self::new(array.values().as_ref())?);
                // The keys of a dictionary without values are all null.
                let keys = match array.values().is_empty() {
                    true => Vec::new(),
                    false => array.normalized_keys(),
                };
                Self::Dictionary { keys, array, values }
            }
            _ => return None,
        })
    }

    /// Returns the text of a row, or `None` if it is null.
    pub(crate) fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary { keys, array, values } => {
                if array.keys().is_null(row) {
                    return None;
                }
                values.bytes(*keys.get(row)?)
            }
        }
    }

    /// Returns the text of a row, or `None` if it is null or not UTF-8. Strings are not checked
    /// again.
    pub(crate) fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Utf8View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary { keys, array, values } => {
                if array.keys().is_null(row) {
                    return None;
                }
                values.text(*keys.get(row)?)
            }
            Self::Binary(_) | Self::LargeBinary(_) | Self::BinaryView(_) => {
                simdutf8::basic::from_utf8(self.bytes(row)?).ok()
            }
        }
    }

    /// Whether texts of this type are UTF-8.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Utf8(_) | Self::LargeUtf8(_) | Self::Utf8View(_) => true,
            Self::Binary(_) | Self::LargeBinary(_) | Self::BinaryView(_) => false,
            Self::Dictionary { values, .. } => values.is_text(),
        }
    }
}
