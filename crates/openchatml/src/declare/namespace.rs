//! Namespaces of tools, as text for models that were trained on Harmony.

use std::borrow::Cow;

use super::{Style, lines, one_line, typescript};
use crate::model::Tool;

/// A namespace of tools.
///
/// ```
/// use openchatml::harmony::Namespace;
///
/// assert_eq!(Namespace::browser().tools.len(), 3);
/// assert!(Namespace::python().tools.is_empty()); // It takes code, not arguments.
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Namespace<'a> {
    /// The name. The recipient of a call is the name, a dot, and the name of the tool.
    pub name: Cow<'a, str>,
    /// The description.
    pub description: Option<Cow<'a, str>>,
    /// The tools.
    pub tools: Vec<Tool<'a>>,
}

impl<'a> Namespace<'a> {
    /// Creates the namespace of the application's functions.
    pub fn functions(tools: Vec<Tool<'a>>) -> Self {
        Self { name: FUNCTIONS.into(), description: None, tools }
    }

    /// Returns its declaration.
    fn text(&self, style: Style) -> String {
        let name = one_line(&self.name);
        let mut written = vec![format!("## {name}\n")];
        let mark = if self.tools.is_empty() { "" } else { "// " };
        let description = self.description.as_deref().unwrap_or_default();
        written.extend(lines(description).map(|line| format!("{mark}{line}")));
        if !self.tools.is_empty() {
            written.push(format!("namespace {name} {{\n"));
            for tool in &self.tools {
                let description = tool.description.as_deref().unwrap_or_default();
                written.extend(lines(description).map(|line| format!("// {line}")));
                let arguments = match &tool.parameters {
                    Some(parameters) => format!("_: {}", typescript(parameters, style).0),
                    None => String::new(),
                };
                let tool = one_line(&tool.name);
                written.push(format!("type {tool} = ({arguments}) => any;\n"));
            }
            written.push(format!("}} // namespace {name}"));
        }
        written.join("\n")
    }
}

/// The namespace of the application's functions.
pub(crate) const FUNCTIONS: &str = "functions";

/// The heading of the section with tools.
pub(crate) const TOOLS: &str = "# Tools";

/// Writes the section with tools, sorted by the names of the namespaces.
pub(crate) fn tools_section(namespaces: &[Namespace<'_>], style: Style) -> Option<String> {
    if namespaces.is_empty() {
        return None;
    }
    let mut sorted: Vec<_> = namespaces.iter().collect();
    sorted.sort_by(|one, two| one.name.cmp(&two.name));
    let mut sections = vec![TOOLS.to_owned()];
    sections.extend(sorted.into_iter().map(|namespace| namespace.text(style)));
    Some(sections.join("\n\n"))
}
