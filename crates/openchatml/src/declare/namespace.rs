//! Tools of a namespace, as models read them that were trained on Harmony.

use std::borrow::Cow;

use super::{Style, lines, one_line, typescript};
use crate::model::Tool;

/// Tools under a name of their own.
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
    /// Its name: the recipient of a call is this, a dot, and the tool's name.
    pub name: Cow<'a, str>,
    /// What it is for.
    pub description: Option<Cow<'a, str>>,
    /// Its tools.
    pub tools: Vec<Tool<'a>>,
}

impl<'a> Namespace<'a> {
    /// The namespace of the application's own tools.
    pub fn functions(tools: Vec<Tool<'a>>) -> Self {
        Self { name: FUNCTIONS.into(), description: None, tools }
    }

    /// Its declaration.
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

/// The namespace of the application's own tools.
pub(crate) const FUNCTIONS: &str = "functions";

/// The heading of the section that declares tools.
pub(crate) const TOOLS: &str = "# Tools";

/// The section that declares tools, in the order of their namespaces' names.
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
