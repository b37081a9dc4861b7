//! The features of MCP servers besides tools: resources and prompts.

/// A resource of a server of the Model Context Protocol, which clients can read.
///
/// All texts come from the server and may contain control characters: escape them before you print
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerResource {
    /// The URI of the resource.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The title for people, if it differs from the name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The MIME type, such as `text/plain`.
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub size: Option<u64>,
}

/// A template for the URIs of resources of a server of the Model Context Protocol.
///
/// All texts come from the server and may contain control characters: escape them before you print
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerResourceTemplate {
    /// The URI template (RFC 6570), such as `file:///{path}`.
    pub uri_template: String,
    /// The name.
    pub name: String,
    /// The title for people, if it differs from the name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The MIME type, such as `text/plain`, if all resources have the same.
    pub mime_type: Option<String>,
}

/// A prompt template of a server of the Model Context Protocol.
///
/// All texts come from the server and may contain control characters: escape them before you print
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerPrompt {
    /// The name.
    pub name: String,
    /// The title for people, if it differs from the name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The arguments.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a [`ServerPrompt`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// Whether the argument is required.
    pub is_required: bool,
}
