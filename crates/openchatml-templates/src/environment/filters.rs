//! Filters that are not those of the engine: `tojson` as `transformers` has it, and all that depend
//! on marks or make text of a value.

use std::sync::Arc;

use minijinja::value::{Rest, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, State, Value};

use super::bounds::Bounds;
use super::methods::{self, wrong};
use super::text::{Layout, Text};
use super::text_of;

/// Filters of the engine that Jinja does not have.
const FOREIGN: &[&str] = &["bool", "chain", "lines", "pprint", "split", "zip"];

/// Filters that are methods of strings, too.
const METHODS: &[&str] = &["capitalize", "lower", "title", "upper"];

/// Tests that compare.
const COMPARISONS: &[&str] = &[
    "eq",
    "equalto",
    "==",
    "ne",
    "!=",
    "lt",
    "lessthan",
    "<",
    "le",
    "<=",
    "gt",
    "greaterthan",
    ">",
    "ge",
    ">=",
    "in",
];

/// Adds the filters, and the tests that are bounded.
pub(super) fn add(environment: &mut Environment<'static>, bounds: &Arc<Bounds>) {
    for name in FOREIGN {
        environment.remove_filter(name);
    }
    for (name, call) in FILTERS {
        let bounds = Arc::clone(bounds);
        let filter = move |state: &mut State, value: Value, args: Rest<ValueOrKwargs>| {
            call(&bounds, state, &value, &args.into_values())
        };
        environment.add_filter(*name, filter);
    }
    methods_as_filters(environment, bounds);
    tests(environment, bounds);
}

type Filter = fn(&Bounds, &mut State<'_, '_>, &Value, &[Value]) -> Result<Value, Error>;

/// The filters that are ours.
const FILTERS: &[(&str, Filter)] = &[
    ("center", center),
    ("count", |bounds, _, value, _| length(bounds, value)),
    ("d", default),
    ("default", default),
    ("e", |bounds, _, value, _| escaped(bounds, value)),
    ("escape", |bounds, _, value, _| escaped(bounds, value)),
    ("float", float),
    ("format", format),
    ("indent", indent),
    ("int", int),
    ("join", join),
    ("length", |bounds, _, value, _| length(bounds, value)),
    ("replace", replace),
    ("safe", |bounds, _, value, _| text_of(bounds, value).map(Value::from)),
    ("string", |bounds, _, value, _| text_of(bounds, value).map(Value::from)),
    ("tojson", tojson),
    ("trim", trim),
    ("wordcount", wordcount),
];

fn trim(
    bounds: &Bounds,
    _: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (chars,): (Option<&str>,) = from_args(args)?;
    Ok(methods::strip(bounds, &text_of(bounds, value)?, [true, true], chars).into())
}

fn replace(
    bounds: &Bounds,
    _: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (old, new, count): (Value, Value, Option<i64>) = from_args(args)?;
    let count = count.or(kwargs.get("count")?);
    kwargs.assert_all_used()?;
    let [text, old, new] = [value, &old, &new].map(|value| text_of(bounds, value));
    methods::replace(bounds, &text?, &old?, &new?, count).map(Value::from)
}

fn default(
    _: &Bounds,
    _: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (other, falsy): (Option<Value>, Option<bool>) = from_args(args)?;
    let other = other.or(kwargs.get("default_value")?).unwrap_or(Value::from(""));
    let falsy = falsy.or(kwargs.get("boolean")?).unwrap_or(false);
    kwargs.assert_all_used()?;
    let is_missing = value.is_undefined() || falsy && !value.is_true();
    Ok(if is_missing { other } else { value.clone() })
}

/// As Python's, but for what is no number.
fn int(
    _: &Bounds,
    state: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (other, base): (Option<Value>, Option<u32>) = from_args(args)?;
    let other = other.or(kwargs.get("default")?).unwrap_or(Value::from(0));
    minijinja::filters::int(state, value, Some(other), base, kwargs)
}

/// As Python's, but for what is no number.
fn float(
    _: &Bounds,
    state: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (other,): (Option<Value>,) = from_args(args)?;
    let other = other.or(kwargs.get("default")?).unwrap_or(Value::from(0.0));
    minijinja::filters::float(state, value, Some(other), kwargs)
}

fn center(
    bounds: &Bounds,
    state: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (width,): (Option<i64>,) = from_args(args)?;
    let width = width.or(kwargs.get("width")?).unwrap_or(80);
    let text = Value::from(text_of(bounds, value)?);
    methods::call(bounds, state, &text, "center", &[Value::from(width)])
}

fn wordcount(
    bounds: &Bounds,
    _: &mut State<'_, '_>,
    value: &Value,
    _: &[Value],
) -> Result<Value, Error> {
    let text = text_of(bounds, value)?;
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
}

fn format(
    bounds: &Bounds,
    state: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let text = text_of(bounds, value)?;
    let mut all = vec![Value::from(text.clone())];
    all.extend(methods::format_args(bounds, &text, '%', args)?);
    let (text, args): (Value, Rest<ValueOrKwargs>) = from_args(&all)?;
    minijinja::filters::format(state, &text, args)
}

fn methods_as_filters(environment: &mut Environment<'static>, bounds: &Arc<Bounds>) {
    for name in METHODS {
        let bounds = Arc::clone(bounds);
        environment.add_filter(*name, move |state: &mut State, value: Value| {
            let text = Value::from(text_of(&bounds, &value)?);
            methods::call(&bounds, state, &text, name, &[])
        });
    }
}

fn tests(environment: &mut Environment<'static>, bounds: &Arc<Bounds>) {
    // What has a length and can be indexed.
    environment.add_test("sequence", |value: &Value| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String
        )
    });
    environment.add_test("iterable", |value: &Value| {
        let is_none = matches!(value.kind(), ValueKind::None | ValueKind::Bool | ValueKind::Number);
        !is_none && value.try_iter().is_ok()
    });
    for name in COMPARISONS {
        let bounds = Arc::clone(bounds);
        environment.add_test(*name, move |state: &State, value: Value, other: Value| {
            let value = bounds.bounded(state, value)?;
            let other = bounds.bounded(state, other)?;
            Ok::<_, Error>(match *name {
                "eq" | "equalto" | "==" => value == other,
                "ne" | "!=" => value != other,
                "lt" | "lessthan" | "<" => value < other,
                "le" | "<=" => value <= other,
                "gt" | "greaterthan" | ">" => value > other,
                "ge" | ">=" => value >= other,
                _ => return minijinja::tests::is_in(state, &value, &other),
            })
        });
    }
}

/// The length as the template would see it if nothing was marked.
fn length(bounds: &Bounds, value: &Value) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        return Ok(Value::from(bounds.marks.without(text).chars().count()));
    }
    if value.kind() == ValueKind::Undefined {
        return Ok(Value::from(0));
    }
    match value.len() {
        Some(len) => Ok(Value::from(len)),
        None => Err(wrong(format!("{} has no length", value.kind()))),
    }
}

/// `json.dumps(value, ensure_ascii, indent, separators, sort_keys)`.
fn tojson(
    bounds: &Bounds,
    state: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let mut args = args.iter().cloned();
    let [ascii, indent, separators, sorts] = std::array::from_fn(|_| args.next());
    let or = |given: Option<Value>, name: &str| -> Result<Value, Error> {
        Ok(given.or(kwargs.get(name)?).unwrap_or(Value::from(())))
    };
    let ascii = or(ascii, "ensure_ascii")?.is_true();
    let indent = or(indent, "indent")?;
    let separators = or(separators, "separators")?;
    let sorts = or(sorts, "sort_keys")?.is_true();
    kwargs.assert_all_used()?;
    let indent = match indent.as_str() {
        Some(text) => Some(text.to_owned()),
        None if indent.is_none() => None,
        None => {
            let width = i64::try_from(indent)?.max(0);
            let width = usize::try_from(width).unwrap_or(usize::MAX);
            bounds.bytes(Some(width))?;
            Some(" ".repeat(width))
        }
    };
    let separators = match separators.is_none() {
        true => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
        false => {
            let given: Vec<Value> = separators.try_iter()?.take(3).collect();
            match given.as_slice() {
                [item, key] => (text_of(bounds, item)?, text_of(bounds, key)?),
                _ => return Err(wrong("`separators` are two")),
            }
        }
    };
    let mut out = Text::new(bounds);
    out.push_json(value, &Layout { ascii, indent, separators, sorts }, 0)?;
    // It walks through values, which the engine does not count.
    state.consume_fuel(u64::try_from(out.text.len() / 16).unwrap_or(u64::MAX))?;
    Ok(Value::from(out.text))
}

fn escaped(bounds: &Bounds, value: &Value) -> Result<Value, Error> {
    let text = text_of(bounds, value)?;
    let mut out = Text::new(bounds);
    for (at, piece) in text.split_inclusive(['&', '<', '>', '"', '\'']).map(|it| (it.len(), it)) {
        let (plain, sign) =
            piece.split_at(at - piece.chars().next_back().map_or(0, char::len_utf8));
        out.push(plain)?;
        out.push(match sign {
            "&" => "&amp;",
            "<" => "&lt;",
            ">" => "&gt;",
            "\"" => "&#34;",
            "'" => "&#39;",
            other => other,
        })?;
    }
    Ok(Value::from(out.text))
}

fn join(
    bounds: &Bounds,
    _: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (between, attribute): (Option<Value>, Option<Value>) = from_args(args)?;
    let between = between.or(kwargs.get("d")?);
    let attribute = attribute.or(kwargs.get("attribute")?);
    kwargs.assert_all_used()?;
    let between = between.map(|between| text_of(bounds, &between)).transpose()?;
    let between = between.unwrap_or_default();
    if value.is_undefined() {
        return Ok(Value::from(""));
    }
    let Some(attribute) = attribute else { return methods::join(bounds, value.clone(), &between) };
    let mut items = Vec::new();
    for item in value.try_iter()?.checked() {
        let mut item = item?;
        match attribute.as_str() {
            Some(path) => {
                for key in path.split('.') {
                    let key = key.parse::<i64>().map_or_else(|_| Value::from(key), Value::from);
                    item = item.get_item(&key)?;
                }
            }
            None => item = item.get_item(&attribute)?,
        }
        items.push(item);
    }
    methods::join(bounds, Value::from(items), &between)
}

fn indent(
    bounds: &Bounds,
    _: &mut State<'_, '_>,
    value: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = methods::arguments(args)?;
    let (width, first, blank): (Option<Value>, Option<bool>, Option<bool>) = from_args(args)?;
    let width = width.or(kwargs.get("width")?).unwrap_or(Value::from(4));
    let first = first.or(kwargs.get("first")?).unwrap_or(false);
    let blank = blank.or(kwargs.get("blank")?).unwrap_or(false);
    kwargs.assert_all_used()?;
    let width = match width.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let width = usize::try_from(i64::try_from(width)?).unwrap_or(0);
            bounds.bytes(Some(width))?;
            " ".repeat(width)
        }
    };
    let text = text_of(bounds, value)?;
    let mut out = Text::new(bounds);
    let whole = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    for (index, line) in whole.enumerate() {
        let is_indented = if index == 0 { first } else { blank || !line.is_empty() };
        out.push(if index > 0 { "\n" } else { "" })?;
        out.push(if is_indented { &width } else { "" })?;
        out.push(line)?;
    }
    Ok(Value::from(out.text))
}
