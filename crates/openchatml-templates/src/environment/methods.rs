//! The methods of Python's strings, dicts and lists.
//!
//! Methods whose result depends on marks or can be much longer than their input are implemented
//! here. The others are those of `minijinja-contrib`.

use std::borrow::Cow;

use minijinja::formatting::{FormatStyle, format};
use minijinja::value::{Kwargs, Tuple, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

use super::arguments::Arguments;
use super::bounds::Bounds;
use super::text::Text;

/// Whether Python treats a character as white space.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Calls a method.
pub(super) fn call(
    bounds: &Bounds,
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        return of_string(bounds, state, text, method, args);
    }
    match (value.kind(), method) {
        (ValueKind::Seq | ValueKind::Iterable, "index" | "count") => {
            let (wanted,): (Value,) = from_args(args)?;
            let wanted = bounds.bounded(state, wanted)?;
            let items = bounds.bounded(state, value.clone())?;
            let mut places = Vec::new();
            for (at, item) in items.try_iter()?.checked().enumerate() {
                if item? == wanted {
                    places.push(at);
                }
            }
            match method {
                "count" => Ok(Value::from(places.len())),
                _ => places.first().map(|at| Value::from(*at)).ok_or_else(|| wrong("no such item")),
            }
        }
        _ => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn of_string(
    bounds: &Bounds,
    state: &mut State<'_, '_>,
    text: &str,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let marks = &bounds.marks;
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            let ends = [method != "rstrip", method != "lstrip"];
            Ok(strip(bounds, text, ends, chars).into())
        }
        "split" | "rsplit" => split(bounds, text, method == "rsplit", args),
        "partition" | "rpartition" => partition(bounds, text, method, args),
        "replace" => {
            let args = Arguments::of(args)?;
            let (old, new): (&str, &str) = (args.placed()?, args.placed()?);
            let count = args.next("count")?;
            args.end()?;
            replace(bounds, text, old, new, count).map(Value::from)
        }
        "startswith" | "endswith" => has_affix(bounds, text, method, args),
        "removeprefix" | "removesuffix" => without_affix(bounds, text, method, args),
        "join" => {
            let (items,): (&Value,) = from_args(args)?;
            join(bounds, items.clone(), text)
        }
        "index" | "rindex" => {
            let method = if method == "index" { "find" } else { "rfind" };
            let at = pycompat::unknown_method_callback(state, &Value::from(text), method, args)?;
            match at.as_i64() {
                Some(-1) => Err(wrong("substring not found")),
                _ => Ok(at),
            }
        }
        "find" | "rfind" | "capitalize" | "title" | "upper" | "lower" => {
            pycompat::unknown_method_callback(state, &Value::from(text), method, args)
        }
        "casefold" => Ok(Value::from(text.to_lowercase())),
        "center" | "ljust" | "rjust" | "zfill" => pad(bounds, text, method, args),
        "format" => {
            let args = format_args(bounds, text, '{', args)?;
            format(FormatStyle::StrFormat, text, &args).map(Value::from)
        }
        _ => {
            let text = Value::from(marks.without(text));
            pycompat::unknown_method_callback(state, &text, method, args)
        }
    }
}

/// Creates the error of an invalid call.
pub(super) fn wrong(text: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, text)
}

fn not_empty(separator: &str) -> Result<(), Error> {
    if separator.is_empty() { Err(wrong("empty separator")) } else { Ok(()) }
}

/// `strip`, `lstrip`, `rstrip`.
pub(super) fn strip<'t>(
    bounds: &Bounds,
    text: &'t str,
    ends: [bool; 2],
    chars: Option<&str>,
) -> Cow<'t, str> {
    match chars {
        Some(chars) => bounds.marks.trim(text, ends, |c| chars.contains(c)),
        None => bounds.marks.trim(text, ends, is_space),
    }
}

/// `partition`, `rpartition`.
fn partition(bounds: &Bounds, text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator,): (&str,) = from_args(args)?;
    not_empty(separator)?;
    let mut found = bounds.marks.find(text, separator);
    let is_last = method == "rpartition";
    let parts = match if is_last { found.last() } else { found.next() } {
        Some(range) => [&text[..range.start], separator, &text[range.end..]],
        None if is_last => ["", "", text],
        None => [text, "", ""],
    };
    Ok(Value::from(Tuple::from(parts.map(Value::from))))
}

/// `startswith`, `endswith`.
fn has_affix(bounds: &Bounds, text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (affix,): (Value,) = from_args(args)?;
    let text = bounds.marks.without(text);
    let has = |affix: &Value| {
        let affix = affix.as_str().ok_or_else(|| wrong(format!("{method} needs strings")))?;
        let affix = bounds.marks.without(affix);
        Ok(match method {
            "startswith" => text.starts_with(affix.as_ref()),
            _ => text.ends_with(affix.as_ref()),
        })
    };
    if affix.kind() == ValueKind::String {
        return has(&affix).map(Value::from);
    }
    for affix in affix.try_iter()?.checked() {
        if has(&affix?)? {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}

/// `removeprefix`, `removesuffix`.
fn without_affix(
    bounds: &Bounds,
    text: &str,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let (affix,): (&str,) = from_args(args)?;
    let whole = text.len();
    let found = bounds.marks.find(text, affix).find(|range| match method {
        "removeprefix" => range.start == 0,
        _ => range.end == whole,
    });
    let rest = match found {
        Some(range) if method == "removeprefix" => &text[range.end..],
        Some(range) => &text[..range.start],
        None => text,
    };
    Ok(Value::from(rest))
}

fn split(bounds: &Bounds, text: &str, from_end: bool, args: &[Value]) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let separator: Option<&str> = args.next("sep")?;
    let most: Option<i64> = args.next("maxsplit")?;
    let most = most.and_then(|most| usize::try_from(most).ok());
    args.end()?;
    let places: Vec<_> = match separator {
        Some(separator) => {
            not_empty(separator)?;
            bounds.marks.find(text, separator).collect()
        }
        None => spaces(text),
    };
    let most = most.unwrap_or(usize::MAX);
    // The rest keeps its white space.
    let is_whole = places.len() < most;
    let skipped = if from_end { places.len().saturating_sub(most) } else { 0 };
    let mut parts = Vec::new();
    let mut at = 0;
    for place in places.into_iter().skip(skipped).take(most) {
        parts.push(&text[at..place.start]);
        at = place.end;
    }
    parts.push(&text[at..]);
    if separator.is_none() {
        // White space at the ends does not separate words.
        let last = parts.len() - 1;
        if is_whole || !from_end {
            parts[0] = parts[0].trim_start_matches(is_space);
        }
        if is_whole || from_end {
            parts[last] = parts[last].trim_end_matches(is_space);
        }
        parts.retain(|part| !part.is_empty());
    }
    Ok(parts.into_iter().map(Value::from).collect())
}

/// Returns the ranges of white space between words.
fn spaces(text: &str) -> Vec<std::ops::Range<usize>> {
    let inner = text.trim_end_matches(is_space);
    let mut at = inner.len() - inner.trim_start_matches(is_space).len();
    let mut places = Vec::new();
    while let Some(found) = inner[at..].find(is_space) {
        let start = at + found;
        let rest = inner[start..].trim_start_matches(is_space);
        at = inner.len() - rest.len();
        places.push(start..at);
    }
    places
}

/// `replace`.
pub(super) fn replace(
    bounds: &Bounds,
    text: &str,
    old: &str,
    new: &str,
    count: Option<i64>,
) -> Result<String, Error> {
    let most = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    let places = || bounds.marks.find(text, old).take(most);
    let added = places().count().checked_mul(new.len());
    bounds.bytes(added.and_then(|added| added.checked_add(text.len())))?;
    let (mut out, mut at) = (String::new(), 0);
    for place in places() {
        out.push_str(&text[at..place.start]);
        out.push_str(new);
        at = place.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Joins the texts of all items with a separator.
pub(super) fn join(bounds: &Bounds, items: Value, between: &str) -> Result<Value, Error> {
    let mut out = Text::new(bounds);
    for (index, item) in items.try_iter()?.checked().enumerate() {
        if index > 0 {
            out.push(between)?;
        }
        out.push_str(&item?)?;
    }
    Ok(Value::from(out.text))
}

fn pad(bounds: &Bounds, text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (width, fill): (i64, Option<&str>) = from_args(args)?;
    let fill = fill.unwrap_or(if method == "zfill" { "0" } else { " " });
    let len = bounds.marks.without(text).chars().count();
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(len);
    bounds
        .bytes(missing.checked_mul(fill.len()).and_then(|added| added.checked_add(text.len())))?;
    let before = match method {
        "ljust" => 0,
        // The rounding of Python.
        "center" => missing / 2 + (missing & usize::try_from(width).unwrap_or(0) & 1),
        _ => missing,
    };
    let [before, padding_after] = [before, missing - before].map(|count| fill.repeat(count));
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) if method == "zfill" => text.split_at(text.len() - digits.len()),
        _ => ("", text),
    };
    Ok(Value::from([sign, &before, digits, &padding_after].concat()))
}

/// Returns the arguments of a format string, if the result cannot be too long. The estimate is the
/// longest argument times the number of placeholders, plus the digits that the format requests.
/// Values are converted to text first.
pub(super) fn format_args(
    bounds: &Bounds,
    template: &str,
    sign: char,
    args: &[Value],
) -> Result<Vec<Value>, Error> {
    let text = |value: Value| match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            let mut out = Text::new(bounds);
            out.push_str(&value)?;
            Ok::<_, Error>(Value::from(out.text))
        }
        _ => Ok(value),
    };
    let mut longest = 64;
    let mut all = Vec::with_capacity(args.len());
    let Arguments { places, names: kwargs, .. } = Arguments::of(args)?;
    for value in places {
        let value = text(value.clone())?;
        longest = longest.max(value.as_str().map_or(0, str::len));
        all.push(value);
    }
    let mut named = Vec::new();
    for name in kwargs.args() {
        let value = text(kwargs.get(name)?)?;
        longest = longest.max(value.as_str().map_or(0, str::len));
        named.push((name.to_owned(), value));
    }
    let places = template.matches(sign).count();
    let widths = template.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = widths.map(|digits| digits.parse().unwrap_or(usize::MAX));
    let widths = widths.fold(0, usize::saturating_add);
    let len = places.checked_mul(longest).and_then(|len| len.checked_add(template.len()));
    bounds.bytes(len.and_then(|len| len.checked_add(widths)))?;
    if !named.is_empty() {
        all.push(named.into_iter().collect::<Kwargs>().into());
    }
    Ok(all)
}
