//! Writes conversations with chat templates.

use openchatml::convert::Loss;
use openchatml::{Code, Conversation, Diagnostic, Document, Lines, Span};
use openchatml_templates::{
    Arguments, Date, ErrorPlace, Limits, Options, Piece, Rendered, Template, TemplateError,
};

use crate::args::{BareArgs, FormArg, RenderArgs, TemplateArgs};
use crate::console::Console;
use crate::encodings::Encodings;
use crate::failure::Failure;
use crate::input::{Decoded, Page, finding};
use crate::model::{template_file, template_files};
use crate::output::escape;
use crate::report::Style;

/// Writes conversations with a chat template, on several threads at once.
#[derive(Clone, Debug)]
pub(super) struct Templated {
    /// The name of the template in messages.
    name: String,
    /// The templates for conversations without tools and with tools, each with its options.
    templates: [(Template, Options<'static>); 2],
    form: FormArg,
    encodings: Option<Encodings>,
}

impl Templated {
    /// Returns the template of the options, if there is one.
    ///
    /// # Errors
    ///
    /// A file cannot be read or contains no such template, or the template is invalid.
    pub(super) fn new(
        args: &TemplateArgs,
        render: &RenderArgs,
        bare: BareArgs,
        encodings: Option<Encodings>,
        console: &Console,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = &args.template else {
            // `clap` does not check `requires` if the required option conflicts with another
            // option.
            return match args.option() {
                Some(option) => Err(Failure::Usage(format!("{option} requires --template"))),
                None => Ok(None),
            };
        };
        refuse_what_it_decides(render)?;
        let mut paths = template_files(path).map_err(Failure::Refused)?;
        paths.extend_from_slice(&args.tokenizer_config);
        let files: Result<Vec<_>, _> =
            paths.iter().map(|path| template_file(path, console)).collect();
        let files = files?;
        let name = paths[0].display().to_string();
        let load = |has_tools| {
            let source = files[0].choose(args.template_name.as_deref(), has_tools);
            let source = source.map_err(|why| Failure::Refused(format!("{name}: {why}")))?;
            let template = Template::new(source, &Limits::default()).map_err(|error| {
                say(&name, source, &error, console);
                Failure::Refused(format!("unusable template in `{name}`"))
            })?;
            let mut options = options(args, render, bare);
            files.iter().for_each(|file| file.add_to(&template, &mut options));
            Ok((template, options))
        };
        let templates = [load(false)?, load(true)?];
        Ok(Some(Self { name, templates, form: args.form, encodings }))
    }

    /// Whether the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.form != FormArg::Text
    }

    /// Returns the conversation as the template writes it, and the data that the template does not
    /// receive.
    ///
    /// # Errors
    ///
    /// The template fails.
    pub(super) fn write(&self, document: &Document<'_>) -> Result<(String, Vec<Loss>), Diagnostic> {
        let Some(conversation) = document.as_conversation() else {
            let text = "a chat template supports only conversations";
            return Err(finding(Code::RenderUnsupported, Span::default(), text.to_owned()));
        };
        let (template, options) = &self.templates[usize::from(!conversation.tools.is_empty())];
        let rendered = match self.form {
            FormArg::Text => template.render(conversation, options),
            FormArg::Pieces | FormArg::Ids => template.render_pieces(conversation, options),
        };
        let rendered = rendered.map_err(|error| self.diagnostic(&error, template, conversation))?;
        let text = match (self.form, &self.encodings) {
            (FormArg::Pieces, _) => pieces(&rendered),
            (FormArg::Ids, Some(encodings)) => ids(&rendered, encodings)?,
            _ => rendered.text,
        };
        Ok((text, openchatml_templates::losses(document)))
    }

    /// Converts an error of a template to one of the conversation. It includes the place in the
    /// template.
    fn diagnostic(
        &self,
        error: &TemplateError,
        template: &Template,
        conversation: &Conversation<'_>,
    ) -> Diagnostic {
        let mut found = error.to_diagnostic(conversation);
        if let ErrorPlace::Template(span) = error.at {
            let place = Lines::new(template.source()).locate(span.start);
            let (line, column) = (place.line, place.column);
            found.message = format!("{}:{line}:{column}: {}", self.name, found.message);
            found.span = Span::default();
        }
        found
    }
}

/// Returns the options of the template from the command line.
fn options(args: &TemplateArgs, render: &RenderArgs, bare: BareArgs) -> Options<'static> {
    let mut options = Options::default();
    options.generation_prompt = render.generation_prompt;
    options.thinking = render.thinking;
    let mut render_options = render.options();
    bare.date(&mut render_options);
    options.date = render_options.date.and_then(|date| date.parse::<Date>().ok());
    if args.arguments_as_text {
        options.arguments = Arguments::Text;
    }
    let variables = args.variables.iter().cloned();
    options.variables = variables.map(|(key, value)| (key.into(), value)).collect();
    options
}

/// Returns the options that have no effect, because the template decides about them.
fn refuse_what_it_decides(render: &RenderArgs) -> Result<(), Failure> {
    let options = [
        (render.keep_reasoning, "--keep-reasoning"),
        (render.continue_final, "--continue-final"),
        (render.training, "--training"),
        (render.profile.is_template(), "--profile"),
    ];
    match options.iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => {
            Err(Failure::Usage(format!("the template decides what it writes: remove {option}")))
        }
        None => Ok(()),
    }
}

/// Describes an error of a template with its place.
fn say(name: &str, source: &str, error: &TemplateError, console: &Console) {
    let decoded = Decoded::new(source.as_bytes(), 0);
    let mut text = String::new();
    let found = error.to_diagnostic(&Conversation::default());
    Style::Text.write(&Page::new(name, &decoded, 1), &found, &mut text);
    console.print(&text);
}

/// `{"pieces": [{"control": …}, {"text": …}], "generation": [[start, end]]}`.
fn pieces(rendered: &Rendered) -> String {
    let mut out = String::from("{\"pieces\":[");
    for (index, Piece { span, is_control }) in rendered.pieces.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str(if *is_control { "{\"control\":\"" } else { "{\"text\":\"" });
        escape(&rendered.text[span.clone()], &mut out);
        out.push_str("\"}");
    }
    out.push_str("],\"generation\":[");
    let ranges = rendered.generation.iter().map(|it| format!("[{},{}]", it.start, it.end));
    out.push_str(&ranges.collect::<Vec<_>>().join(","));
    out + "]}"
}

/// `{"ids": […], "mask": […]}`.
///
/// # Errors
///
/// The encoding belongs to another model: it has none of the control tokens, or it is the encoding
/// of gpt-oss and lacks one. (A model's own encoding can lack what its template writes as text.)
fn ids(rendered: &Rendered, encodings: &Encodings) -> Result<String, Diagnostic> {
    let ids = rendered.ids(&encodings.one());
    let is_of_another = encodings.is_default() || ids.is_foreign();
    if !encodings.may_spell() && !ids.spelled.is_empty() && is_of_another {
        let text = format!("the encoding has no id for `{}`", ids.spelled.join("`, `"));
        let found = finding(Code::RenderUnsupported, Span::default(), text);
        return Err(found.help("name the encoding of the model with --encoding"));
    }
    let mut mask = vec!["0"; ids.ids.len()];
    for range in ids.generation {
        mask[range].fill("1");
    }
    let ids: Vec<_> = ids.ids.iter().map(u32::to_string).collect();
    Ok(format!("{{\"ids\":[{}],\"mask\":[{}]}}", ids.join(","), mask.join(",")))
}
