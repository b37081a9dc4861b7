//! The cases in the format of the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use openchatml::harmony::{Effort, PromptOptions, ResponseFormat, SystemContent};
use openchatml::render::{Close, LayoutChoice, Profile, TurnOptions, Values};
use openchatml::{Format, InfillOrder, Limits, Mode, ReadOptions, Recover, RenderOptions, Role};
use openchatml_tokens::{MaskPolicy, TrainedHeaders, TrainedMessages, TrainedTurns};
use serde::Deserialize;

/// A case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) clause: Vec<String>,
    why: String,
    format: Option<String>,
    mode: Option<String>,
    recover: Option<String>,
    #[serde(default)]
    open_prompt: bool,
    pub(crate) continues: Option<String>,
    #[serde(default)]
    past_stop: bool,
    #[serde(default)]
    in_reasoning: bool,
    #[serde(default)]
    split_reasoning: bool,
    #[serde(default)]
    limits: BTreeMap<String, usize>,
    #[serde(default)]
    pub(crate) input: String,
    pub(crate) bytes: Option<String>,
    pub(crate) expect: Option<String>,
    pub(crate) diagnostics: Option<Vec<Finding>>,
    pub(crate) rejected_as: Option<String>,
    pub(crate) fixed: Option<String>,
    pub(crate) suggested: Option<String>,
    pub(crate) renders: Option<Renders>,
    pub(crate) canonical: Option<String>,
    pub(crate) user_view: Option<Vec<Seen>>,
    pub(crate) next_prompt: Option<Vec<usize>>,
    pub(crate) events: Option<String>,
    pub(crate) user_events: Option<String>,
    #[serde(default)]
    pub(crate) cancelled: bool,
    pub(crate) tool_cancelled: Option<ToolCancelled>,
    pub(crate) answers: Option<Vec<[usize; 2]>>,
    pub(crate) hierarchy: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) ids: Vec<Ids>,
    #[serde(default)]
    pub(crate) truncates: Vec<Truncates>,
    #[serde(default)]
    pub(crate) trains: Vec<Trains>,
    pub(crate) detect: Option<String>,
    pub(crate) negotiate: Option<Negotiate>,
    #[serde(default)]
    pub(crate) converts: Vec<Convert>,
    #[serde(default)]
    pub(crate) writes: Vec<Writes>,
    /// The file and the name of the case.
    #[serde(skip)]
    pub(crate) place: String,
}

/// An expected diagnostic.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) text: Option<String>,
    pub(crate) start: Option<usize>,
    pub(crate) dropped: Option<String>,
}

/// The expected result of rendering.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Renders {
    Same(bool),
    Text(String),
}

/// A message that the user sees.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seen {
    pub(crate) role: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) preamble: bool,
}

/// A conversion and its expected result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Convert {
    pub(crate) to: String,
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) losses: Vec<String>,
    pub(crate) error: Option<Refusal>,
    #[serde(default)]
    pub(crate) no_loss: bool,
    layout: Option<String>,
    values: Option<String>,
    close: Option<String>,
    infill_order: Option<String>,
    generation_prompt: Option<String>,
    #[serde(default)]
    continue_final: bool,
    profile: Option<String>,
    date: Option<String>,
    effort: Option<String>,
    #[serde(default)]
    thinking: bool,
    response_formats: Option<String>,
}

/// The expected output of the stream in another protocol.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Writes {
    pub(crate) to: String,
    pub(crate) reasoning: Option<String>,
    #[serde(default)]
    pub(crate) user: bool,
    pub(crate) output: String,
}

/// A call that the runtime cancels, and the reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolCancelled {
    pub(crate) call_id: String,
    pub(crate) reason: String,
}

/// The expected ids of the document in an encoding of bytes with these control tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ids {
    pub(crate) controls: Vec<String>,
    pub(crate) ids: Vec<u32>,
}

/// The expected result of truncating the conversation to this number of ids.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Truncates {
    pub(crate) controls: Vec<String>,
    pub(crate) budget: usize,
    pub(crate) message: Option<usize>,
    /// `None` if truncation is impossible.
    pub(crate) left: Option<String>,
}

/// The expected training mask.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trains {
    pub(crate) to: String,
    pub(crate) controls: Vec<String>,
    speech: Option<String>,
    turns: Option<String>,
    headers: Option<String>,
    /// The text of each run of trained ids.
    pub(crate) trained: Vec<String>,
    /// The weight of each run. The default is 1 for all.
    pub(crate) weights: Option<Vec<f64>>,
    #[serde(default)]
    pub(crate) losses: Vec<String>,
}

impl Trains {
    pub(crate) fn policy(&self) -> MaskPolicy {
        let mut policy = MaskPolicy::default();
        policy.messages = match self.speech.as_deref() {
            None | Some("all") => TrainedMessages::All,
            Some("no-reasoning") => TrainedMessages::NoReasoning,
            Some("answers") => TrainedMessages::Answers,
            Some(other) => panic!("no such speech: {other}"),
        };
        policy.turns = match self.turns.as_deref() {
            None | Some("all") => TrainedTurns::All,
            Some("last") => TrainedTurns::Last,
            Some(other) => panic!("no such turns: {other}"),
        };
        policy.headers = match self.headers.as_deref() {
            None | Some("sampled") => TrainedHeaders::Sampled,
            Some("after-role") => TrainedHeaders::AfterRole,
            Some("nothing") => TrainedHeaders::Nothing,
            Some(other) => panic!("no such headers: {other}"),
        };
        policy
    }
}

/// An expected refusal of a conversion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) message: Option<usize>,
    pub(crate) text: Option<String>,
}

/// Capabilities of another side, and the expected common subset.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Negotiate {
    pub(crate) with: String,
    #[serde(default)]
    pub(crate) common: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) missing: Vec<String>,
    #[serde(default)]
    pub(crate) unused: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// Returns the folder of the suite.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// The file of a folder that contains no cases but the list of clauses.
pub(crate) const CLAUSES: &str = "clauses.toml";

/// Returns the folders of the suite, one for each dialect.
pub(crate) fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(root()).expect("the folder of the suite");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the cases of one folder, in the order of its files.
pub(crate) fn load(dialect: &str) -> Vec<Case> {
    let folder = root().join(dialect);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{dialect}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.retain(|path| path.file_name().is_some_and(|name| name != CLAUSES));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let place = format!("{dialect}/{name}");
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{place}: {error}"));
        cases.extend(file.case.into_iter().map(|mut case| {
            case.format.get_or_insert_with(|| dialect.to_owned());
            case.place.clone_from(&place);
            assert!(!case.why.is_empty() && !case.clause.is_empty(), "{}", case.name);
            case
        }));
    }
    cases
}

impl Case {
    /// Returns the format of the input.
    pub(crate) fn format(&self) -> Format {
        let name = self.format.as_deref().unwrap_or_default();
        name.parse().unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns the options for reading the input.
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.mode = match self.mode.as_deref() {
            None | Some("lenient") => Mode::Lenient,
            Some("strict") => Mode::Strict,
            Some(other) => panic!("{}: no mode {other}", self.name),
        };
        options.recover = match self.recover.as_deref() {
            None | Some("keep") => Recover::Keep,
            Some("drop") => Recover::Drop,
            Some("error") => Recover::Error,
            Some(other) => panic!("{}: no policy {other}", self.name),
        };
        options.open_prompt = self.open_prompt;
        options.continues = self.continues.as_deref().map(|word| role(word, self));
        options.past_stop = self.past_stop;
        options.in_reasoning = self.in_reasoning;
        options.split_reasoning = self.split_reasoning;
        for (key, value) in &self.limits {
            *limit(&mut options.limits, key) = *value;
        }
        options
    }

    /// Returns the bytes of the input.
    pub(crate) fn input_bytes(&self) -> Vec<u8> {
        let Some(hex) = &self.bytes else { return self.input.clone().into_bytes() };
        let digits: Vec<u32> = hex
            .chars()
            .filter(|c| !c.is_whitespace())
            .map(|c| c.to_digit(16).expect("a hexadecimal digit"))
            .collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte")).collect()
    }
}

impl Convert {
    /// Returns the options for writing the output.
    pub(crate) fn options(&self, case: &Case) -> RenderOptions {
        let mut options = RenderOptions::default();
        let is = |field: &Option<String>, word: &str| match field.as_deref() {
            None => false,
            Some(found) if found == word => true,
            Some(other) => panic!("{}: no option {other}", case.name),
        };
        if is(&self.layout, "canonical") {
            options.layout = LayoutChoice::Canonical;
        }
        if is(&self.values, "sanitize") {
            options.values = Values::Sanitize;
        }
        let mut turns = TurnOptions::default();
        if is(&self.close, "compact") {
            turns.close = Close::Compact;
        }
        turns.infill_order = self.infill_order.as_deref().map(|order| {
            InfillOrder::from_word(order).unwrap_or_else(|| panic!("{}: no order", case.name))
        });
        options.set(turns);
        options.generation_prompt = self.generation_prompt.as_deref().map(|word| role(word, case));
        options.continue_final = self.continue_final;
        options.thinking = self.thinking.then_some(true);
        self.harmony(case, &mut options);
        options
    }
}

impl Convert {
    /// Sets the options for Harmony and Apertus.
    fn harmony(&self, case: &Case, options: &mut RenderOptions) {
        options.profile = match self.profile.as_deref() {
            None => Profile::Documented,
            Some("reference") => Profile::Reference,
            Some("oss-harmony") => Profile::OssHarmony,
            Some("hf-template") => Profile::HfTemplate,
            Some("hf-template-strings") => Profile::HfTemplateStrings,
            Some(other) => panic!("{}: no profile {other}", case.name),
        };
        options.date = self.date.clone().map(Into::into);
        let mut prompt = PromptOptions::default();
        if let Some(effort) = &self.effort {
            let mut system = SystemContent::default();
            system.reasoning_effort = Effort::from_word(effort);
            prompt.system = Some(system);
        }
        if let Some(json) = &self.response_formats {
            let formats = ResponseFormat::from_json(json, &Limits::default());
            let formats = formats.expect("response formats");
            prompt.response_formats = formats.into_iter().map(ResponseFormat::into_owned).collect();
        }
        options.set(prompt);
    }
}

fn role(word: &str, case: &Case) -> Role {
    Role::from_word(word).unwrap_or_else(|| panic!("{}: no role {word}", case.name))
}

fn limit<'l>(limits: &'l mut Limits, key: &str) -> &'l mut usize {
    limits.get_mut(key).unwrap_or_else(|| panic!("no limit is called `{key}`"))
}
