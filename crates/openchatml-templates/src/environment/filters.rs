//! Filters that replace those of the engine: `tojson` as in `transformers`, and all that depend on
//! marks or convert values to text.

use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, State, Value};

use super::arguments::Arguments;
use super::bounds::Bounds;
use super::methods::{self, wrong};
use super::text::{JsonLayout, Text};
use super::text_of;

/// Filters of the engine that do not exist in Jinja.
const FOREIGN: &[&str] = &["bool", "chain", "lines", "pprint", "split", "zip"];

/// Filters that are also methods of strings.
const METHODS: &[&str] = &["capitalize", "lower", "title", "upper"];

/// The tests that compare values.
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

/// Adds the filters, and the limited tests.
pub(super) fn add(environment: &mut Environment<'static>, bounds: &Arc<Bounds>) {
    for name in FOREIGN {
        environment.remove_filter(name);
    }
    for (name, call) in FILTERS {
        let bounds = Arc::clone(bounds);
        let filter = move |state: &mut State, value: Value, args: Rest<ValueOrKwargs>| {
            call(Call { bounds: &bounds, state, value: &value, args: &args.into_values() })
        };
        environment.add_filter(*name, filter);
    }
    methods_as_filters(environment, bounds);
    orders(environment, bounds);
    tests(environment, bounds);
}

/// A call of a filter.
struct Call<'c, 't, 'e> {
    bounds: &'c Bounds,
    state: &'c mut State<'t, 'e>,
    value: &'c Value,
    args: &'c [Value],
}

type Filter = fn(Call<'_, '_, '_>) -> Result<Value, Error>;

/// The filters that are implemented here.
const FILTERS: &[(&str, Filter)] = &[
    ("center", center),
    ("count", length),
    ("d", default),
    ("default", default),
    ("e", escaped),
    ("escape", escaped),
    ("float", float),
    ("format", format),
    ("indent", indent),
    ("int", int),
    ("join", join),
    ("length", length),
    ("replace", replace),
    ("safe", string),
    ("string", string),
    ("tojson", tojson),
    ("trim", trim),
    ("wordcount", wordcount),
];

fn string(Call { bounds, value, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    text_of(bounds, value).map(Value::from)
}

fn trim(Call { bounds, value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let (chars,): (Option<&str>,) = from_args(args)?;
    Ok(methods::strip(bounds, &text_of(bounds, value)?, [true, true], chars).into())
}

fn replace(Call { bounds, value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let (old, new): (Value, Value) = (args.placed()?, args.placed()?);
    let count = args.next("count")?;
    args.end()?;
    let [text, old, new] = [value, &old, &new].map(|value| text_of(bounds, value));
    methods::replace(bounds, &text?, &old?, &new?, count).map(Value::from)
}

fn default(Call { value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let other = args.next("default_value")?.unwrap_or(Value::from(""));
    let falsy = args.next("boolean")?.unwrap_or(false);
    args.end()?;
    let is_missing = value.is_undefined() || falsy && !value.is_true();
    Ok(if is_missing { other } else { value.clone() })
}

/// Like in Python, except for values that are not numbers.
fn int(Call { state, value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let other = args.next("default")?.unwrap_or(Value::from(0));
    let base = args.next("base")?;
    minijinja::filters::int(state, value, Some(other), base, args.rest()?)
}

/// Like in Python, except for values that are not numbers.
fn float(Call { state, value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let other = args.next("default")?.unwrap_or(Value::from(0.0));
    minijinja::filters::float(state, value, Some(other), args.rest()?)
}

fn center(Call { bounds, state, value, args }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let width: i64 = args.next("width")?.unwrap_or(80);
    args.end()?;
    let text = Value::from(text_of(bounds, value)?);
    methods::call(bounds, state, &text, "center", &[Value::from(width)])
}

fn wordcount(Call { bounds, value, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let text = text_of(bounds, value)?;
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
}

fn format(Call { bounds, state, value, args }: Call<'_, '_, '_>) -> Result<Value, Error> {
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

/// Adds the filters that compare all items of a value with each other.
fn orders(environment: &mut Environment<'static>, bounds: &Arc<Bounds>) {
    type Order = fn(&State, Value, Kwargs) -> Result<Value, Error>;
    let all: [(&str, Order); 5] = [
        ("dictsort", |_, value, kwargs| minijinja::filters::dictsort(&value, kwargs)),
        ("max", |state, value, kwargs| minijinja::filters::max(state, value, kwargs)),
        ("min", |state, value, kwargs| minijinja::filters::min(state, value, kwargs)),
        ("sort", |state, value, kwargs| minijinja::filters::sort(state, value, kwargs)),
        ("unique", |state, value, kwargs| minijinja::filters::unique(state, value, kwargs)),
    ];
    for (name, order) in all {
        let bounds = Arc::clone(bounds);
        environment.add_filter(name, move |state: &State, value: Value, kwargs: Kwargs| {
            let value = bounds.keep(state, value)?;
            bounds.ordered(state, &value)?;
            order(state, value, kwargs)
        });
    }
    let bounds = Arc::clone(bounds);
    environment.add_filter(
        "groupby",
        move |state: &State, value: Value, attribute: Option<&str>, kwargs: Kwargs| {
            let value = bounds.keep(state, value)?;
            bounds.ordered(state, &value)?;
            minijinja::filters::groupby(value, attribute, kwargs)
        },
    );
}

fn tests(environment: &mut Environment<'static>, bounds: &Arc<Bounds>) {
    // Values with a length and an index.
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

/// Returns the length without marks.
fn length(Call { bounds, value, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
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
fn tojson(Call { bounds, state, value, args }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let is_true = |value: Option<Value>| value.is_some_and(|value| value.is_true());
    let ascii = is_true(args.next("ensure_ascii")?);
    let indent: Option<Value> = args.next("indent")?;
    let separators: Option<Value> = args.next("separators")?;
    let sorts = is_true(args.next("sort_keys")?);
    args.end()?;
    let indent = indent.map(|indent| spaces(bounds, &indent)).transpose()?;
    let separators = match separators {
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
        Some(separators) => {
            let given: Vec<Value> = separators.try_iter()?.take(3).collect();
            match given.as_slice() {
                [item, key] => (text_of(bounds, item)?, text_of(bounds, key)?),
                _ => return Err(wrong("`separators` are two")),
            }
        }
    };
    let mut out = Text::new(bounds);
    out.push_json(value, &JsonLayout { ascii, indent, separators, sorts }, 0)?;
    // The engine does not count the visited values, so they are counted here.
    state.consume_fuel(u64::try_from(out.text.len() / 16).unwrap_or(u64::MAX))?;
    Ok(Value::from(out.text))
}

fn escaped(Call { bounds, value, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
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

fn join(Call { bounds, value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let between: Option<Value> = args.next("d")?;
    let attribute: Option<Value> = args.next("attribute")?;
    args.end()?;
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

fn indent(Call { bounds, value, args, .. }: Call<'_, '_, '_>) -> Result<Value, Error> {
    let args = Arguments::of(args)?;
    let width = args.next("width")?.unwrap_or(Value::from(4));
    let first = args.next("first")?.unwrap_or(false);
    let blank = args.next("blank")?.unwrap_or(false);
    args.end()?;
    let width = spaces(bounds, &width)?;
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

/// Returns the indentation: the given text, or this number of spaces.
fn spaces(bounds: &Bounds, given: &Value) -> Result<String, Error> {
    if let Some(text) = given.as_str() {
        return Ok(text.to_owned());
    }
    let width = usize::try_from(i64::try_from(given.clone())?.max(0)).unwrap_or(usize::MAX);
    bounds.bytes(Some(width))?;
    Ok(" ".repeat(width))
}
