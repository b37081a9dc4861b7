//! The namespace `functions`, which some formats omit.

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

/// Returns the name of a tool without the namespace `functions`, which replies can omit.
pub(crate) fn bare_name(tool: &str) -> &str {
    function_name(tool).unwrap_or(tool)
}
