//! The options of reading and writing, from keyword arguments.

use openchatml::harmony::{Effort, Namespace, PromptOptions, ResponseFormat, SystemContent};
use openchatml::render::{Close, LayoutChoice, Profile, TurnOptions, Values};
use openchatml::{
    Format, InfillOrder, Limits, Mode, ReadOptions, Recover, RenderOptions, Repair, Role,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

use crate::argument::{Argument, cut};
use crate::data;
use crate::error::{wrong_type, wrong_value};
use crate::tool_list;

/// Sets an option of reading. Returns whether there is an option of this name.
pub(crate) fn read(options: &mut ReadOptions, argument: &Argument<'_, '_>) -> PyResult<bool> {
    match argument.name {
        "completion" => {
            if argument.flag()? {
                options.continues = Some(Role::Assistant);
            }
        }
        "continues" => {
            if let Some(role) = argument.optional_word(Role::ALL, Role::as_str)? {
                options.continues = Some(role);
            }
        }
        "in_reasoning" => options.in_reasoning = argument.flag()?,
        "past_stop" => options.past_stop = argument.flag()?,
        "split_reasoning" => options.split_reasoning = argument.flag()?,
        "repair" => options.repair = argument.optional_word(Repair::ALL, Repair::as_str)?,
        "open_prompt" => options.open_prompt = argument.flag()?,
        "mode" => options.mode = argument.word(&[Mode::Lenient, Mode::Strict], mode)?,
        "recover" => options.recover = argument.word(RECOVER, recover)?,
        "tools" => options.tools = tool_list::tools(argument)?.into(),
        "limits" => set_limits(&mut options.limits, argument)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Lenient => "lenient",
        Mode::Strict => "strict",
    }
}

const RECOVER: &[Recover] = &[Recover::Keep, Recover::Drop, Recover::Error, Recover::Stripped];

fn recover(recover: Recover) -> &'static str {
    match recover {
        Recover::Drop => "drop",
        Recover::Error => "error",
        Recover::Stripped => "stripped",
        _ => "keep",
    }
}

fn set_limits(limits: &mut Limits, argument: &Argument<'_, '_>) -> PyResult<()> {
    if argument.value.is_none() {
        return Ok(());
    }
    let Ok(dict) = argument.value.cast::<PyDict>() else {
        return Err(wrong_type(argument.name, "a `dict`", argument.value));
    };
    for entry in dict.items() {
        let (name, value) = entry.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let name = Argument::new(argument.name, &name).text()?.to_owned();
        let value = Argument::new(argument.name, &value).number()?;
        let Some(limit) = limits.get_mut(&name) else {
            let why =
                format!("unknown limit `{}`; there are {}", cut(&name), Limits::NAMES.join(", "));
            return Err(wrong_value(argument.name, &why));
        };
        *limit = value.min(Limits::highest(&name));
    }
    Ok(())
}

/// The options of writing, while the keyword arguments are read.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    pub(crate) options: RenderOptions,
    system: Option<SystemContent<'static>>,
    response_formats: Vec<ResponseFormat<'static>>,
    turns: TurnOptions,
    /// Whether a prompt has no system message beyond those of the conversation.
    is_bare: bool,
}

impl Writing {
    /// Sets an option of writing. Returns whether there is an option of this name.
    pub(crate) fn set(&mut self, argument: &Argument<'_, '_>) -> PyResult<bool> {
        let options = &mut self.options;
        match argument.name {
            "add_generation_prompt" => options.generation_prompt = generation_prompt(argument)?,
            "continue_final_message" => options.continue_final = argument.flag()?,
            "keep_reasoning" => options.keep_reasoning = argument.flag()?,
            "enable_thinking" => options.thinking = argument.optional_flag()?,
            "ids" => options.ids = argument.flag()?,
            "layout" => {
                let all = [LayoutChoice::Keep, LayoutChoice::Canonical];
                options.layout = argument.word(&all, layout)?;
            }
            "sanitize" => {
                options.values = if argument.flag()? { Values::Sanitize } else { Values::Refuse };
            }
            "profile" => options.profile = argument.word(PROFILES, profile)?,
            "date" => options.date = date(argument)?.map(Into::into),
            "compact" => {
                self.turns.close = if argument.flag()? { Close::Compact } else { Close::Spaced };
            }
            "infill_order" => {
                self.turns.infill_order =
                    argument.optional_word(InfillOrder::ALL, InfillOrder::as_str)?;
            }
            "bare" => self.is_bare = argument.flag()?,
            _ => return self.set_system(argument),
        }
        Ok(true)
    }

    /// Sets an option of the system message of Harmony.
    fn set_system(&mut self, argument: &Argument<'_, '_>) -> PyResult<bool> {
        match argument.name {
            "reasoning_effort" => {
                if let Some(effort) = argument.optional_word(Effort::ALL, Effort::as_str)? {
                    self.system().reasoning_effort = Some(effort);
                }
            }
            "model_identity" => {
                if let Some(identity) = argument.optional_text()? {
                    self.system().model_identity = Some(identity.to_owned().into());
                }
            }
            "builtin_tools" => {
                for name in argument.texts()? {
                    let namespace = match name.as_str() {
                        "browser" => Namespace::browser(),
                        "python" => Namespace::python(),
                        _ => {
                            let why = format!("`{}` is not `browser` or `python`", cut(&name));
                            return Err(wrong_value(argument.name, &why));
                        }
                    };
                    self.system().tools.push(namespace);
                }
            }
            "response_format" => {
                if !argument.value.is_none() {
                    let json = data::read(argument.name, argument.value)?.to_json();
                    let formats = ResponseFormat::from_json(&json, &Limits::default());
                    let formats =
                        formats.map_err(|found| wrong_value(argument.name, &found.message))?;
                    let formats = formats.into_iter().map(ResponseFormat::into_owned);
                    self.response_formats = formats.collect();
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn system(&mut self) -> &mut SystemContent<'static> {
        self.system.get_or_insert_with(SystemContent::default)
    }

    /// Returns the options of the writer.
    ///
    /// # Errors
    ///
    /// Options contradict each other.
    pub(crate) fn finish(self) -> PyResult<RenderOptions> {
        let mut options = self.options;
        if options.generation_prompt.is_some() && options.continue_final {
            let why = "it cannot be combined with `add_generation_prompt`";
            return Err(wrong_value("continue_final_message", why));
        }
        if self.is_bare && (self.system.is_some() || options.date.is_some()) {
            let why = "it cannot be combined with options of the system message";
            return Err(wrong_value("bare", why));
        }
        let mut prompt = PromptOptions::default();
        prompt.system = self.system;
        prompt.response_formats = self.response_formats;
        options.set(prompt);
        options.set(self.turns);
        Ok(options)
    }

    /// Returns the options of a prompt in this format. A prompt of a dated format has the system
    /// message that its models expect, with the date of today if no other is given.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub(crate) fn finish_prompt(
        mut self,
        py: Python<'_>,
        format: Format,
    ) -> PyResult<RenderOptions> {
        if format.dialect().dated && !self.is_bare && self.options.date.is_none() {
            self.options.date = Some(today(py)?.into());
        }
        self.finish()
    }
}

/// `True` is the assistant.
fn generation_prompt(argument: &Argument<'_, '_>) -> PyResult<Option<Role>> {
    match argument.value.cast::<PyBool>() {
        Ok(flag) => Ok(flag.is_true().then_some(Role::Assistant)),
        Err(_) if argument.value.is_instance_of::<PyString>() => {
            argument.word(Role::ALL, Role::as_str).map(Some)
        }
        Err(_) => Err(wrong_type(argument.name, "a `bool` or a role", argument.value)),
    }
}

fn layout(layout: LayoutChoice) -> &'static str {
    match layout {
        LayoutChoice::Keep => "keep",
        LayoutChoice::Canonical => "canonical",
    }
}

const PROFILES: &[Profile] = &[
    Profile::Documented,
    Profile::Reference,
    Profile::OssHarmony,
    Profile::HfTemplate,
    Profile::HfTemplateStrings,
];

fn profile(profile: Profile) -> &'static str {
    match profile {
        Profile::Reference => "reference",
        Profile::OssHarmony => "oss-harmony",
        Profile::HfTemplate => "hf-template",
        Profile::HfTemplateStrings => "hf-template-strings",
        _ => "default",
    }
}

/// A date: a text, or a `datetime.date`.
fn date(argument: &Argument<'_, '_>) -> PyResult<Option<String>> {
    if argument.value.is_none() {
        return Ok(None);
    }
    let class = argument.value.py().import("datetime")?.getattr("date")?;
    if argument.value.is_instance(&class)? {
        return Ok(Some(argument.value.call_method1("strftime", ("%Y-%m-%d",))?.extract()?));
    }
    let text = argument.text()?;
    match class.call_method1("fromisoformat", (text,)) {
        Ok(date) if date.str()? == text => Ok(Some(text.to_owned())),
        _ => Err(wrong_value(argument.name, "write the date as YYYY-MM-DD")),
    }
}

/// The date of today. The library has no clock.
fn today(py: Python<'_>) -> PyResult<String> {
    let today = py.import("datetime")?.getattr("date")?.call_method0("today")?;
    today.call_method0("isoformat")?.extract()
}
