//! Resources, resource templates and prompts of servers.

use rmcp::model;

use crate::server_features::{
    PromptArgument, ServerPrompt, ServerResource, ServerResourceTemplate,
};

pub(super) fn resource(listed: model::Resource) -> ServerResource {
    ServerResource {
        uri: listed.uri,
        name: listed.name,
        title: listed.title,
        description: listed.description,
        mime_type: listed.mime_type,
        size: listed.size,
    }
}

pub(super) fn template(listed: model::ResourceTemplate) -> ServerResourceTemplate {
    ServerResourceTemplate {
        uri_template: listed.uri_template,
        name: listed.name,
        title: listed.title,
        description: listed.description,
        mime_type: listed.mime_type,
    }
}

pub(super) fn prompt(listed: model::Prompt) -> ServerPrompt {
    let arguments = listed.arguments.unwrap_or_default().into_iter();
    let arguments = arguments.map(|argument| PromptArgument {
        name: argument.name,
        description: argument.description,
        is_required: argument.required == Some(true),
    });
    ServerPrompt {
        name: listed.name,
        title: listed.title,
        description: listed.description,
        arguments: arguments.collect(),
    }
}
