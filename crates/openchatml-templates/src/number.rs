//! Numbers with the rules of Python.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

/// An integer that is too large for the engine. It can only be written.
#[derive(Debug)]
pub(crate) struct BigInt(String);

impl Object for BigInt {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses a JSON number like Python: a number with a point or an exponent is a float, and any other
/// is an integer of any size.
pub(crate) fn number(spelling: &str) -> Value {
    if let Ok(number) = spelling.parse::<i64>() {
        return Value::from(number);
    }
    if let Ok(number) = spelling.parse::<i128>() {
        return Value::from(number);
    }
    if spelling.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return Value::from_object(BigInt(spelling.to_owned()));
    }
    spelling.parse::<f64>().map_or(Value::from(()), Value::from)
}
