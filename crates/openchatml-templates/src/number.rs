//! Numbers as Python reads them.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

/// An integer that no integer of the engine can be. It can be written, and nothing else.
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

/// The number that JSON spells like this, as Python takes it: with a point or an exponent it is a
/// float, and otherwise an integer of any size.
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
