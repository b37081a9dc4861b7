//! `tools`: lists the tools of a `tools.toml`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use openchatml_tools::Entry;
use openchatml_tools::config::{Config, SectionListing};
use openchatml_tools::{ServerPrompt, ServerResource, ServerResourceTemplate};
use serde::Serialize;
use serde_json::value::RawValue;

use super::run::{process::make_non_dumpable, tools};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::output::Target;
use crate::visible::{is_invisible, visible_line};

/// List the tools of a `tools.toml`, and the resources and prompts of its servers
///
/// Starts sandboxes and servers, or connects to servers, in the same way as `ocml run`, but calls
/// no tool. Also asks servers of the Model Context Protocol for their resources and prompts. If a
/// server does not list them, a warning is printed, and the exit status is 1.
///
/// With `--login`, logs in to one of these servers with a browser (OAuth 2) and lists nothing. The
/// token is stored in `$XDG_STATE_HOME/openchatml/tokens` or `~/.local/state/openchatml/tokens`.
/// The environment variable `OCML_TOKENS` names another folder.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml tools tools.toml
  ocml tools --json tools.toml      a JSON object for each section, with the schemas of the tools
  ocml tools --login tickets tools.toml      log in at the server of `[mcp.tickets]`")]
pub(crate) struct ToolsArgs {
    /// The tools: a `tools.toml`
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write one JSON object for each section, one per line
    #[arg(long)]
    json: bool,

    /// Log in to this server with a browser; for `[mcp.tickets]` it is `tickets`
    #[arg(long, value_name = "SERVER", conflicts_with = "json")]
    login: Option<String>,

    /// Delete the stored token of this server
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["json", "login"])]
    logout: Option<String>,
}

/// Runs `tools`.
pub(crate) fn run(args: &ToolsArgs, console: &Console) -> Result<Status, Failure> {
    let config = tools::read(&args.file, console)?;
    make_non_dumpable()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Io(format!("cannot start threads: {error}")))?;
    if args.login.is_some() || args.logout.is_some() {
        return runtime.block_on(sign(args, &config, console));
    }
    let listed = runtime.block_on(async {
        let listed = list(args, config, console).await;
        tools::closed().await;
        listed
    });
    // Do not wait for servers that do not end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    listed
}

/// Lists the sections.
async fn list(args: &ToolsArgs, config: Config, console: &Console) -> Result<Status, Failure> {
    let listings = tools::listings(config, &args.file, console).await?;
    let mut text = String::new();
    for listing in &listings {
        if args.json {
            write_json(listing, &mut text)?;
        } else {
            write_text(listing, &mut text);
        }
    }
    let is_incomplete = tools::tell_unlisted(&listings, &args.file, console);
    Target::stdout().write(text.as_bytes())?;
    Ok(if is_incomplete { Status::Found } else { Status::Fine })
}

/// Logs in or out.
#[cfg(unix)]
async fn sign(args: &ToolsArgs, config: &Config, console: &Console) -> Result<Status, Failure> {
    /// The timeout of a login.
    const PATIENCE: Duration = Duration::from_secs(300);

    let show = |page: &str| {
        console.print(&format!(
            "open this page in a browser on this machine and log in within 5 minutes:\n\n  {}\n\n",
            visible_line(page)
        ));
    };
    let (done, summary) = match (&args.login, &args.logout) {
        (Some(server), _) => {
            let done = config.login(server, PATIENCE, show).await;
            (done, format!("logged in to `{}`", visible_line(server)))
        }
        (None, server) => {
            let server = server.as_deref().unwrap_or_default();
            let done = config.logout(server).await;
            let summary = match done {
                Ok(false) => "there was no login to",
                _ => "logged out of",
            };
            (done.map(|_| ()), format!("{summary} `{}`", visible_line(server)))
        }
    };
    tools::with_text(&args.file, console, |_| done.map_err(|error| vec![error]))?;
    console.summary(&summary);
    Ok(Status::Fine)
}

#[cfg(not(unix))]
async fn sign(_: &ToolsArgs, _: &Config, _: &Console) -> Result<Status, Failure> {
    Err(Failure::Usage("this build does not support servers with a login".to_owned()))
}

/// Prints the offer of a section for people. Texts of servers are escaped.
fn write_text(listing: &SectionListing, text: &mut String) {
    let mut line = |indent: &str, line: &str| {
        text.push_str(indent);
        text.push_str(&visible_line(line));
        text.push('\n');
    };
    line("", &listing.section);
    for (name, entry) in &listing.tools {
        line("  ", name);
        entry.description.iter().for_each(|it| line("    ", it));
    }
    let of_type =
        |kind: &Option<String>| kind.as_ref().map_or(String::new(), |it| format!(", {it}"));
    for resource in &listing.resources {
        let kind = of_type(&resource.mime_type);
        line("  ", &format!("resource {}: {}{kind}", resource.uri, resource.name));
        resource.description.iter().for_each(|it| line("    ", it));
    }
    for template in &listing.resource_templates {
        let kind = of_type(&template.mime_type);
        line("  ", &format!("resources {}: {}{kind}", template.uri_template, template.name));
        template.description.iter().for_each(|it| line("    ", it));
    }
    for prompt in &listing.prompts {
        let arguments = prompt.arguments.iter();
        let arguments = arguments.map(|it| match it.is_required {
            true => it.name.clone(),
            false => format!("[{}]", it.name),
        });
        let arguments: Vec<_> = arguments.collect();
        line("  ", &format!("prompt {}({})", prompt.name, arguments.join(", ")));
        prompt.description.iter().for_each(|it| line("    ", it));
    }
}

/// Returns the offer of a section as a line of JSON.
fn write_json(listing: &SectionListing, text: &mut String) -> Result<(), Failure> {
    let tools = listing.tools.iter().map(|(name, entry)| Tool::new(name, entry));
    let section = Section {
        section: &listing.section,
        tools: tools.collect::<Result<_, _>>()?,
        resources: listing.resources.iter().map(Resource::new).collect(),
        resource_templates: listing.resource_templates.iter().map(Template::new).collect(),
        prompts: listing.prompts.iter().map(Prompt::new).collect(),
    };
    let json = serde_json::to_string(&section).map_err(no_json)?;
    for c in json.chars() {
        // JSON allows some control characters in strings, but a terminal interprets them.
        if is_invisible(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text.push('\n');
    Ok(())
}

fn no_json(error: serde_json::Error) -> Failure {
    Failure::Refused(format!("cannot write the tools as JSON: {error}"))
}

#[derive(Serialize)]
struct Section<'o> {
    section: &'o str,
    tools: Vec<Tool<'o>>,
    resources: Vec<Resource<'o>>,
    resource_templates: Vec<Template<'o>>,
    prompts: Vec<Prompt<'o>>,
}

#[derive(Serialize)]
struct Tool<'o> {
    name: &'o str,
    description: Option<&'o str>,
    parameters: Option<Box<RawValue>>,
    idempotent: bool,
}

impl<'o> Tool<'o> {
    fn new(name: &'o str, entry: &'o Entry) -> Result<Self, Failure> {
        let parameters = entry.parameters.as_ref().map(|it| RawValue::from_string(it.to_json()));
        Ok(Self {
            name,
            description: entry.description.as_deref(),
            parameters: parameters.transpose().map_err(no_json)?,
            idempotent: entry.is_idempotent,
        })
    }
}

#[derive(Serialize)]
struct Resource<'o> {
    uri: &'o str,
    name: &'o str,
    title: Option<&'o str>,
    description: Option<&'o str>,
    mime_type: Option<&'o str>,
    size: Option<u64>,
}

impl<'o> Resource<'o> {
    fn new(resource: &'o ServerResource) -> Self {
        Self {
            uri: &resource.uri,
            name: &resource.name,
            title: resource.title.as_deref(),
            description: resource.description.as_deref(),
            mime_type: resource.mime_type.as_deref(),
            size: resource.size,
        }
    }
}

#[derive(Serialize)]
struct Template<'o> {
    uri_template: &'o str,
    name: &'o str,
    title: Option<&'o str>,
    description: Option<&'o str>,
    mime_type: Option<&'o str>,
}

impl<'o> Template<'o> {
    fn new(template: &'o ServerResourceTemplate) -> Self {
        Self {
            uri_template: &template.uri_template,
            name: &template.name,
            title: template.title.as_deref(),
            description: template.description.as_deref(),
            mime_type: template.mime_type.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Prompt<'o> {
    name: &'o str,
    title: Option<&'o str>,
    description: Option<&'o str>,
    arguments: Vec<Argument<'o>>,
}

#[derive(Serialize)]
struct Argument<'o> {
    name: &'o str,
    description: Option<&'o str>,
    required: bool,
}

impl<'o> Prompt<'o> {
    fn new(prompt: &'o ServerPrompt) -> Self {
        let arguments = prompt.arguments.iter().map(|argument| Argument {
            name: &argument.name,
            description: argument.description.as_deref(),
            required: argument.is_required,
        });
        Self {
            name: &prompt.name,
            title: prompt.title.as_deref(),
            description: prompt.description.as_deref(),
            arguments: arguments.collect(),
        }
    }
}
