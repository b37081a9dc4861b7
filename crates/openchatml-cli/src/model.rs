//! What the files of a model say about its format.

use std::path::{Path, PathBuf};

use openchatml::TextFormat;
use openchatml_templates::{
    Date, Fit, Limits, Options, ResponseTemplate, Template, TemplateFile, recognize,
};
use serde_json::Value;

use crate::args::Bounds;
use crate::console::Console;
use crate::encodings::{Encodings, Use};
use crate::failure::Failure;
use crate::input::{Decoded, Origin, Page};
use crate::report::Style;

/// The file with the special tokens of a model, and its template in older models.
const CONFIG: &str = "tokenizer_config.json";

/// The file with the encoding of a model.
const TOKENIZER: &str = "tokenizer.json";

/// The file that says how the model generates.
const GENERATION: &str = "generation_config.json";

/// What the folder of a model says.
#[derive(Debug)]
pub(crate) struct Model {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The name of its architecture, from `config.json`.
    pub(crate) architecture: Option<String>,
    /// The file with its chat template.
    pub(crate) template: Option<PathBuf>,
    /// Why the template says nothing about the format.
    pub(crate) trouble: Option<String>,
    /// The formats that fit what the template writes, the best one first.
    pub(crate) fits: Vec<Fit>,
    /// The file with its encoding.
    pub(crate) encoding: Option<PathBuf>,
}

/// A token that ends a completion.
#[derive(Debug)]
pub(crate) struct StopToken {
    pub(crate) id: u64,
    pub(crate) spelling: Option<String>,
}

impl Model {
    /// Reads the files in the folder of a model.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what its name says.
    pub(crate) fn read(folder: &Path, console: &Console) -> Result<Self, Failure> {
        if !folder.is_dir() {
            let text = format!("`{}` is not the folder of a model", folder.display());
            return Err(Failure::Usage(text));
        }
        let config = json(&folder.join("config.json"), console)?;
        let encoding = Some(folder.join(TOKENIZER)).filter(|it| it.is_file());
        let mut model = Self {
            folder: folder.to_owned(),
            architecture: config["model_type"].as_str().map(str::to_owned),
            template: None,
            trouble: None,
            fits: Vec::new(),
            encoding,
        };
        model.look(console)?;
        Ok(model)
    }

    /// Returns why the encoding does not fit the format. Reads the encoding.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or contains no encoding.
    pub(crate) fn misfit(&self, console: &Console) -> Result<Option<String>, Failure> {
        let (Some(format), Some(path)) = (self.format(), &self.encoding) else { return Ok(None) };
        let encodings = Encodings::open(&path.to_string_lossy(), false, console)?;
        Ok(encodings.tokenizer(format, Use::Writing).err().map(|failure| failure.to_string()))
    }

    /// Returns the tokens that end a completion.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not JSON.
    pub(crate) fn stops(&self, console: &Console) -> Result<Vec<StopToken>, Failure> {
        let json = |name: &str| json(&self.folder.join(name), console);
        Ok(stops(&json(GENERATION)?, &[json(CONFIG)?, json(TOKENIZER)?]))
    }

    /// Returns the format of the model.
    pub(crate) fn format(&self) -> Option<TextFormat> {
        self.fits.first().map(|fit| fit.format)
    }

    /// Finds the formats that fit the template.
    fn look(&mut self, console: &Console) -> Result<(), Failure> {
        let paths = match template_files(&self.folder) {
            Ok(paths) => paths,
            Err(why) => {
                self.trouble = Some(why);
                return Ok(());
            }
        };
        let files: Result<Vec<_>, _> =
            paths.iter().map(|path| template_file(path, console)).collect();
        let files = files?;
        self.template = paths.into_iter().next();
        let mut options = Options::default();
        options.date = "2025-01-01".parse::<Date>().ok();
        let template = files[0].choose(None, true).and_then(|source| {
            Template::new(source, &Limits::default()).map_err(|error| error.to_string())
        });
        match template {
            Ok(template) => {
                files.iter().for_each(|file| file.add_to(&template, &mut options));
                self.fits = recognize(&template, &options);
                if self.fits.is_empty() {
                    let why = "no format reads what its chat template writes";
                    self.trouble = Some(why.to_owned());
                }
            }
            Err(why) => self.trouble = Some(why),
        }
        Ok(())
    }
}

/// Returns the tokens that end a completion, with the spellings in these files.
fn stops(generation: &Value, files: &[Value]) -> Vec<StopToken> {
    let ids = match &generation["eos_token_id"] {
        Value::Array(ids) => ids.iter().filter_map(Value::as_u64).collect(),
        one => one.as_u64().into_iter().collect::<Vec<_>>(),
    };
    let spelling = |id: u64| {
        let text = |token: &Value| token["content"].as_str().map(str::to_owned);
        files.iter().find_map(|file| {
            let list = file["added_tokens"].as_array().into_iter().flatten();
            let listed = list.filter(|token| token["id"] == id).find_map(text);
            listed.or_else(|| text(&file["added_tokens_decoder"][id.to_string()]))
        })
    };
    ids.into_iter().map(|id| StopToken { id, spelling: spelling(id) }).collect()
}

/// Reads a file of JSON. Without the file, it is `null`.
fn json(path: &Path, console: &Console) -> Result<Value, Failure> {
    if !path.is_file() {
        return Ok(Value::Null);
    }
    let bytes = Origin::of(path).read(Bounds::default().input_bytes, console)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::Refused(format!("`{}` is not JSON: {error}", path.display())))
}

/// Returns the files with a template and its special tokens: the file itself, or those of the folder
/// of a model.
///
/// # Errors
///
/// The folder contains no template.
pub(crate) fn template_files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let existing = |names: &[&str]| {
        let paths = names.iter().map(|name| path.join(name));
        paths.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    // A template in its own file replaces the one in the configuration.
    let template = existing(&["chat_template.jinja", "chat_template.json", CONFIG]);
    let Some(template) = template.into_iter().next() else {
        return Err(format!(
            "the folder `{}` has no `chat_template.jinja`, `chat_template.json` or `{CONFIG}`",
            path.display(),
        ));
    };
    let mut files = existing(&[CONFIG, TOKENIZER]);
    files.retain(|file| *file != template);
    files.insert(0, template);
    Ok(files)
}

/// Returns the encoding in the folder of a template, if it has one.
pub(crate) fn encoding_beside(template: Option<&Path>) -> Option<PathBuf> {
    let file = template?.join(TOKENIZER);
    file.is_file().then_some(file)
}

/// Reads a response template: from a file, or from the folder of a model.
///
/// # Errors
///
/// The file cannot be read, or contains no valid template.
pub(crate) fn response_template(
    path: &Path,
    console: &Console,
) -> Result<ResponseTemplate, Failure> {
    let path = if path.is_dir() { path.join(CONFIG) } else { path.to_owned() };
    let bytes = Origin::of(&path).read(Bounds::default().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    ResponseTemplate::from_json(&decoded.text)
        .map_err(|error| Failure::Refused(format!("`{}`: {error}", path.display())))
}

/// Reads a file of templates.
///
/// # Errors
///
/// The file cannot be read, or contains no templates.
pub(crate) fn template_file(path: &Path, console: &Console) -> Result<TemplateFile, Failure> {
    let origin = Origin::of(path);
    let bytes = origin.read(Bounds::default().input_bytes, console)?;
    let decoded = Decoded::new(&bytes, 0);
    TemplateFile::read(&decoded.text).map_err(|found| {
        let name = origin.name();
        let mut text = String::new();
        Style::Text.write(&Page::new(&name, &decoded, 1), &found, &mut text);
        console.print(&text);
        Failure::Refused(format!("`{name}` is not a file with templates"))
    })
}
