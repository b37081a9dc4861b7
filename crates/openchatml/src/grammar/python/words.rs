//! Reads the words and numbers of Python as JSON.

use crate::json::is_number;

/// Returns a word or a number as JSON.
pub(super) fn json(word: &str) -> Option<String> {
    let known = match word {
        "True" | "true" => "true",
        "False" | "false" => "false",
        "None" | "null" => "null",
        _ => return number(word),
    };
    Some(known.to_owned())
}

/// Returns a decimal number as JSON.
fn number(word: &str) -> Option<String> {
    if is_number(word) {
        return Some(word.to_owned());
    }
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let digits = without_underscores(digits)?;
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at(at),
        None => (digits.as_str(), ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if whole.len() + fraction.len() > 0 => (whole, Some(fraction)),
        Some(_) => return None,
        None => (mantissa, None),
    };
    if whole.is_empty() && fraction.is_none() {
        return None;
    }
    let trimmed = whole.trim_start_matches('0');
    // Python allows zeros before a number with a fraction or an exponent.
    let is_float = fraction.is_some() || !exponent.is_empty();
    if trimmed.len() < whole.len() && !trimmed.is_empty() && !is_float {
        return None;
    }
    let whole = if trimmed.is_empty() { "0" } else { trimmed };
    let mut json = [sign, whole].concat();
    if let Some(fraction) = fraction {
        json.push('.');
        json.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    json.push_str(exponent);
    is_number(&json).then_some(json)
}

/// Removes the underscores between digits. Returns `None` if one is somewhere else.
fn without_underscores(digits: &str) -> Option<String> {
    let is_digit = |part: Option<char>| part.is_some_and(|char| char.is_ascii_digit());
    let mut parts = digits.split('_').peekable();
    let mut joined = String::with_capacity(digits.len());
    while let Some(part) = parts.next() {
        let next = parts.peek().map(|next| next.chars().next());
        if next.is_some_and(|next| !is_digit(next) || !is_digit(part.chars().next_back())) {
            return None;
        }
        joined.push_str(part);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn words_and_numbers_become_json() {
        for (word, expected) in [
            ("True", "true"),
            ("false", "false"),
            ("None", "null"),
            ("-3", "-3"),
            ("+5", "5"),
            ("1_000", "1000"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("00", "0"),
            ("01.5", "1.5"),
            ("1e-05", "1e-05"),
            ("-1_0.2_5E+1_0", "-10.25E+10"),
        ] {
            assert_eq!(json(word).as_deref(), Some(expected), "{word}");
        }
        for word in
            ["", "x", "1__0", "_1", "1_", "0x1F", "01", "1j", ".", "-", "--1", "1.2.3", "e5"]
        {
            assert_eq!(json(word), None, "{word}");
        }
    }
}
