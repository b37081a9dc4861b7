//! The files in which templates are published.

use openchatml::{Code, Data, Diagnostic, Limits as ReadLimits, Span, Value};

use crate::options::Options;
use crate::template::Template;

/// The templates and the special tokens of a file.
///
/// A file is the source of a template (`chat_template.jinja`), a `tokenizer_config.json` or a
/// `chat_template.json`. The JSON files contain one or more named templates in the field
/// `chat_template`.
///
/// ```
/// use openchatml_templates::{Options, Template, TemplateFile};
///
/// let json = r#"{"chat_template": [{"name": "default", "template": "{{ bos_token }}"},
///     {"name": "tool_use", "template": "…"}], "bos_token": {"content": "<s>"}}"#;
/// let file = TemplateFile::read(json)?;
/// assert_eq!(file.names().collect::<Vec<_>>(), ["default", "tool_use"]);
/// let template = Template::new(file.choose(None, false)?, &Default::default())?;
/// let mut options = Options::default();
/// file.add_to(&template, &mut options);
/// assert_eq!(template.render(&Default::default(), &options)?.text, "<s>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateFile {
    templates: Vec<(String, String)>,
    special_tokens: Vec<(String, String)>,
    /// The added tokens, and whether each is special.
    added: Vec<(String, bool)>,
}

/// The name of the default template.
const DEFAULT: &str = "default";

/// The name of the template for conversations with tools.
const TOOL_USE: &str = "tool_use";

impl TemplateFile {
    /// Reads a file. A `tokenizer_config.json` without a template, or a `tokenizer.json`, contains
    /// only special tokens.
    ///
    /// # Errors
    ///
    /// The file is JSON, but none of these files.
    pub fn read(text: &str) -> Result<Self, Diagnostic> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_json = text
            .trim_start()
            .strip_prefix('{')
            .is_some_and(|rest| rest.trim_start().starts_with(['"', '}']));
        if !is_json {
            let templates = vec![(DEFAULT.to_owned(), text.to_owned())];
            return Ok(Self { templates, ..Self::default() });
        }
        let json = Value::from_json(text, &ReadLimits::default())?;
        let mut this = Self::default();
        for (key, value) in json.as_map().unwrap_or_default() {
            match key.as_ref() {
                "chat_template" => this.templates = templates(value)?,
                "added_tokens_decoder" => {
                    let tokens = value.as_map().unwrap_or_default().iter();
                    this.added.extend(tokens.filter_map(|(_, token)| added(token)));
                }
                "added_tokens" => {
                    let tokens = value.as_list().unwrap_or_default().iter();
                    this.added.extend(tokens.filter_map(added));
                }
                "additional_special_tokens" | "extra_special_tokens" => {
                    let tokens = value.as_list().unwrap_or_default().iter();
                    this.added.extend(tokens.filter_map(spelling).map(|it| (it, true)));
                }
                key if key.ends_with("_token") => {
                    this.special_tokens.extend(spelling(value).map(|it| (key.to_owned(), it)));
                }
                _ => {}
            }
        }
        Ok(this)
    }

    /// Returns the names of the templates.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.templates.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the source of the template with this name. Without a name, it is `tool_use` if there
    /// are tools, otherwise `default` or the only template.
    ///
    /// # Errors
    ///
    /// There is no such template, or several templates match. The message lists the available
    /// templates.
    pub fn choose(&self, name: Option<&str>, has_tools: bool) -> Result<&str, String> {
        let find = |name: &str| {
            let found = self.templates.iter().find(|(known, _)| known == name);
            found.map(|(_, source)| source.as_str())
        };
        let names = || self.names().collect::<Vec<_>>().join(", ");
        match (name, self.templates.as_slice()) {
            (_, []) => Err("the file has no `chat_template`".to_owned()),
            (Some(name), _) => find(name)
                .ok_or_else(|| format!("unknown template `{name}`; the file has {}", names())),
            (None, [(_, only)]) => Ok(only),
            (None, _) => {
                let of_tools = find(TOOL_USE).filter(|_| has_tools);
                of_tools.or_else(|| find(DEFAULT)).ok_or_else(|| {
                    format!("the file has several templates, name one of them: {}", names())
                })
            }
        }
    }

    /// Adds the special tokens of this file and the spellings of control tokens to the options.
    /// Control tokens are the special tokens and all spellings of control tokens in the template,
    /// including added tokens that are not special.
    pub fn add_to(&self, template: &Template, options: &mut Options<'_>) {
        let special = self.special_tokens.iter();
        let special = special.map(|(name, text)| (name.clone().into(), text.clone().into()));
        options.special_tokens.extend(special);
        let is_control = |(text, special): &&(String, bool)| *special || template.spells(text);
        let controls = self.added.iter().filter(is_control).map(|(text, _)| text.clone().into());
        let spelled = || template.controls().into_iter().map(Into::into).collect();
        let all: Vec<_> = options.controls.take().unwrap_or_else(spelled);
        options.controls = Some(all.into_iter().chain(controls).collect());
    }
}

/// Reads one template, or several named templates.
fn templates(value: &Value<'_>) -> Result<Vec<(String, String)>, Diagnostic> {
    let wrong = |span: Span| {
        let text =
            "`chat_template` must be a string, or a list of objects with `name` and `template`";
        Code::ParseJson.at(span, text)
    };
    match &value.data {
        Data::String(source) => Ok(vec![(DEFAULT.to_owned(), source.to_string())]),
        Data::List(all) => all
            .iter()
            .map(|one| {
                let text = |key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
                text("name").zip(text("template")).ok_or_else(|| wrong(one.span))
            })
            .collect(),
        Data::Null => Ok(Vec::new()),
        _ => Err(wrong(value.span)),
    }
}

/// Returns the spelling of a token.
fn spelling(token: &Value<'_>) -> Option<String> {
    let text = token.as_str().or_else(|| token.get("content")?.as_str())?;
    Some(text.to_owned())
}

/// Returns the spelling of an added token, and whether it is special.
fn added(token: &Value<'_>) -> Option<(String, bool)> {
    let is_special = token.get("special").and_then(Value::as_bool).unwrap_or(false);
    Some((spelling(token)?, is_special))
}
