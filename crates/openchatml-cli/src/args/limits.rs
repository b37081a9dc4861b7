//! Limits on the input, under the names that diagnostics use.

use openchatml::Limits;

/// All limits on the input.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// The limits of the readers.
    pub(crate) limits: Limits,
    /// The size of one document in bytes: a file, or a line of a JSONL file.
    pub(crate) input_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { limits: Limits::default(), input_bytes: 1 << 30 }
    }
}

/// One limit from the command line: `NAME=VALUE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    name: &'static str,
    value: usize,
}

impl Bound {
    /// Whether it is a limit on a whole input.
    pub(crate) fn is_of_input(&self) -> bool {
        self.name == INPUT_BYTES
    }
}

/// The limit that is not a limit of the readers.
const INPUT_BYTES: &str = "input_bytes";

/// The names of all limits.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(INPUT_BYTES).chain(Limits::NAMES.iter().copied())
}

impl Bounds {
    /// Returns the defaults with these changes.
    pub(crate) fn with(bounds: &[Bound]) -> Self {
        let mut all = Self::default();
        for bound in bounds {
            if let Some(field) = all.field(bound.name) {
                *field = bound.value;
            }
        }
        all
    }

    fn field(&mut self, name: &str) -> Option<&mut usize> {
        match name {
            INPUT_BYTES => Some(&mut self.input_bytes),
            name => self.limits.get_mut(name),
        }
    }
}

/// Parses `NAME=VALUE`. The value can end in `K`, `M` or `G`.
pub(crate) fn bound(text: &str) -> Result<Bound, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write the limit as NAME=VALUE".to_owned());
    };
    let Some(name) = names().find(|known| *known == name) else {
        return Err(format!(
            "unknown limit; the limits are {}",
            names().collect::<Vec<_>>().join(", ")
        ));
    };
    let value =
        number(value).ok_or("the value must be a whole number, optionally with K, M or G")?;
    let highest = Limits::highest(name);
    if value > highest {
        return Err(format!("the maximum of `{name}` is {highest}"));
    }
    Ok(Bound { name, value })
}

/// Parses a whole number, which can end in `K`, `M` or `G`.
pub(crate) fn number(text: &str) -> Option<usize> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(*unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    // `parse` would also accept a sign.
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<usize>().ok().filter(|_| is_number)?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::{Bounds, bound, names};

    #[test]
    fn every_limit_can_be_set() {
        for name in names() {
            let mut bounds = Bounds::with(&[bound(&format!("{name}=7")).unwrap()]);
            assert_eq!(*bounds.field(name).unwrap(), 7, "{name}");
        }
    }

    #[test]
    fn values_can_have_units() {
        let value = |text: &str| bound(&format!("messages={text}")).map(|bound| bound.value);
        assert_eq!(value("64K"), Ok(64 << 10));
        assert_eq!(value("1G"), Ok(1 << 30));
        for wrong in ["", "K", "-1", "+1", "1T", "99999999999999999999", "17179869184G"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
        assert!(bound("message=1").is_err());
    }

    #[test]
    fn limits_are_at_most_what_the_counter_can_count() {
        assert_eq!(bound("json_depth=512").map(|bound| bound.value), Ok(512));
        let refused = bound("json_depth=513").unwrap_err();
        assert_eq!(refused, "the maximum of `json_depth` is 512");
        assert!(bound("yaml_depth=1K").is_err());
    }
}
