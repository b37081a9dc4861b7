//! The settings of a header, with checked types.

use super::Capabilities;
use crate::diagnostic::quote;
use crate::json::Value;
use crate::model::Channel;
use crate::{Code, Diagnostic, Header};

/// The settings of a header that the format defines (OpenChatML 2.2 §2).
///
/// Unknown keys are not included; they stay in the [`Header`].
///
/// ```
/// use openchatml::{Settings, parse};
///
/// let text = "version: 2.2\ngeneration_settings: {temperature: 0.70, reasoning_effort: high}\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let (settings, _) = Settings::read(&parsed.into_conversation().header.unwrap());
/// assert_eq!(settings.temperature.as_deref(), Some("0.70"));
/// assert_eq!(settings.reasoning_effort.as_deref(), Some("high"));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `version`, in its original spelling.
    pub version: Option<String>,
    /// `model`.
    pub model: Option<String>,
    /// `generation_settings.temperature`, in its original spelling.
    pub temperature: Option<String>,
    /// `generation_settings.reasoning_effort`: `low`, `medium` or `high`.
    pub reasoning_effort: Option<String>,
    /// `generation_settings.builtin_tools`: tools without a schema.
    pub builtin_tools: Vec<String>,
    /// `capabilities`, if declared.
    pub capabilities: Option<Capabilities>,
    /// `profiles.harmony`, if declared.
    pub harmony: Option<HarmonyProfile>,
}

/// The Harmony profile of a header (OpenChatML 2.2 §2, §12).
///
/// ```
/// use openchatml::parse;
///
/// // An assistant that must choose a channel, and does not.
/// let text = "version: 2.2\nprofiles: {harmony: {enabled: true, require_channels: [final]}}\n\n\
///     <|start|>assistant<|message|>4.<|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// assert_eq!(parsed.diagnostics[0].code.as_str(), "E-PARSE-CHANNEL-MISSING");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HarmonyProfile {
    /// Whether the profile is enabled.
    pub enabled: bool,
    /// The encoding, for information.
    pub encoding: Option<String>,
    /// The channels that an assistant message must be on. Empty means no rule.
    pub require_channels: Vec<Channel>,
    /// The channels for calls to functions. The specification allows only `commentary`, whatever is
    /// here (OpenChatML 2.2 §8.3).
    pub tool_calls_in: Vec<Channel>,
    /// The channels for calls to built-in tools. Empty means the rule of the specification:
    /// `analysis` or `commentary`.
    pub builtins_in: Vec<Channel>,
}

/// The allowed channels for calls to functions (OpenChatML 2.2 §8.3).
const FOR_FUNCTIONS: &[Channel] = &[Channel::Commentary];

/// The allowed channels for calls to built-in tools.
const FOR_BUILTINS: &[Channel] = &[Channel::Analysis, Channel::Commentary];

impl Settings {
    /// Reads the settings of `header`, with diagnostics for wrong types.
    ///
    /// ```
    /// use openchatml::{ReadOptions, Settings, parse};
    ///
    /// let text = "version: 2.2\nprofiles:\n  harmony: {enabled: true}\n";
    /// let parsed = parse(text, "openchatml-2.2".parse()?, &ReadOptions::default());
    /// let conversation = parsed.into_conversation();
    /// let (settings, found) = Settings::read(&conversation.header.unwrap());
    /// assert!(settings.harmony.unwrap().enabled && found.is_empty());
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn read(header: &Header<'_>) -> (Self, Vec<Diagnostic>) {
        let mut check = Check { found: Vec::new() };
        let settings = Self::with(header, &mut check);
        (settings, check.found)
    }

    /// Whether `tool` is a built-in tool: the header lists it, or Harmony has it.
    pub(crate) fn is_builtin(&self, tool: &str) -> bool {
        is_builtin_tool(tool) || is_builtin(&self.builtin_tools, tool)
    }

    /// Returns the channels for calls to `tool`: `commentary` for a function; for a built-in tool
    /// those of the profile or, without any, `analysis` and `commentary` (OpenChatML 2.2 §8.3,
    /// §12.5).
    ///
    /// ```
    /// use openchatml::{Channel, Settings};
    ///
    /// let settings = Settings::default();
    /// assert_eq!(settings.call_channels("functions.weather"), [Channel::Commentary]);
    /// assert_eq!(settings.call_channels("python"), [Channel::Analysis, Channel::Commentary]);
    /// ```
    pub fn call_channels(&self, tool: &str) -> &[Channel] {
        if !self.is_builtin(tool) {
            return FOR_FUNCTIONS;
        }
        let profile = self.harmony.as_ref().filter(|profile| profile.enabled);
        let declared = profile.map(|profile| profile.builtins_in.as_slice());
        declared.filter(|channels| !channels.is_empty()).unwrap_or(FOR_BUILTINS)
    }

    fn with(header: &Header<'_>, check: &mut Check) -> Self {
        let mut settings = Self {
            version: header.version().map(str::to_owned),
            model: header.get("model").and_then(|value| check.text("model", value)),
            ..Self::default()
        };
        if let Some(generation) = header.get("generation_settings") {
            check.is_map("generation_settings", generation);
            settings.temperature =
                generation.get("temperature").and_then(|value| check.number("temperature", value));
            settings.reasoning_effort =
                generation.get("reasoning_effort").and_then(|value| check.effort(value));
            settings.builtin_tools = generation
                .get("builtin_tools")
                .map(|value| check.texts("builtin_tools", value))
                .unwrap_or_default();
        }
        if let Some(value) = header.get("capabilities") {
            check.is_map("capabilities", value);
            let mut list = |key| value.get(key).map(|value| check.texts(key, value));
            settings.capabilities = Some(Capabilities {
                roles: list("roles"),
                channels: list("channels"),
                tokens: list("tokens"),
                streaming: list("streaming"),
            });
        }
        if let Some(profiles) = header.get("profiles") {
            check.is_map("profiles", profiles);
            settings.harmony = profiles.get("harmony").map(|value| check.harmony(value));
        }
        settings
    }
}

/// Collects diagnostics for wrong types.
struct Check {
    found: Vec<Diagnostic>,
}

impl Check {
    fn wrong(&mut self, key: &str, value: &Value<'_>, wanted: &str) {
        let message = format!("`{key}` must be {wanted}, but it is {}", value.kind());
        self.found.push(Code::ParseHeader.at(value.span, message));
    }

    fn is_map(&mut self, key: &str, value: &Value<'_>) {
        if value.as_map().is_none() {
            self.wrong(key, value, "a mapping");
        }
    }

    fn text(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = value.as_spelling().map(str::to_owned);
        if text.is_none() {
            self.wrong(key, value, "text");
        }
        text
    }

    fn number(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = value.as_spelling().filter(|text| crate::json::is_number(text));
        if text.is_none() {
            self.wrong(key, value, "a number");
        }
        text.map(str::to_owned)
    }

    fn effort(&mut self, value: &Value<'_>) -> Option<String> {
        let effort = self.text("reasoning_effort", value)?;
        if !matches!(effort.as_str(), "low" | "medium" | "high") {
            let message = format!("unknown reasoning effort {}", quote(&effort));
            let found = Code::ParseHeader.at(value.span, message);
            self.found.push(found.help("use `low`, `medium` or `high`"));
        }
        Some(effort)
    }

    /// Reads a list of strings. A single string is a list with one item.
    fn texts(&mut self, key: &str, value: &Value<'_>) -> Vec<String> {
        if let Some(text) = value.as_str() {
            return vec![text.to_owned()];
        }
        let Some(items) = value.as_list() else {
            self.wrong(key, value, "a list");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(key, item)).collect()
    }

    fn channels(&mut self, key: &str, value: Option<&Value<'_>>) -> Vec<Channel> {
        let Some(value) = value else { return Vec::new() };
        let mut channels = Vec::new();
        for word in self.texts(key, value) {
            match Channel::from_word(&word) {
                Some(channel) => channels.push(channel),
                None => {
                    let message = format!("unknown channel {}", quote(&word));
                    let found = Code::ParseHeader.at(value.span, message);
                    self.found.push(found.help("use `analysis`, `commentary` or `final`"));
                }
            }
        }
        channels
    }

    /// Reads the channels of tools. A profile can allow fewer channels than the specification, but
    /// not more.
    fn calls(&mut self, key: &str, profile: &Value<'_>, allowed: &[Channel]) -> Vec<Channel> {
        let value = profile.get(key);
        let mut channels = self.channels(key, value);
        for channel in channels.extract_if(.., |channel| !allowed.contains(channel)) {
            let words: Vec<_> = allowed.iter().map(|it| format!("`{it}`")).collect();
            let text =
                format!("`{key}` contains `{channel}`, but such tools cannot be called there");
            let help = format!("`{channel}` is ignored; use {}", words.join(" or "));
            let span = value.map_or(profile.span, |value| value.span);
            self.found.push(Code::ParseHeader.at(span, text).help(help));
        }
        channels
    }

    fn harmony(&mut self, value: &Value<'_>) -> HarmonyProfile {
        self.is_map("harmony", value);
        let enabled = value.get("enabled");
        let is_on = enabled.and_then(Value::as_bool);
        if let (Some(value), None) = (enabled, is_on) {
            self.wrong("enabled", value, "a boolean");
        }
        HarmonyProfile {
            enabled: is_on.unwrap_or(false),
            encoding: value.get("encoding").and_then(|value| self.text("encoding", value)),
            require_channels: self.channels("require_channels", value.get("require_channels")),
            tool_calls_in: self.calls("tool_calls_in", value, FOR_FUNCTIONS),
            builtins_in: self.calls("builtins_in", value, FOR_BUILTINS),
        }
    }
}

/// Whether a tool needs no declaration. `browser` and `browser.search` are the same tool.
pub(crate) fn is_builtin(builtins: &[String], tool: &str) -> bool {
    if builtins.is_empty() {
        return false;
    }
    let namespace = tool.split('.').next().unwrap_or(tool);
    builtins.iter().any(|builtin| builtin == tool || builtin == namespace)
}

/// Whether HIP-1 §5 has this built-in tool.
pub(crate) fn is_builtin_tool(tool: &str) -> bool {
    tool == "python" || tool == "browser" || tool.starts_with("browser.")
}

impl HarmonyProfile {
    /// Combines the profiles of two sides: enabled if both enable it and both allow common
    /// channels, on these channels.
    ///
    /// ```
    /// use openchatml::{Channel, HarmonyProfile};
    ///
    /// let mut one = HarmonyProfile::default();
    /// one.enabled = true;
    /// one.builtins_in = vec![Channel::Analysis, Channel::Commentary];
    /// let mut two = one.clone();
    /// two.builtins_in = vec![Channel::Commentary];
    /// assert_eq!(one.negotiate(&two).builtins_in, [Channel::Commentary]);
    ///
    /// two.builtins_in = vec![Channel::Final];
    /// assert!(!one.negotiate(&two).enabled);
    /// ```
    pub fn negotiate(&self, other: &Self) -> Self {
        let both = |one: &[Channel], two: &[Channel]| match (one, two) {
            ([], rest) | (rest, []) => rest.to_vec(),
            _ => one.iter().copied().filter(|channel| two.contains(channel)).collect(),
        };
        // A channel that either side requires is required.
        let mut required = self.require_channels.clone();
        required
            .extend(other.require_channels.iter().filter(|c| !self.require_channels.contains(c)));
        let tool_calls_in = both(&self.tool_calls_in, &other.tool_calls_in);
        let builtins_in = both(&self.builtins_in, &other.builtins_in);
        let agrees = |one: &[Channel], two: &[Channel], agreed: &[Channel]| {
            !agreed.is_empty() || one.is_empty() && two.is_empty()
        };
        let agree = agrees(&self.tool_calls_in, &other.tool_calls_in, &tool_calls_in)
            && agrees(&self.builtins_in, &other.builtins_in, &builtins_in);
        Self {
            enabled: self.enabled && other.enabled && agree,
            encoding: self.encoding.clone().filter(|name| other.encoding.as_ref() == Some(name)),
            require_channels: required,
            tool_calls_in,
            builtins_in,
        }
    }
}
