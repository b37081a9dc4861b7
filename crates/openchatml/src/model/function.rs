//! The namespace of the application's own tools, which some formats leave out.

const FUNCTIONS: &str = "functions.";

/// The name of a function, that is, of a tool of the application's own, by its whole name. `None`
/// for any other tool.
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

/// The whole name of a function.
pub(crate) fn whole_name(function: &str) -> String {
    [FUNCTIONS, function].concat()
}

/// The name of a tool without the namespace of functions, which replies may leave out.
pub(crate) fn bare_name(tool: &str) -> &str {
    function_name(tool).unwrap_or(tool)
}
