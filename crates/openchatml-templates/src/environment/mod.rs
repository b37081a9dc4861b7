//! The environment of templates in `transformers`.

mod arguments;
mod bounds;
mod filters;
mod methods;
mod text;

use std::fmt;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value};
use minijinja_contrib::globals;

use self::arguments::Arguments;
use self::bounds::Bounds;
pub(crate) use self::bounds::Exceeded;
use self::methods::wrong;
use self::text::Text;
use crate::date::Date;
use crate::limits::Limits;
use crate::marks::Marks;
use crate::source::Names;

/// The message that a template raised, as the source of an error of the engine.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// Creates an environment that can only parse templates.
pub(crate) fn bare(limits: &Limits) -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters"));
    environment.set_debug(true);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_recursion_limit(limits.recursion.min(Limits::default().recursion));
    environment.set_fuel(Some(limits.steps));
    environment
}

/// Adds the functions, filters and methods for templates.
pub(crate) fn add_globals(
    environment: &mut Environment<'static>,
    names: &Names,
    limits: &Limits,
    marks: Arc<Marks>,
    date: Option<Date>,
) {
    let bounds = Arc::new(Bounds { limits: limits.clone(), marks });
    let shared = Arc::clone(&bounds);
    environment.set_unknown_method_callback(move |state, value, method, args| {
        methods::call(&shared, state, value, method, args)
    });
    let shared = Arc::clone(&bounds);
    environment.set_formatter(move |out, _, value| {
        let text = match value.as_str() {
            Some(text) => return Ok(out.write_str(text)?),
            None => text_of(&shared, value)?,
        };
        Ok(out.write_str(&text)?)
    });
    filters::add(environment, &bounds);
    functions(environment, &bounds, date);
    guards(environment, names, &bounds);
}

/// `str(value)`.
fn text_of(bounds: &Bounds, value: &Value) -> Result<String, Error> {
    let mut out = Text::new(bounds);
    out.push_str(value)?;
    Ok(out.text)
}

/// Adds the functions that templates can call.
fn functions(environment: &mut Environment<'static>, bounds: &Arc<Bounds>, date: Option<Date>) {
    environment.remove_global("debug");
    let shared = Arc::clone(bounds);
    environment.add_function("raise_exception", move |message: Value| {
        let message = shared.marks.without(&text_of(&shared, &message)?).into_owned();
        let raised = Error::new(ErrorKind::InvalidOperation, message.clone());
        Err::<Value, _>(raised.with_source(Raised(message)))
    });
    environment.add_function("strftime_now", move |format: &str| match date {
        Some(date) => date.format(format).map_err(wrong),
        None => Err(wrong("the template requires the current date")),
    });
    let shared = Arc::clone(bounds);
    environment.add_function("namespace", move |state: &State, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        let args = Arguments::of(&args)?;
        let first: Option<Value> = args.placed()?;
        let kwargs = args.rest()?;
        let mut all = Vec::new();
        if let Some(first) = first {
            for key in first.try_iter()?.checked() {
                let key = key?;
                let value = first.get_item(&key)?;
                all.push((key, shared.keep(state, value)?));
            }
        }
        for key in kwargs.args() {
            let value: Value = kwargs.get(key)?;
            all.push((Value::from(key), shared.keep(state, value)?));
        }
        minijinja::functions::namespace(Some(Value::from_pairs(all).into()))
    });
    environment.add_function("cycler", |items: Rest<Value>| globals::cycler(items.to_vec()));
    environment.add_function("joiner", globals::joiner);
}

/// Adds the functions that the rewritten source calls.
fn guards(environment: &mut Environment<'static>, names: &Names, bounds: &Arc<Bounds>) {
    let [open, close] = bounds.marks.generation();
    let add = environment;
    add.add_function(names.generation.clone(), move |state: &mut State, kwargs: Kwargs| {
        let caller: Value = kwargs.get("caller")?;
        let generated = caller.call(state, &[])?;
        Ok::<_, Error>(format!("{open}{}{close}", generated.as_str().unwrap_or_default()))
    });
    add.add_function(names.see.clone(), |_: Rest<Value>| Value::UNDEFINED);
    let shared = Arc::clone(bounds);
    add.add_function(names.keep.clone(), move |state: &State, value: Value, _: Rest<Value>| {
        shared.keep(state, value)
    });
    let shared = Arc::clone(bounds);
    add.add_function(names.bounded.clone(), move |state: &State, value: Value| {
        shared.bounded(state, value)
    });
    let shared = Arc::clone(bounds);
    add.add_function(names.text.clone(), move |value: Value| match value.kind() {
        ValueKind::String | ValueKind::Undefined => Ok(value),
        _ => text_of(&shared, &value).map(Value::from),
    });
}
