//! The namespace `functions`, which some formats omit.

use std::borrow::Cow;

const FUNCTIONS: &str = "functions.";

/// Returns the name of a function from the whole name of the tool. A function is a tool of the
/// application. Returns `None` for any other tool.
///
/// ```
/// use openchatml::function_name;
///
/// assert_eq!(function_name("functions.get_weather"), Some("get_weather"));
/// assert_eq!(function_name("browser.search"), None);
/// ```
pub fn function_name(tool: &str) -> Option<&str> {
    tool.strip_prefix(FUNCTIONS)
}

/// Returns the whole name of a function.
pub(crate) fn whole_name(function: &str) -> String {
    [FUNCTIONS, function].concat()
}

/// Returns the name that declares a function to a model whose calls name functions without their
/// namespace. If it has a dot, it is the whole name, as in the calls: without the namespace it would
/// be the name of a tool of another namespace.
pub(crate) fn declared_name(function: &str) -> Cow<'_, str> {
    match function.contains('.') {
        true => whole_name(function).into(),
        false => function.into(),
    }
}

/// Returns the name of a tool without the namespace `functions`, which replies can omit.
pub(crate) fn bare_name(tool: &str) -> &str {
    function_name(tool).unwrap_or(tool)
}
