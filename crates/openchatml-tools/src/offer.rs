//! What servers of tools offer beside tools.

/// Something that a server of the Model Context Protocol lets its clients read.
///
/// It is the server's word, and may hold control characters: escape it before you print it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerResource {
    /// The URI that it is read by.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people, if that is another.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its type: `text/plain`.
    pub mime_type: Option<String>,
    /// How many bytes it has.
    pub size: Option<u64>,
}

/// Resources that a server of the Model Context Protocol lets its clients read, by URIs of one form.
///
/// It is the server's word, and may hold control characters: escape it before you print it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerResourceTemplate {
    /// The form of the URIs, as a URI template (RFC 6570): `file:///{path}`.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its name for people, if that is another.
    pub title: Option<String>,
    /// What the resources are.
    pub description: Option<String>,
    /// Their type, if they all have the same: `text/plain`.
    pub mime_type: Option<String>,
}

/// A text with blanks that a server of the Model Context Protocol fills in.
///
/// It is the server's word, and may hold control characters: escape it before you print it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerPrompt {
    /// Its name.
    pub name: String,
    /// Its name for people, if that is another.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What is filled in.
    pub arguments: Vec<PromptArgument>,
}

/// A blank of a [`ServerPrompt`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether it must be filled in.
    pub is_required: bool,
}
